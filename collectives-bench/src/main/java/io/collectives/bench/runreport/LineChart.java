package io.collectives.bench.runreport;

import io.collectives.bench.runreport.ReducerRun.Point;
import java.util.List;
import java.util.Locale;

/** A chart of a curve over the steps of a run, as SVG whose colors the page sets by class. */
final class LineChart {
  private static final int WIDTH = 720;
  private static final int HEIGHT = 220;
  private static final int LEFT = 64;
  private static final int BOTTOM = 36;
  private static final int TOP = 12;
  private static final int RIGHT = 12;
  private static final int TICKS = 4;

  private LineChart() {}

  /**
   * Returns the chart.
   *
   * @param label what the curve shows, of the page's own words
   * @param curve one point or more
   * @param fromZero whether the axis begins with 0
   */
  static String svg(String label, List<Point> curve, boolean fromZero) {
    double least = fromZero ? 0 : curve.stream().mapToDouble(Point::value).min().orElse(0);
    double most = curve.stream().mapToDouble(Point::value).max().orElse(1);
    double step = tick((most - least) / TICKS);
    double bottom = Math.floor(least / step) * step;
    double top = Math.max(bottom + step, Math.ceil(most / step) * step);
    int decimals = Math.max(0, Math.min(12, (int) Math.ceil(-Math.log10(step) - 1e-9)));
    double last = Math.max(1, curve.get(curve.size() - 1).step());
    StringBuilder svg = new StringBuilder();
    svg.append(
        String.format(
            "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">%n", WIDTH, HEIGHT, label));
    for (int i = 0; bottom + i * step <= top * (1 + 1e-9); i++) {
      double value = bottom + i * step;
      double y = y(value, bottom, top);
      line(svg, "grid", LEFT, y, WIDTH - RIGHT, y);
      text(svg, "end", LEFT - 8, y + 4, String.format(Locale.ROOT, "%,." + decimals + "f", value));
    }
    double across = tick(last / 6);
    for (double at = 0; at <= last; at += across) {
      double x = LEFT + at / last * (WIDTH - LEFT - RIGHT);
      text(svg, "middle", x, HEIGHT - BOTTOM + 18, String.format(Locale.ROOT, "%,.0f", at));
    }
    text(svg, "end", WIDTH - RIGHT, HEIGHT - 4, "step");
    svg.append("<polyline class=\"curve\" points=\"");
    for (Point point : curve) {
      double x = LEFT + point.step() / last * (WIDTH - LEFT - RIGHT);
      svg.append(String.format(Locale.ROOT, "%.1f,%.1f ", x, y(point.value(), bottom, top)));
    }
    return svg.append(String.format("\"/>%n</svg>%n")).toString();
  }

  private static double y(double value, double bottom, double top) {
    return TOP + (top - value) / (top - bottom) * (HEIGHT - TOP - BOTTOM);
  }

  private static void line(
      StringBuilder svg, String kind, double x1, double y1, double x2, double y2) {
    svg.append(
        String.format(
            Locale.ROOT,
            "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>%n",
            kind,
            x1,
            y1,
            x2,
            y2));
  }

  private static void text(StringBuilder svg, String anchor, double x, double y, String what) {
    svg.append(
        String.format(
            Locale.ROOT,
            "<text text-anchor=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>%n",
            anchor,
            x,
            y,
            what));
  }

  /** Returns 1, 2 or 5 times a power of ten that is as large or larger. */
  private static double tick(double size) {
    if (!(size > 0)) {
      return 1;
    }
    double power = Math.pow(10, Math.floor(Math.log10(size)));
    double digits = size / power;
    return power * (digits <= 1 ? 1 : digits <= 2 ? 2 : digits <= 5 ? 5 : 10);
  }
}
