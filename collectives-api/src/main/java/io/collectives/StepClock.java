package io.collectives;

import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Notes the times of the steps of a {@link GradientReducer}. It reads the clock for the first and
 * the last tensor of a buffer and not for those between, and allocates nothing in a step. It is
 * guarded by the reducer's lock.
 */
final class StepClock {
  private Times present = new Times(0);
  private Times last = new Times(0);
  private boolean hasLast;

  /** The times of one step, on the clock of {@link System#nanoTime}. */
  private static final class Times {
    long step;
    long previousEnd;
    long first;
    long awaited;
    long end;
    double loss = Double.NaN;

    /** By buffer. */
    final long[] firstReady;

    final long[] ready;
    final long[] begun;
    final long[] ended;

    /** By buffer: the index of the tensor that became ready last, -1 if it is not known. */
    final int[] closedBy;

    Times(int buffers) {
      firstReady = new long[buffers];
      ready = new long[buffers];
      begun = new long[buffers];
      ended = new long[buffers];
      closedBy = new int[buffers];
    }
  }

  /** The first tensor of a step becomes ready. */
  void stepBegins() {
    present.first = System.nanoTime();
  }

  /** The program gives the loss of the present step. */
  void loss(double loss) {
    present.loss = loss;
  }

  /** A slice of a buffer is ready, and the buffer does not know of it yet. */
  void ready(FusionBuffer buffer, int tensor) {
    boolean isLast = buffer.waiting == 1;
    if (isLast || buffer.waiting == buffer.slices.size()) {
      long now = System.nanoTime();
      if (buffer.waiting == buffer.slices.size()) {
        present.firstReady[buffer.index] = now;
      }
      if (isLast) {
        present.ready[buffer.index] = now;
        present.closedBy[buffer.index] = tensor;
      }
    }
  }

  /** The sum of a buffer begins. */
  void sumBegins(FusionBuffer buffer) {
    present.begun[buffer.index] = System.nanoTime();
  }

  /** The sum of a buffer has ended. */
  void sumEnded(FusionBuffer buffer) {
    present.ended[buffer.index] = System.nanoTime();
  }

  /** The program waits for the end of the step. */
  void awaited() {
    present.awaited = System.nanoTime();
  }

  /** The buffers are known from now on; those of this step are ready already. */
  void laidOut(int buffers) {
    Times times = new Times(buffers);
    times.first = present.first;
    times.awaited = present.awaited;
    times.loss = present.loss;
    long now = System.nanoTime();
    Arrays.fill(times.firstReady, now);
    Arrays.fill(times.ready, now);
    Arrays.fill(times.closedBy, -1);
    present = times;
    last = new Times(buffers);
  }

  /** A step has ended. */
  void stepEnded(long step) {
    Times ended = present;
    ended.step = step;
    ended.end = System.nanoTime();
    present = last;
    last = ended;
    hasLast = true;
    present.previousEnd = ended.end;
    present.loss = Double.NaN;
  }

  /**
   * Returns the times of the last step.
   *
   * @throws IllegalStateException if there is none
   */
  StepReport report(FusionBuffer[] buffers, List<GradientReducer.Tensor> tensors) {
    if (!hasLast) {
      throw new IllegalStateException("report() is known after the end of the first step");
    }
    Times times = last;
    return new StepReport(
        times.step,
        new StepReport.Phases(
            times.previousEnd == 0 ? 0 : times.first - times.previousEnd,
            times.awaited - times.first,
            times.end - times.awaited),
        times.loss,
        IntStream.range(0, buffers.length)
            .mapToObj(i -> buffer(times, buffers[i], tensors))
            .toList());
  }

  private static StepReport.Buffer buffer(
      Times times, FusionBuffer buffer, List<GradientReducer.Tensor> tensors) {
    int i = buffer.index;
    int closing = times.closedBy[i];
    return new StepReport.Buffer(
        i,
        buffer.lane,
        buffer.payload.length(),
        buffer.slices.size(),
        closing < 0 ? "" : tensors.get(closing).name,
        new StepReport.Times(
            times.firstReady[i] - times.first,
            times.ready[i] - times.first,
            times.begun[i] - times.first,
            times.ended[i] - times.first));
  }
}
