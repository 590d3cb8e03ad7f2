package io.collectives.bench.flight;

import io.collectives.bench.report.Drawing;
import io.collectives.bench.report.Drawing.Anchor;
import io.collectives.bench.report.Ink;
import io.collectives.bench.report.TimeAxis;
import io.collectives.bench.report.Units;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;

/**
 * Draws the last calls of flight records: a row for each rank, a bar for each call, as its record
 * says. The ranks' clocks are taken as they are.
 */
public final class FlightChart {
  private static final double LEFT = 72;
  private static final double RIGHT = 24;
  private static final double WIDTH = 1100;
  private static final double TOP = 88;
  private static final double ROW = 34;
  private static final double BAR = 22;
  private static final double SMALL = 11;
  private static final int MOST_ROWS = 64;

  private FlightChart() {}

  /**
   * Writes a picture.
   *
   * @param rows the calls to be drawn, newest last
   */
  public static void write(LineUp lineUp, List<LineUp.Row> rows, Path file) throws IOException {
    draw(lineUp, rows).write(file);
  }

  private static Drawing draw(LineUp lineUp, List<LineUp.Row> rows) {
    List<Integer> ranks = lineUp.ranks();
    List<Integer> shown = ranks.subList(0, Math.min(MOST_ROWS, ranks.size()));
    long from = Long.MAX_VALUE;
    long to = Long.MIN_VALUE;
    for (LineUp.Row row : rows) {
      for (int rank : row.calls().keySet()) {
        long begun = row.calls().get(rank).progress().begunMillis();
        from = Math.min(from, begun);
        to = Math.max(to, begun + lineUp.millis(row, rank).orElse(0));
      }
    }
    if (from > to) {
      from = to = 0;
    }
    double bottom = TOP + ROW * shown.size();
    String title =
        "The last " + rows.size() + " calls by rank, from " + Instant.ofEpochMilli(from) + " on";
    Drawing drawing = new Drawing(WIDTH, bottom + 52, title);
    drawing.text(LEFT, 28, title, Anchor.START, 16, Ink.TEXT);
    double x = LEFT;
    for (String state : List.of("done", "running", "queued", "failed")) {
      drawing.bar(x, 46, 14, 12, ink(state), "");
      drawing.text(x + 20, 57, state, Anchor.START, 12, Ink.TEXT);
      x += 44 + Drawing.width(state, 12);
    }
    if (shown.size() < ranks.size()) {
      String more = ranks.size() - shown.size() + " more ranks are not shown";
      drawing.text(WIDTH - RIGHT, 57, more, Anchor.END, 12, Ink.FAINT);
    }
    double nanos = Math.max(1, to - from) * 1e6 * 1.02;
    TimeAxis axis = new TimeAxis(LEFT, WIDTH - LEFT - RIGHT, 0, nanos);
    axis.draw(drawing, TOP, bottom, "time by the clocks of the ranks");
    for (int i = 0; i < shown.size(); i++) {
      int rank = shown.get(i);
      double top = TOP + ROW * i;
      drawing.text(LEFT - 12, top + 20, "rank " + rank, Anchor.END, 13, Ink.TEXT);
      if (!lineUp.hasRecord(rank)) {
        drawing.text(LEFT + 8, top + 20, "no record", Anchor.START, 12, Ink.FAINT);
      }
      for (LineUp.Row row : rows) {
        FlightCall call = row.calls().get(rank);
        if (call != null) {
          bar(drawing, axis, call, top, from, lineUp.millis(row, rank).orElse(0));
        }
      }
    }
    return drawing;
  }

  private static void bar(
      Drawing drawing, TimeAxis axis, FlightCall call, double top, long from, long millis) {
    double begin = (call.progress().begunMillis() - from) * 1e6;
    double left = axis.at(begin);
    double width = Math.max(2, axis.at(begin + millis * 1e6) - left - 1);
    String state = call.progress().state();
    String tip =
        call.operation()
            + ", "
            + state
            + " after "
            + Units.time(millis * 1e6)
            + (call.progress().detail().isEmpty() ? "" : ": " + call.progress().detail());
    drawing.bar(left, top + 5, width, BAR, ink(state), tip);
    String label = "#" + call.sequence();
    if (Drawing.width(label, SMALL) + 4 < width) {
      Ink ink = state.equals("running") || state.equals("queued") ? Ink.TEXT : Ink.PAPER;
      drawing.text(left + width / 2, top + 20, label, Anchor.MIDDLE, SMALL, ink);
    }
  }

  private static Ink ink(String state) {
    return switch (state) {
      case "failed" -> Ink.VERMILION;
      case "running" -> Ink.PALE;
      case "queued" -> Ink.GRID;
      default -> Ink.BLUE;
    };
  }
}
