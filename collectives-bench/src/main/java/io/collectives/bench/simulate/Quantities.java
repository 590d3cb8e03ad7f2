package io.collectives.bench.simulate;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Quantities with units, as they are written on the command line. Times are in ns, us, ms or s;
 * rates in B/s, KB/s, MB/s, GB/s or Gbit/s, which are powers of 1,000.
 */
public final class Quantities {
  private static final Pattern FORM = Pattern.compile("(\\d{1,15}(?:\\.\\d{1,15})?) ?(\\S*)");

  private Quantities() {}

  /**
   * Reads a time.
   *
   * @return nanoseconds
   * @throws IllegalArgumentException if it is none
   */
  public static double nanos(String text) {
    Matcher matcher = FORM.matcher(text.strip());
    double unit =
        matcher.matches()
            ? switch (matcher.group(2)) {
              case "ns" -> 1;
              case "us", "µs" -> 1e3;
              case "ms" -> 1e6;
              case "s" -> 1e9;
              default -> Double.NaN;
            }
            : Double.NaN;
    if (Double.isNaN(unit)) {
      throw new IllegalArgumentException(
          "'" + text + "' is no time; write it with its unit, as 500ns, 1us, 0.2ms or 1s");
    }
    return Double.parseDouble(matcher.group(1)) * unit;
  }

  /**
   * Reads a rate.
   *
   * @return nanoseconds a byte
   * @throws IllegalArgumentException if it is none, or nothing would ever move
   */
  public static double nanosPerByte(String text) {
    Matcher matcher = FORM.matcher(text.strip());
    double unit =
        matcher.matches()
            ? switch (matcher.group(2).toLowerCase(Locale.ROOT)) {
              case "b/s" -> 1;
              case "kb/s" -> 1e3;
              case "mb/s" -> 1e6;
              case "gb/s" -> 1e9;
              case "gbit/s" -> 1e9 / 8;
              default -> Double.NaN;
            }
            : Double.NaN;
    double rate = Double.isNaN(unit) ? 0 : Double.parseDouble(matcher.group(1)) * unit;
    if (!(rate >= 1)) {
      throw new IllegalArgumentException(
          "'"
              + text
              + "' is no rate; write it with its unit, as 70GB/s or 100Gbit/s (powers of 1000), at"
              + " least 1B/s");
    }
    return 1e9 / rate;
  }

  /**
   * Reads a rate of floating-point operations, as {@code 50TFLOP/s}.
   *
   * @return operations a nanosecond
   * @throws IllegalArgumentException if it is none
   */
  public static double flopsPerNano(String text) {
    Matcher matcher = FORM.matcher(text.strip());
    double unit =
        matcher.matches()
            ? switch (matcher.group(2)) {
              case "GFLOP/s" -> 1;
              case "TFLOP/s" -> 1e3;
              case "PFLOP/s" -> 1e6;
              default -> Double.NaN;
            }
            : Double.NaN;
    double rate = Double.isNaN(unit) ? 0 : Double.parseDouble(matcher.group(1)) * unit;
    if (!(rate > 0)) {
      throw new IllegalArgumentException(
          "'"
              + text
              + "' is no rate of computing above 0; write it with its unit, as 500GFLOP/s or"
              + " 50TFLOP/s");
    }
    return rate;
  }

  /**
   * Reads a time for a byte, as {@code 0.01ns/B}.
   *
   * @return nanoseconds a byte
   * @throws IllegalArgumentException if it is none
   */
  public static double timePerByte(String text) {
    String stripped = text.strip();
    if (!stripped.endsWith("/B")) {
      throw new IllegalArgumentException("'" + text + "' is no time for a byte; write 0.01ns/B");
    }
    return nanos(stripped.substring(0, stripped.length() - 2));
  }
}
