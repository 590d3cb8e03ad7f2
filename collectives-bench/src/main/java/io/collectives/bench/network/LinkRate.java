package io.collectives.bench.network;

import java.math.BigDecimal;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The largest rate of a link in each direction.
 *
 * @param bitsPerSecond from 50 thousand to 100 billion
 */
public record LinkRate(long bitsPerSecond) {
  private static final long LEAST = 50_000;
  private static final long MEGA = 1_000_000;
  private static final long GIGA = 1_000_000_000;
  private static final Pattern FORM = Pattern.compile("(\\d{1,6}(?:\\.\\d{1,6})?) ?([MG])bit/s");

  /** Checks the range. */
  public LinkRate {
    if (bitsPerSecond < LEAST || bitsPerSecond > 100 * GIGA) {
      throw new IllegalArgumentException(
          "a link of " + bitsPerSecond + " bit/s: must be from 0.05Mbit/s to 100Gbit/s");
    }
  }

  /**
   * Reads one, as {@code 200Mbit/s} or {@code 2.5Gbit/s}; units are powers of 1,000.
   *
   * @throws IllegalArgumentException if it is none
   */
  public static LinkRate parse(String text) {
    Matcher matcher = FORM.matcher(text.strip());
    if (!matcher.matches()) {
      throw new IllegalArgumentException(
          "'" + text + "' is no rate of a link; write it as 200Mbit/s or 2.5Gbit/s");
    }
    BigDecimal unit = BigDecimal.valueOf(matcher.group(2).equals("M") ? MEGA : GIGA);
    return new LinkRate(new BigDecimal(matcher.group(1)).multiply(unit).longValue());
  }

  /** Returns a text such as {@code 200 Mbit/s}. */
  @Override
  public String toString() {
    boolean big = bitsPerSecond >= GIGA;
    return BigDecimal.valueOf(bitsPerSecond)
            .divide(BigDecimal.valueOf(big ? GIGA : MEGA))
            .toPlainString()
        + (big ? " Gbit/s" : " Mbit/s");
  }
}
