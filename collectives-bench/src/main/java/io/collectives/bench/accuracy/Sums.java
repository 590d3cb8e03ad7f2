package io.collectives.bench.accuracy;

import io.collectives.bench.model.Values;

/** A way of summing the contributions of all ranks. */
interface Sums extends AutoCloseable {

  /**
   * Takes those of a step.
   *
   * @param step from 0 on, one after the other
   * @return the sums of the elements that are looked at, in their order
   */
  Values take(int step);

  @Override
  default void close() {}
}
