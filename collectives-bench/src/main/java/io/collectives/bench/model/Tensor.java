package io.collectives.bench.model;

import java.util.List;

/**
 * A trainable variable of a model.
 *
 * @param name its name in the framework that the model is usually trained with
 * @param shape the length of each dimension
 */
public record Tensor(String name, List<Integer> shape) {

  static Tensor of(String name, Integer... shape) {
    return new Tensor(name, List.of(shape));
  }

  /** The number of elements. */
  public int count() {
    return shape.stream().reduce(1, Math::multiplyExact);
  }
}
