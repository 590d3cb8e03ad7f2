package io.collectives;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/**
 * The times of one step of a {@link GradientReducer} on this rank: how long the backward pass and
 * the sums took, how much of the sums was hidden behind the pass, and when each buffer was ready,
 * begun and reduced. {@link #toString()} is a table of it.
 *
 * <p>Times are nanoseconds. Times of a buffer count from {@link Phases the moment} at which the
 * first tensor of the step became ready. A sum includes the time for which this rank waited for
 * others that had not begun it; {@code bin/collectives report} tells the two apart, as it knows the
 * times of all ranks.
 *
 * @param step the number of the step, from 0
 * @param phases the parts of the step, which follow each other
 * @param loss the number that the program has {@linkplain GradientReducer#loss given}, NaN if none
 * @param buffers in their order; before the end of the second step their readiness is not known,
 *     because the first step makes them, and they count as ready at {@link GradientReducer#await}
 * @since 0.2.0
 */
public record StepReport(long step, Phases phases, double loss, List<Buffer> buffers) {
  /** Begins that are later than readiness by no more than this are told as immediate. */
  private static final long AT_ONCE_NANOS = 100_000;

  /** Keeps a copy of the list. */
  public StepReport {
    buffers = List.copyOf(buffers);
  }

  /**
   * The parts of a step.
   *
   * @param outsideNanos from the end of the step before to the first tensor that became ready:
   *     reading data, the forward pass, the update; 0 in the first step
   * @param backwardNanos from the first tensor that became ready to the call of {@link
   *     GradientReducer#await}
   * @param awaitNanos from there to its return: the time that the sums cost
   */
  public record Phases(long outsideNanos, long backwardNanos, long awaitNanos) {}

  /**
   * A fusion buffer.
   *
   * @param index its place in the order of buffers
   * @param lane the lane in which it waits for the buffer before it
   * @param bytes its length
   * @param tensors the number of tensors of which it holds all or a part
   * @param closedBy the name of the tensor that became ready last; empty if that is not known
   * @param times its times
   */
  public record Buffer(
      int index, int lane, long bytes, int tensors, String closedBy, Times times) {}

  /**
   * The times of a buffer, from the first tensor of the step that became ready.
   *
   * @param firstNanos its first tensor was ready
   * @param readyNanos its last tensor was ready
   * @param begunNanos its sum was begun: at once, or when the one before it in its lane had ended
   * @param endedNanos its sum was seen to have ended
   */
  public record Times(long firstNanos, long readyNanos, long begunNanos, long endedNanos) {}

  /** Returns the time from the end of the step before to the end of this one. */
  public long nanos() {
    return phases.outsideNanos + phases.backwardNanos + phases.awaitNanos;
  }

  /** Returns the time in which at least one sum was under way. */
  public long sumNanos() {
    return underWay(Long.MAX_VALUE);
  }

  /** Returns the part of {@link #sumNanos} that passed before {@link GradientReducer#await}. */
  public long hiddenNanos() {
    return underWay(phases.backwardNanos);
  }

  /** Returns the share of the sums' time that was hidden behind the backward pass, from 0 to 1. */
  public double overlap() {
    long sums = sumNanos();
    return sums == 0 ? 0 : hiddenNanos() / (double) sums;
  }

  /** Returns the number of bytes of all buffers. */
  public long bytes() {
    return buffers.stream().mapToLong(Buffer::bytes).sum();
  }

  /** Returns the time before a moment in which at least one sum was under way. */
  private long underWay(long before) {
    List<Times> times = new ArrayList<>(buffers.stream().map(Buffer::times).toList());
    times.sort(Comparator.comparingLong(Times::begunNanos));
    long sum = 0;
    long until = Long.MIN_VALUE;
    for (Times each : times) {
      long from = Math.max(each.begunNanos, until);
      long to = Math.min(each.endedNanos, before);
      if (to > from) {
        sum += to - from;
        until = to;
      }
    }
    return sum;
  }

  /** Returns two sentences and a table with a line for each buffer. */
  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    text.append(
        String.format(
            Locale.ROOT,
            "step %d took %s: %s before the first gradient, %s of backward pass, %s in await()%n",
            step,
            millis(nanos()),
            millis(phases.outsideNanos),
            millis(phases.backwardNanos),
            millis(phases.awaitNanos)));
    text.append(
        String.format(
            Locale.ROOT,
            "%,d bytes were summed in %d buffers in %s, of which %s (%.0f %%) were hidden behind"
                + " the backward pass%n",
            bytes(),
            buffers.size(),
            millis(sumNanos()),
            millis(hiddenNanos()),
            100 * overlap()));
    String line = "%6s %4s %13s %7s %10s %10s %10s %9s  %-16s %s%n";
    text.append(
        String.format(
            line,
            "buffer",
            "lane",
            "bytes",
            "tensors",
            "ready ms",
            "begun ms",
            "ended ms",
            "sum ms",
            "waited for",
            "closed by"));
    for (Buffer buffer : buffers) {
      Times times = buffer.times;
      text.append(
          String.format(
              Locale.ROOT,
              line,
              buffer.index,
              buffer.lane,
              String.format(Locale.ROOT, "%,d", buffer.bytes),
              buffer.tensors,
              number(times.readyNanos),
              number(times.begunNanos),
              number(times.endedNanos),
              number(times.endedNanos - times.begunNanos),
              waitedFor(buffer),
              buffer.closedBy));
    }
    return text.toString();
  }

  private String waitedFor(Buffer buffer) {
    if (buffer.times.begunNanos - buffer.times.readyNanos <= AT_ONCE_NANOS) {
      return "its tensors";
    }
    int before = -1;
    for (Buffer other : buffers) {
      if (other.lane == buffer.lane && other.index < buffer.index) {
        before = other.index;
      }
    }
    return before < 0 ? "await()" : "buffer " + before;
  }

  private static String number(long nanos) {
    return String.format(Locale.ROOT, "%.3f", nanos / 1e6);
  }

  private static String millis(long nanos) {
    return String.format(Locale.ROOT, "%.2f ms", nanos / 1e6);
  }
}
