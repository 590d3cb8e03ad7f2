package io.collectives;

import java.util.Objects;

/**
 * How a {@link GradientReducer} fuses tensors and what a step may look like. All ranks must use the
 * same; a difference is found in the first step.
 *
 * @param op {@link ReduceOp#SUM} or {@link ReduceOp#AVERAGE}
 * @param bufferLength the most bytes of a fusion buffer, at least 1; a tensor that is longer has a
 *     buffer of its own. Short buffers can be reduced while the backward pass still runs, long ones
 *     cost fewer calls
 * @param firstBufferLength the most bytes of the first buffer, at least 1; shorter than the others,
 *     so that the network has something to do soon
 * @param findUnused whether tensors that are not ready when the step ends count as unused; else
 *     they are an error. Costs one more small call at the end of a step, which tells {@link
 *     GradientReducer#usedBy who used what}
 * @param uneven whether ranks may {@linkplain GradientReducer#join() take part without data}. Costs
 *     one more small call at the beginning of a step, which runs beside the backward pass
 */
public record FusionSettings(
    ReduceOp op, int bufferLength, int firstBufferLength, boolean findUnused, boolean uneven) {
  private static final FusionSettings DEFAULTS =
      new FusionSettings(ReduceOp.AVERAGE, 25 << 20, 1 << 20, false, false);

  /** Checks the values. */
  public FusionSettings {
    Objects.requireNonNull(op, "op");
    if (op != ReduceOp.SUM && op != ReduceOp.AVERAGE) {
      throw new IllegalArgumentException(
          "reduction of gradients by " + op + ": must be sum or average");
    }
    if (bufferLength < 1 || firstBufferLength < 1) {
      throw new IllegalArgumentException(
          "fusion buffers of "
              + bufferLength
              + " bytes, the first of "
              + firstBufferLength
              + ": both must be at least 1");
    }
  }

  /**
   * Averages, buffers of 25 MiB, the first of 1 MiB; every tensor is ready in each step of each
   * rank.
   */
  public static FusionSettings defaults() {
    return DEFAULTS;
  }

  /** The same with another operation. */
  public FusionSettings withOp(ReduceOp other) {
    return new FusionSettings(other, bufferLength, firstBufferLength, findUnused, uneven);
  }

  /** The same with another length of buffers, in bytes. */
  public FusionSettings withBufferLength(int other) {
    return new FusionSettings(op, other, firstBufferLength, findUnused, uneven);
  }

  /** The same with another length of the first buffer, in bytes. */
  public FusionSettings withFirstBufferLength(int other) {
    return new FusionSettings(op, bufferLength, other, findUnused, uneven);
  }

  /** The same with unused tensors found, or not. */
  public FusionSettings withFindUnused(boolean other) {
    return new FusionSettings(op, bufferLength, firstBufferLength, other, uneven);
  }

  /** The same with uneven steps, or without. */
  public FusionSettings withUneven(boolean other) {
    return new FusionSettings(op, bufferLength, firstBufferLength, findUnused, other);
  }
}
