package io.collectives;

import java.util.Map;
import java.util.Objects;

/**
 * How a {@link GradientReducer} fuses tensors and what a step may look like. All ranks must use the
 * same; a difference is found in the first step.
 *
 * @param op {@link ReduceOp#SUM} or {@link ReduceOp#AVERAGE}
 * @param bufferLength the most bytes of a fusion buffer, at least 1; a tensor that is longer has a
 *     buffer of its own, unless buffers are balanced; if they are, 0 for {@linkplain
 *     BufferReduction#balancedLength what is best}. Short buffers can be reduced while the backward
 *     pass still runs, long ones cost fewer calls
 * @param firstBufferLength the most bytes of the first buffer, at least 1; shorter than the others,
 *     so that the network has something to do soon; not looked at if buffers are balanced
 * @param findUnused whether tensors that are not ready when the step ends count as unused; else
 *     they are an error. Costs one more small call at the end of a step, which tells {@link
 *     GradientReducer#usedBy who used what}
 * @param uneven whether ranks may {@linkplain GradientReducer#join() take part without data}. Costs
 *     one more small call at the beginning of a step, which runs beside the backward pass
 * @param balanced whether all buffers of an element type have the same length, but for the last; a
 *     tensor then may lie in several, each of which is reduced as soon as it is complete
 */
public record FusionSettings(
    ReduceOp op,
    int bufferLength,
    int firstBufferLength,
    boolean findUnused,
    boolean uneven,
    boolean balanced) {
  private static final String LENGTH_VARIABLE = "COLLECTIVES_BUFFER_LENGTH";
  private static final FusionSettings DEFAULTS =
      new FusionSettings(ReduceOp.AVERAGE, 25 << 20, 1 << 20, false, false, false);

  /** Checks the values. */
  public FusionSettings {
    Objects.requireNonNull(op, "op");
    if (op != ReduceOp.SUM && op != ReduceOp.AVERAGE) {
      throw new IllegalArgumentException(
          "reduction of gradients by " + op + ": must be sum or average");
    }
    if (bufferLength < (balanced ? 0 : 1) || firstBufferLength < 1) {
      throw new IllegalArgumentException(
          "fusion buffers of "
              + bufferLength
              + " bytes, the first of "
              + firstBufferLength
              + ": both must be at least 1"
              + (balanced ? ", or the former 0 for what is best" : ""));
    }
  }

  /**
   * Averages, buffers of 25 MiB, the first of 1 MiB; every tensor is ready in each step of each
   * rank.
   */
  public static FusionSettings defaults() {
    return DEFAULTS;
  }

  /**
   * Averages, balanced buffers as long as is best for the model and the servers (Thangakrishnan et
   * al. 2020, <em>Herring</em>, section III-1); every tensor is ready in each step of each rank.
   */
  public static FusionSettings balancedBuffers() {
    return DEFAULTS.withBalanced(true).withBufferLength(0);
  }

  /**
   * The same with what the environment says: COLLECTIVES_BUFFER_LENGTH, the length of buffers in
   * bytes.
   */
  public FusionSettings withEnvironment() {
    return withEnvironment(System.getenv());
  }

  /**
   * The same with what an environment says, as {@link #withEnvironment()}.
   *
   * @throws IllegalArgumentException if a variable is no length
   */
  public FusionSettings withEnvironment(Map<String, String> environment) {
    String value = environment.get(LENGTH_VARIABLE);
    if (value == null || value.isBlank()) {
      return this;
    }
    try {
      return withBufferLength(Integer.parseInt(value.trim()));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          LENGTH_VARIABLE + "=" + value + ": must be a number of bytes, from 1 to 2147483647", e);
    }
  }

  /** The same with another operation. */
  public FusionSettings withOp(ReduceOp other) {
    return new FusionSettings(other, bufferLength, firstBufferLength, findUnused, uneven, balanced);
  }

  /** The same with another length of buffers, in bytes. */
  public FusionSettings withBufferLength(int other) {
    return new FusionSettings(op, other, firstBufferLength, findUnused, uneven, balanced);
  }

  /** The same with another length of the first buffer, in bytes. */
  public FusionSettings withFirstBufferLength(int other) {
    return new FusionSettings(op, bufferLength, other, findUnused, uneven, balanced);
  }

  /** The same with unused tensors found, or not. */
  public FusionSettings withFindUnused(boolean other) {
    return new FusionSettings(op, bufferLength, firstBufferLength, other, uneven, balanced);
  }

  /** The same with uneven steps, or without. */
  public FusionSettings withUneven(boolean other) {
    return new FusionSettings(op, bufferLength, firstBufferLength, findUnused, other, balanced);
  }

  /** The same with balanced buffers, or without. */
  public FusionSettings withBalanced(boolean other) {
    return new FusionSettings(op, bufferLength, firstBufferLength, findUnused, uneven, other);
  }
}
