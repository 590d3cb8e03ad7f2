package io.collectives;

import java.util.Map;
import java.util.Objects;

/**
 * The settings of a {@link GradientReducer}: how it fuses tensors, and what is allowed in a step.
 * All ranks must use the same settings; a difference is found in the first step.
 *
 * @param op {@link ReduceOp#SUM} or {@link ReduceOp#AVERAGE}
 * @param bufferLength the most bytes of a fusion buffer, at least 1; a tensor that is longer has a
 *     buffer of its own, unless buffers are balanced; if they are, 0 stands for {@linkplain
 *     BufferReduction#balancedLength the best length}. Short buffers can be reduced while the
 *     backward pass still runs, long ones cost fewer calls
 * @param firstBufferLength the most bytes of the first buffer, at least 1; shorter than the others,
 *     so that the network starts to work early; unused if buffers are balanced
 * @param findUnused whether tensors that are not ready when the step ends count as unused;
 *     otherwise they are an error. This costs one more small call at the end of a step, which finds
 *     {@link GradientReducer#usedBy how many ranks used each tensor}
 * @param uneven whether ranks may {@linkplain GradientReducer#join() take part without data}. This
 *     costs one more small call at the beginning of a step, which runs beside the backward pass
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
      new FusionSettings(ReduceOp.AVERAGE, 8 << 20, 1 << 20, false, false, false);

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
   * Returns settings for averages in buffers of 8 MiB, the first of 1 MiB, where every tensor is
   * ready in each step of each rank.
   */
  public static FusionSettings defaults() {
    return DEFAULTS;
  }

  /**
   * Returns settings for averages in balanced buffers, whose length is the best for the model and
   * the servers (Thangakrishnan et al. 2020, <em>Herring</em>, section III-1), where every tensor
   * is ready in each step of each rank.
   */
  public static FusionSettings balancedBuffers() {
    return DEFAULTS.withBalanced(true).withBufferLength(0);
  }

  /**
   * Returns these settings with those that environment variables set: COLLECTIVES_BUFFER_LENGTH is
   * the length of buffers in bytes.
   */
  public FusionSettings withEnvironment() {
    return withEnvironment(System.getenv());
  }

  /**
   * Returns these settings with those that the given variables set, as {@link #withEnvironment()}
   * does.
   *
   * @throws IllegalArgumentException if the value of a variable is no length
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

  /** Returns these settings with another operation. */
  public FusionSettings withOp(ReduceOp other) {
    return new FusionSettings(other, bufferLength, firstBufferLength, findUnused, uneven, balanced);
  }

  /** Returns these settings with another length of buffers, in bytes. */
  public FusionSettings withBufferLength(int other) {
    return new FusionSettings(op, other, firstBufferLength, findUnused, uneven, balanced);
  }

  /** Returns these settings with another length of the first buffer, in bytes. */
  public FusionSettings withFirstBufferLength(int other) {
    return new FusionSettings(op, bufferLength, other, findUnused, uneven, balanced);
  }

  /** Returns these settings with the search for unused tensors switched on or off. */
  public FusionSettings withFindUnused(boolean other) {
    return new FusionSettings(op, bufferLength, firstBufferLength, other, uneven, balanced);
  }

  /** Returns these settings with uneven steps allowed or not. */
  public FusionSettings withUneven(boolean other) {
    return new FusionSettings(op, bufferLength, firstBufferLength, findUnused, other, balanced);
  }

  /** Returns these settings with balanced buffers or without. */
  public FusionSettings withBalanced(boolean other) {
    return new FusionSettings(op, bufferLength, firstBufferLength, findUnused, uneven, other);
  }
}
