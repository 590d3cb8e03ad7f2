package io.collectives.bench.perf;

import io.collectives.bench.model.Model;
import java.util.Arrays;
import java.util.Locale;

/**
 * The tensors of a model, each in memory of its own, all-reduced in one of several ways.
 *
 * @param way how
 */
public record ModelTensors(Model model, Way way) {

  /** How many tensors are all-reduced. */
  public enum Way {
    /** By a gradient reducer, to which they become ready in the order of a backward pass. */
    FUSED,
    /** By a call for each, one after the other. */
    EACH,
    /** By one call, of a payload that consists of them. */
    ONE,
    /** By one call, of an array that they are copied to before and from after. */
    COPIED;

    /** The name on the command line. */
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** Reads a {@link #toString()}. */
  static ModelTensors parse(String text) {
    String[] words = text.split(":");
    Model model =
        Arrays.stream(Model.values())
            .filter(one -> one.toString().equals(words[0]))
            .findFirst()
            .orElseThrow();
    return new ModelTensors(model, Way.valueOf(words[1].toUpperCase(Locale.ROOT)));
  }

  /** As {@code resnet50:fused}. */
  @Override
  public String toString() {
    return model + ":" + way;
  }
}
