package io.collectives.bench;

import io.collectives.Collective;
import io.collectives.bench.report.Drawing;
import io.collectives.bench.report.Drawing.Anchor;
import io.collectives.bench.report.Ink;
import io.collectives.bench.report.TimeAxis;
import io.collectives.bench.report.Units;
import io.collectives.bench.simulate.Step;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A picture of one modelled step: what is computed, and below it the calls in their lanes. */
final class StepChart {
  private static final double WIDTH = 960;
  private static final double LEFT = 96;
  private static final double RIGHT = 24;
  private static final double TOP = 78;
  private static final double ROW = 34;
  private static final double BAR = 24;

  private final Drawing drawing;
  private final TimeAxis axis;

  private StepChart(Step step, String title, String where, int lanes) {
    drawing = new Drawing(WIDTH, TOP + ROW * (1 + lanes) + 52, title + "; " + where);
    axis = new TimeAxis(LEFT, WIDTH - LEFT - RIGHT, 0, step.nanos());
    drawing.text(16, 28, title, Anchor.START, 16, Ink.TEXT);
    drawing.text(16, 50, where, Anchor.START, 12, Ink.FAINT);
  }

  /** Writes the picture of a step. */
  static void write(Step step, String title, String where, Path file) throws IOException {
    List<List<Step.Call>> lanes = lanes(step);
    StepChart chart = new StepChart(step, title, where, lanes.size());
    double bottom = TOP + ROW * (1 + lanes.size());
    chart.axis.draw(chart.drawing, TOP, bottom, "time after the beginning of the step");
    chart.computing(step);
    for (int lane = 0; lane < lanes.size(); lane++) {
      double top = TOP + ROW * (1 + lane);
      chart.name(top, "calls");
      for (Step.Call call : lanes.get(lane)) {
        String what = call.collective() + ", " + Units.grouped(call.bytes()) + " bytes";
        Ink ink = lane % 2 == 0 ? Ink.BLUE : Ink.SKY;
        chart.bar(top, call.begin(), call.end(), ink, what);
      }
    }
    chart.drawing.write(file);
  }

  private void computing(Step step) {
    name(TOP, "computing");
    double at = step.inputNanos();
    bar(TOP, 0, at, Ink.VERMILION, "waits for input");
    bar(TOP, at, at + step.forwardNanos(), Ink.GREEN, "forward");
    at += step.forwardNanos();
    bar(TOP, at, step.backwardEnd(), Ink.PURPLE, "backward");
    double gathers =
        step.calls().stream()
            .filter(call -> call.collective() == Collective.ALL_GATHER)
            .mapToDouble(Step.Call::nanos)
            .sum();
    double end = step.nanos() - gathers;
    bar(TOP, end - step.updateNanos(), end, Ink.ORANGE, "update");
  }

  private void name(double top, String text) {
    drawing.text(LEFT - 12, top + BAR * 0.75, text, Anchor.END, 13, Ink.TEXT);
  }

  private void bar(double top, double begin, double end, Ink ink, String what) {
    if (end > begin) {
      double left = axis.at(begin);
      // A pixel apart, so that one can tell calls that follow each other.
      double width = Math.max(1, axis.at(end) - left - 1);
      drawing.bar(left, top, width, BAR, ink, what + ", " + Units.time(end - begin));
      if (Drawing.width(what, 12) < width - 8) {
        drawing.text(left + 5, top + BAR * 0.7, what, Anchor.START, 12, Ink.PAPER);
      }
    }
  }

  /** Deals calls out to as few rows as they need not to lie over each other. */
  private static List<List<Step.Call>> lanes(Step step) {
    List<List<Step.Call>> lanes = new ArrayList<>();
    for (Step.Call call : step.calls()) {
      List<Step.Call> free =
          lanes.stream()
              .filter(lane -> lane.get(lane.size() - 1).end() <= call.begin())
              .findFirst()
              .orElseGet(
                  () -> {
                    lanes.add(new ArrayList<>());
                    return lanes.get(lanes.size() - 1);
                  });
      free.add(call);
    }
    return lanes;
  }
}
