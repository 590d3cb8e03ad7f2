package io.collectives.bench.runreport;

import io.collectives.bench.runreport.RankReport.Buffer;
import io.collectives.bench.runreport.RankReport.Interval;
import io.collectives.bench.runreport.RankReport.Reducer;
import io.collectives.bench.runreport.RankReport.Step;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToDoubleFunction;

/** The steps of one gradient reducer at all ranks that reported it. */
final class ReducerRun {
  private final int number;
  private final List<RankReport> reports = new ArrayList<>();
  private final List<Reducer> ranks = new ArrayList<>();
  private final Lateness lateness;
  private final OverlapModel model;

  /**
   * Merges the ranks.
   *
   * @param all reports, of which some have that reducer and made a step
   */
  ReducerRun(int number, List<RankReport> all) {
    this.number = number;
    for (RankReport report : all) {
      Reducer reducer = report.reducers().get(number);
      if (reducer != null && reducer.steps() > 0) {
        reports.add(report);
        ranks.add(reducer);
      }
    }
    this.lateness = new Lateness(ranks);
    this.model = new OverlapModel(ranks);
  }

  /**
   * A rank in numbers; times are microseconds of a mean step.
   *
   * @param overlap the share of the sums' time that was hidden, from 0 to 1
   * @param waited the time for which it waited for other ranks, in the steps that all have kept
   * @param score the share of the steps' time for which others waited for it
   */
  record RankRow(
      RankReport report, long steps, Times times, double overlap, double waited, double score) {}

  /** The parts of a mean step, in microseconds. */
  record Times(double step, double outside, double backward, double await, double sums) {}

  /**
   * A buffer in numbers: medians over steps and ranks, in microseconds.
   *
   * @param shortest the time of the sum on the rank where it is shortest: without waits for others
   */
  record BufferRow(
      int index, Buffer buffer, double ready, double begun, double ended, double shortest) {}

  /** A moment of the run. */
  record Point(double step, double value) {}

  int number() {
    return number;
  }

  /** Returns the reports of the ranks, in the order of {@link Lateness}. */
  List<RankReport> reports() {
    return reports;
  }

  List<Reducer> ranks() {
    return ranks;
  }

  Lateness lateness() {
    return lateness;
  }

  OverlapModel model() {
    return model;
  }

  long steps() {
    return ranks.stream().mapToLong(Reducer::steps).max().orElse(0);
  }

  long bytes() {
    return ranks.get(0).buffers().stream().mapToLong(Buffer::bytes).sum();
  }

  List<RankRow> rankRows() {
    List<RankRow> rows = new ArrayList<>();
    for (int i = 0; i < ranks.size(); i++) {
      Reducer rank = ranks.get(i);
      double steps = Math.max(1, sum(rank, Interval::steps));
      double sums = sum(rank, interval -> interval.parts().sums());
      rows.add(
          new RankRow(
              reports.get(i),
              rank.steps(),
              new Times(
                  sum(rank, Interval::micros) / steps,
                  sum(rank, interval -> interval.parts().outside()) / steps,
                  sum(rank, interval -> interval.parts().backward()) / steps,
                  sum(rank, interval -> interval.parts().await()) / steps,
                  sums / steps),
              sums == 0 ? 0 : sum(rank, interval -> interval.parts().hidden()) / sums,
              lateness.waited(i),
              lateness.score(i)));
    }
    return rows;
  }

  private static double sum(Reducer rank, ToDoubleFunction<Interval> what) {
    return rank.intervals().stream().mapToDouble(what).sum();
  }

  List<BufferRow> bufferRows() {
    List<Buffer> buffers = ranks.get(0).buffers();
    List<List<Step>> steps = new ArrayList<>();
    for (long step : ranks.get(0).kept().keySet()) {
      List<Step> all = Lateness.step(ranks, step, buffers.size());
      if (step > 0 && !all.isEmpty()) {
        steps.add(all);
      }
    }
    List<Step> flat = steps.stream().flatMap(List::stream).toList();
    List<BufferRow> rows = new ArrayList<>();
    for (int i = 0; i < buffers.size() && !flat.isEmpty(); i++) {
      int buffer = i;
      rows.add(
          new BufferRow(
              i,
              buffers.get(i),
              Medians.of(flat.stream().map(step -> step.ready(buffer)).toList()),
              Medians.of(flat.stream().map(step -> step.begun(buffer)).toList()),
              Medians.of(flat.stream().map(step -> step.ended(buffer)).toList()),
              Medians.of(
                  steps.stream()
                      .map(
                          all ->
                              all.stream()
                                  .mapToLong(step -> step.ended(buffer) - step.begun(buffer))
                                  .min()
                                  .orElse(0))
                      .toList())));
    }
    return rows;
  }

  /** Returns the mean of the ranks by interval, of a figure of an interval; without NaN. */
  List<Point> curve(ToDoubleFunction<Interval> figure) {
    Map<Long, List<Double>> values = new TreeMap<>();
    for (Reducer rank : ranks) {
      for (Interval interval : rank.intervals()) {
        double value = figure.applyAsDouble(interval);
        if (Double.isFinite(value)) {
          values.computeIfAbsent(interval.first(), key -> new ArrayList<>()).add(value);
        }
      }
    }
    List<Point> curve = new ArrayList<>();
    values.forEach(
        (first, all) ->
            curve.add(
                new Point(
                    first, all.stream().mapToDouble(Double::doubleValue).average().orElse(0))));
    return curve;
  }
}
