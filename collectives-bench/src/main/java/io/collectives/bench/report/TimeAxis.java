package io.collectives.bench.report;

import io.collectives.bench.report.Drawing.Anchor;

/** An axis of times below rows of a drawing, from a time to a later one, in nanoseconds. */
public final class TimeAxis {
  private static final int TICKS = 9;

  private final double left;
  private final double width;
  private final double from;
  private final Scale scale;

  /** An axis for so many nanoseconds, over a width in pixels. */
  public TimeAxis(double left, double width, double from, double nanos) {
    this.left = left;
    this.width = width;
    this.from = from;
    this.scale = new Scale(Scale.Unit.NANOS, false, 0, Math.max(1, nanos));
  }

  /** Returns the place of a time, within the axis. */
  public double at(double time) {
    return left + width * Math.min(1, Math.max(0, scale.at(time - from)));
  }

  /**
   * Draws it, with lines over the rows.
   *
   * @param top of the rows
   * @param bottom of the rows
   * @param about what its numbers are, which count from its beginning
   */
  public void draw(Drawing on, double top, double bottom, String about) {
    for (Scale.Tick tick : scale.ticks(TICKS)) {
      double x = at(from + tick.value());
      on.line(Ink.GRID, 1, false, x, top, x, bottom);
      on.text(x, bottom + 16, tick.label(), Anchor.MIDDLE, 12, Ink.FAINT);
    }
    on.text(left + width / 2, bottom + 36, about, Anchor.MIDDLE, 13, Ink.TEXT);
  }
}
