package io.collectives.engine.report;

import io.collectives.StepReport;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The steps of one gradient reducer, in memory that does not grow with their number.
 *
 * <p><b>Steps.</b> Blocks of {@value #BLOCK} steps in a row are kept whole: all at first; when
 * there are too many, every second one is dropped, and from then on every second one is kept, and
 * so on. Which ones are kept depends on the numbers of steps and buffers alone, so that all ranks
 * keep the same.
 *
 * <p><b>Intervals.</b> Sums of all steps are kept by intervals, whose length doubles when there are
 * more than {@value #MOST_INTERVALS}.
 */
final class StepHistory {
  static final int BLOCK = 64;
  static final int MOST_INTERVALS = 256;
  private static final int MOST_BLOCKS = 16;
  private static final int MOST_TIMES = 1 << 16;

  private static final class Interval {
    long steps;
    long nanos;
    long outside;
    long backward;
    long await;
    long sums;
    long hidden;
    long longest;
    long gcMillis;
    double loss = Double.NaN;

    void add(Interval later) {
      steps += later.steps;
      nanos += later.nanos;
      outside += later.outside;
      backward += later.backward;
      await += later.await;
      sums += later.sums;
      hidden += later.hidden;
      longest = Math.max(longest, later.longest);
      gcMillis += later.gcMillis;
      loss = Double.isNaN(later.loss) ? loss : later.loss;
    }
  }

  /** A step that is kept. */
  private record Kept(StepReport step, long atNanos, long gcMillis) {}

  private final int number;
  private final Map<Long, List<Kept>> blocks = new TreeMap<>();
  private long stride = 1;
  private Map<Long, Interval> intervals = new TreeMap<>();
  private long intervalLength = 1;
  private long steps;
  private List<StepReport.Buffer> buffers = List.of();

  StepHistory(int number) {
    this.number = number;
  }

  /**
   * Adds a step.
   *
   * @param atNanos the time since the report has begun
   * @param gcMillis the time of garbage collections since the step before
   */
  void add(StepReport step, long atNanos, long gcMillis) {
    steps++;
    buffers = step.buffers();
    long block = step.step() / BLOCK;
    if (block % stride == 0) {
      blocks
          .computeIfAbsent(block, key -> new ArrayList<>())
          .add(new Kept(step, atNanos, gcMillis));
    }
    while (blocks.size() > mostBlocks()) {
      stride *= 2;
      blocks.keySet().removeIf(key -> key % stride != 0);
    }
    Interval one = new Interval();
    one.steps = 1;
    one.nanos = step.nanos();
    one.outside = step.phases().outsideNanos();
    one.backward = step.phases().backwardNanos();
    one.await = step.phases().awaitNanos();
    one.sums = step.sumNanos();
    one.hidden = step.hiddenNanos();
    one.longest = one.nanos;
    one.gcMillis = gcMillis;
    one.loss = step.loss();
    intervals.computeIfAbsent(step.step() / intervalLength, key -> new Interval()).add(one);
    if (intervals.size() > MOST_INTERVALS) {
      intervalLength *= 2;
      Map<Long, Interval> longer = new TreeMap<>();
      intervals.forEach(
          (key, interval) -> longer.computeIfAbsent(key / 2, pair -> new Interval()).add(interval));
      intervals = longer;
    }
  }

  private int mostBlocks() {
    int times = BLOCK * Math.max(1, buffers.size());
    return Math.max(2, Math.min(MOST_BLOCKS, MOST_TIMES / times));
  }

  /** Appends the lines of the reducer, its buffers, intervals and steps. */
  void appendTo(ReportText text) {
    text.line("reducer", number, steps);
    for (StepReport.Buffer buffer : buffers) {
      text.line(
          "buffer",
          number,
          buffer.index(),
          buffer.lane(),
          buffer.bytes(),
          buffer.tensors(),
          buffer.closedBy());
    }
    intervals.forEach(
        (key, interval) ->
            text.line(
                "interval",
                number,
                key * intervalLength,
                interval.steps,
                interval.nanos / 1000,
                interval.outside / 1000,
                interval.backward / 1000,
                interval.await / 1000,
                interval.sums / 1000,
                interval.hidden / 1000,
                interval.longest / 1000,
                interval.gcMillis,
                interval.loss));
    blocks.values().forEach(block -> block.forEach(kept -> append(text, kept)));
  }

  private void append(ReportText text, Kept kept) {
    StepReport step = kept.step;
    StringBuilder times = new StringBuilder();
    for (StepReport.Buffer buffer : step.buffers()) {
      StepReport.Times each = buffer.times();
      times
          .append(times.length() == 0 ? "" : ";")
          .append(each.firstNanos() / 1000)
          .append(',')
          .append(each.readyNanos() / 1000)
          .append(',')
          .append(each.begunNanos() / 1000)
          .append(',')
          .append(each.endedNanos() / 1000);
    }
    text.line(
        "step",
        number,
        step.step(),
        kept.atNanos / 1000,
        step.phases().outsideNanos() / 1000,
        step.phases().backwardNanos() / 1000,
        step.phases().awaitNanos() / 1000,
        kept.gcMillis,
        step.loss(),
        times);
  }
}
