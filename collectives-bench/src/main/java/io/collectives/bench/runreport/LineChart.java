package io.collectives.bench.runreport;

import io.collectives.bench.report.Drawing;
import io.collectives.bench.report.Drawing.Anchor;
import io.collectives.bench.report.Ink;
import io.collectives.bench.report.Scale;
import io.collectives.bench.report.Scale.Unit;
import io.collectives.bench.runreport.ReducerRun.Point;
import java.util.List;

/** A chart of a curve over the steps of a run, both axes as far apart as their numbers. */
final class LineChart {
  private static final double WIDTH = 880;
  private static final double HEIGHT = 220;
  private static final double LEFT = 72;
  private static final double BOTTOM = HEIGHT - 40;
  private static final double TOP = 12;
  private static final double RIGHT = WIDTH - 24;
  private static final double SIZE = 12;

  private LineChart() {}

  /**
   * Returns the chart as SVG.
   *
   * @param about what the curve shows
   * @param curve one point or more
   * @param fromZero whether the axis begins with 0
   */
  static String svg(String about, List<Point> curve, boolean fromZero) {
    double least = fromZero ? 0 : curve.stream().mapToDouble(Point::value).min().orElse(0);
    double most = curve.stream().mapToDouble(Point::value).max().orElse(0);
    double last = Math.max(1, curve.get(curve.size() - 1).step());
    Scale side = new Scale(Unit.NUMBER, false, least, most > least ? most : least + 1);
    Scale below = new Scale(Unit.COUNT, false, 0, last);
    Drawing to = new Drawing(WIDTH, HEIGHT, about);
    for (Scale.Tick tick : side.ticks(6)) {
      double y = y(side, tick.value());
      to.line(Ink.GRID, 1, false, LEFT, y, RIGHT, y);
      to.text(LEFT - 8, y + 4, tick.label(), Anchor.END, SIZE, Ink.FAINT);
    }
    for (Scale.Tick tick : below.ticks(8)) {
      to.text(x(below, tick.value()), BOTTOM + 18, tick.label(), Anchor.MIDDLE, SIZE, Ink.FAINT);
    }
    to.text((LEFT + RIGHT) / 2, HEIGHT - 4, "step", Anchor.MIDDLE, SIZE, Ink.FAINT);
    double[] path = new double[2 * curve.size()];
    for (int i = 0; i < curve.size(); i++) {
      path[2 * i] = x(below, curve.get(i).step());
      path[2 * i + 1] = y(side, curve.get(i).value());
    }
    to.line(Ink.BLUE, 2, false, path);
    return to.svg();
  }

  private static double x(Scale below, double step) {
    return LEFT + below.at(step) * (RIGHT - LEFT);
  }

  private static double y(Scale side, double value) {
    return BOTTOM - side.at(value) * (BOTTOM - TOP);
  }
}
