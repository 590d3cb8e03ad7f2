package io.collectives.bench.report;

import java.util.Locale;

/** Numbers with units, as people read them. */
public final class Units {
  private Units() {}

  /** A time with three significant digits, as {@code 12.3 µs}. */
  public static String time(double nanos) {
    if (nanos < 1e3) {
      return digits(nanos) + " ns";
    }
    if (nanos < 1e6) {
      return digits(nanos / 1e3) + " µs";
    }
    return nanos < 1e9 ? digits(nanos / 1e6) + " ms" : digits(nanos / 1e9) + " s";
  }

  /** A rate in units of 10^9 bytes a second, as {@code 1.23 GB/s}. */
  public static String rate(double bytesPerNano) {
    return bytesPerNano < 0.1
        ? digits(bytesPerNano * 1e3) + " MB/s"
        : digits(bytesPerNano) + " GB/s";
  }

  /**
   * A ratio with so many decimals, and more where these would not be three digits that count, as
   * {@code 12.34} or {@code 0.00123}.
   */
  public static String ratio(double value, int decimals) {
    double size = Math.abs(value);
    int needed = size > 0 && size < 1 ? 2 - (int) Math.floor(Math.log10(size)) : 0;
    return String.format(Locale.ROOT, "%." + Math.min(20, Math.max(decimals, needed)) + "f", value);
  }

  /** A number with separators, as {@code 25,557,032}. */
  public static String grouped(long number) {
    return String.format(Locale.ROOT, "%,d", number);
  }

  private static String digits(double value) {
    int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    return String.format(Locale.ROOT, "%." + decimals + "f", value);
  }
}
