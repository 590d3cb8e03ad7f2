package io.collectives.bench.runreport;

import io.collectives.bench.report.Drawing;
import io.collectives.bench.report.Drawing.Anchor;
import io.collectives.bench.report.Ink;
import io.collectives.bench.report.Scale.Unit;
import io.collectives.bench.runreport.ReducerRun.RankRow;
import io.collectives.bench.runreport.ReducerRun.Times;
import java.util.List;

/** A chart of the parts of a mean step, a bar for each rank. */
final class StepBars {
  private static final double WIDTH = 880;
  private static final double LEFT = 72;
  private static final double RIGHT = 80;
  private static final double ROW = 22;
  private static final double TOP = 30;
  private static final double SIZE = 12;
  private static final int MOST_ROWS = 64;
  private static final List<String> PARTS = List.of("before", "backward", "await");
  private static final List<Ink> INKS = List.of(Ink.GREEN, Ink.BLUE, Ink.VERMILION);

  private StepBars() {}

  /** Returns the chart as SVG. */
  static String svg(List<RankRow> all) {
    List<RankRow> rows = all.subList(0, Math.min(MOST_ROWS, all.size()));
    double most = rows.stream().mapToDouble(row -> row.times().step()).max().orElse(1);
    Drawing to = new Drawing(WIDTH, TOP + ROW * rows.size() + 4, "parts of a mean step, by rank");
    for (int i = 0; i < PARTS.size(); i++) {
      double x = LEFT + 110 * i;
      to.bar(x, 4, 14, 12, INKS.get(i));
      to.text(x + 20, 15, PARTS.get(i), Anchor.START, SIZE, Ink.TEXT);
    }
    for (int i = 0; i < rows.size(); i++) {
      Times times = rows.get(i).times();
      double y = TOP + ROW * i;
      String rank = "rank " + rows.get(i).report().job().rank();
      to.text(LEFT - 8, y + 13, rank, Anchor.END, SIZE, Ink.TEXT);
      double[] parts = {times.outside(), times.backward(), times.await()};
      double x = LEFT;
      for (int part = 0; part < parts.length; part++) {
        double width = parts[part] / most * (WIDTH - LEFT - RIGHT);
        String tip = PARTS.get(part) + ": " + Unit.NANOS.label(1e3 * parts[part], 3);
        to.bar(x, y, width, ROW - 6, INKS.get(part), tip);
        x += width;
      }
      String step = Unit.NANOS.label(1e3 * times.step(), 3);
      to.text(x + 6, y + 13, step, Anchor.START, SIZE, Ink.TEXT);
    }
    return to.svg();
  }
}
