package io.collectives.bench.perf;

import io.collectives.bench.model.Model;
import io.collectives.bench.model.Tensor;
import io.collectives.internal.FusionRule;
import java.util.Arrays;
import java.util.Locale;

/**
 * The tensors of a model, each in memory of its own, all-reduced in one of several ways.
 *
 * @param way how
 * @param lanes how many buffers a gradient reducer has under way at once; others ignore it
 * @param divisor what the length of each tensor is divided by, at least 1
 * @param backwardNanos how long the backward pass takes in which they become ready; 0 if all are at
 *     once
 */
public record ModelTensors(Model model, Way way, int lanes, int divisor, long backwardNanos) {

  /** The ways of all-reducing many tensors. */
  public enum Way {
    /** By a gradient reducer, to which they become ready in the order of a backward pass. */
    FUSED,
    /** By a call for each, one after the other. */
    EACH,
    /** By one call, of a payload that consists of them. */
    ONE,
    /** By one call, of an array that they are copied to before and from after. */
    COPIED,
    /** By a call for each to the one server that has it whole, all at once. */
    ATOMIC,
    /** In buffers of tensors that ranks have told each other to be ready, as Horovod does. */
    NEGOTIATED;

    /**
     * Returns whether it can be measured with so many ranks that only serve, and work and serve.
     */
    public boolean fits(int dedicated, int shared) {
      return switch (this) {
        case ATOMIC -> dedicated > 0 && shared == 0;
        case NEGOTIATED -> dedicated == 0;
        default -> true;
      };
    }

    /** The name on the command line. */
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** The number of elements of each tensor, in the order of the forward pass. */
  public int[] counts() {
    return model.tensors().stream().mapToInt(this::count).toArray();
  }

  /** The number of elements of all tensors. */
  public long elements() {
    return Arrays.stream(counts()).asLongStream().sum();
  }

  private int count(Tensor tensor) {
    return Math.max(1, tensor.count() / divisor);
  }

  /** On one word, for another process. */
  String line() {
    return String.join(
        ":",
        model.toString(),
        way.toString(),
        Integer.toString(lanes),
        Integer.toString(divisor),
        Long.toString(backwardNanos));
  }

  /** Reads a {@link #line()}. */
  static ModelTensors parse(String text) {
    String[] words = text.split(":");
    Model model =
        Arrays.stream(Model.values())
            .filter(one -> one.toString().equals(words[0]))
            .findFirst()
            .orElseThrow();
    return new ModelTensors(
        model,
        Way.valueOf(words[1].toUpperCase(Locale.ROOT)),
        Integer.parseInt(words[2]),
        Integer.parseInt(words[3]),
        Long.parseLong(words[4]));
  }

  /**
   * Returns a text such as {@code resnet50:fused}, {@code resnet50/8:fused} of an eighth of it, or
   * {@code resnet50:fused:4} in another number of lanes than the reducer's default.
   */
  @Override
  public String toString() {
    return model
        + (divisor == 1 ? "" : "/" + divisor)
        + ":"
        + way
        + (lanes == FusionRule.LANES ? "" : ":" + lanes);
  }
}
