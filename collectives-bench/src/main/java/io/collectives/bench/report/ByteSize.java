package io.collectives.bench.report;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A number of bytes as it is written on the command line: {@code 8}, {@code 64K}, {@code 1M},
 * {@code 2G}; K, M and G are powers of 1,024.
 *
 * @param bytes the number, at least 0
 */
public record ByteSize(long bytes) {
  private static final Pattern FORM =
      Pattern.compile("(\\d{1,15})([KMG]?)(?:i?B)?", Pattern.CASE_INSENSITIVE);
  private static final String UNITS = " KMG";

  /**
   * Reads one.
   *
   * @throws IllegalArgumentException if it is none
   */
  public static ByteSize parse(String text) {
    Matcher matcher = FORM.matcher(text.strip());
    if (!matcher.matches()) {
      throw new IllegalArgumentException(
          "'" + text + "' is no size; write bytes as 8, 64K, 1M or 2G");
    }
    int unit =
        matcher.group(2).isEmpty()
            ? 0
            : UNITS.indexOf(Character.toUpperCase(matcher.group(2).charAt(0)));
    long number = Long.parseLong(matcher.group(1));
    if (number > Long.MAX_VALUE >> 10 * unit) {
      throw new IllegalArgumentException("'" + text + "' is more bytes than there are");
    }
    return new ByteSize(number << 10 * unit);
  }

  /** With the largest unit that leaves no fraction, as {@code 64 KiB} or {@code 1000 B}. */
  @Override
  public String toString() {
    int unit = 0;
    long value = bytes;
    while (unit < 3 && value >= 1024 && value % 1024 == 0) {
      value /= 1024;
      unit++;
    }
    return value + (unit == 0 ? " B" : " " + UNITS.charAt(unit) + "iB");
  }
}
