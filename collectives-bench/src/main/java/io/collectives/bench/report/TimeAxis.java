package io.collectives.bench.report;

import java.util.Locale;

/** An axis of times below rows of a drawing, from a time to a later one. */
public final class TimeAxis {
  private static final double TICKS = 8;

  private final double left;
  private final double width;
  private final double from;
  private final double nanos;

  /** An axis for so many nanoseconds, over a width in pixels. */
  public TimeAxis(double left, double width, double from, double nanos) {
    this.left = left;
    this.width = width;
    this.from = from;
    this.nanos = Math.max(1, nanos);
  }

  /** Returns the place of a time, within the axis. */
  public double at(double time) {
    return left + width * Math.min(1, Math.max(0, (time - from) / nanos));
  }

  /**
   * Draws it, with lines over the rows.
   *
   * @param top of the rows
   * @param bottom of the rows
   * @param zero the time from which its numbers count
   * @param about what they count from
   */
  public void draw(Svg on, double top, double bottom, double zero, String about) {
    double step = step();
    String unit = step < 1e3 ? "ns" : step < 1e6 ? "µs" : step < 1e9 ? "ms" : "s";
    double scale = step < 1e3 ? 1 : step < 1e6 ? 1e3 : step < 1e9 ? 1e6 : 1e9;
    double first = Math.ceil((from - zero) / step) * step;
    for (double tick = first; tick <= from - zero + nanos; tick += step) {
      double x = at(tick + zero);
      on.line(x, top, x, bottom, Svg.Ink.GRID, false);
      on.text(
          x,
          bottom + 16,
          String.format(Locale.ROOT, "%,.0f", tick / scale),
          Svg.Anchor.MIDDLE,
          12,
          Svg.Ink.FAINT);
    }
    on.text(
        left + width / 2,
        bottom + 36,
        about + " (" + unit + ")",
        Svg.Anchor.MIDDLE,
        13,
        Svg.Ink.TEXT);
  }

  /**
   * Returns one, two or five times a power of ten, of which few fit, and which is whole in its
   * unit.
   */
  private double step() {
    double step = 1;
    while (true) {
      for (int factor : new int[] {1, 2, 5}) {
        if (step * factor * TICKS >= nanos) {
          return step * factor;
        }
      }
      step *= 10;
    }
  }
}
