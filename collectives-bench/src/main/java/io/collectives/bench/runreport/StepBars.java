package io.collectives.bench.runreport;

import io.collectives.bench.runreport.ReducerRun.RankRow;
import io.collectives.bench.runreport.ReducerRun.Times;
import java.util.List;
import java.util.Locale;

/** A chart of the parts of a mean step, a bar for each rank, as SVG. */
final class StepBars {
  private static final int WIDTH = 720;
  private static final int LEFT = 64;
  private static final int RIGHT = 72;
  private static final int ROW = 22;
  private static final int TOP = 24;
  private static final int MOST_ROWS = 64;
  private static final List<String> PARTS = List.of("before", "backward", "await");

  private StepBars() {}

  static String svg(List<RankRow> all) {
    List<RankRow> rows = all.subList(0, Math.min(MOST_ROWS, all.size()));
    double most = rows.stream().mapToDouble(row -> row.times().step()).max().orElse(1);
    int height = TOP + ROW * rows.size() + 4;
    StringBuilder svg = new StringBuilder();
    svg.append(
        String.format(
            "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"parts of a step\">%n",
            WIDTH, height));
    for (int i = 0; i < PARTS.size(); i++) {
      int x = LEFT + 150 * i;
      rectangle(svg, PARTS.get(i), x, 2, 12, 12);
      text(svg, "start", x + 18, 13, PARTS.get(i));
    }
    for (int i = 0; i < rows.size(); i++) {
      Times times = rows.get(i).times();
      double y = TOP + ROW * i;
      text(svg, "end", LEFT - 8, y + 14, "rank " + rows.get(i).report().job().rank());
      double[] parts = {times.outside(), times.backward(), times.await()};
      double x = LEFT;
      for (int part = 0; part < parts.length; part++) {
        double width = parts[part] / most * (WIDTH - LEFT - RIGHT);
        rectangle(svg, PARTS.get(part), x, y, width, ROW - 6);
        x += width;
      }
      text(svg, "start", x + 6, y + 14, String.format(Locale.ROOT, "%.1f ms", times.step() / 1e3));
    }
    return svg.append(String.format("</svg>%n")).toString();
  }

  private static void rectangle(
      StringBuilder svg, String kind, double x, double y, double width, double height) {
    svg.append(
        String.format(
            Locale.ROOT,
            "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>%n",
            kind,
            x,
            y,
            width,
            height));
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
}
