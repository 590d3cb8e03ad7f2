package io.collectives.bench.digits;

/** The part of a step in which gradients of all ranks change the weights of all ranks. */
interface WeightUpdate extends AutoCloseable {

  /** The gradients of a parameter, with its place among them, are complete. */
  default void ready(int parameter) {}

  /** Adds the gradients of a micro-batch to those of the next, instead of a step. */
  default void accumulate() {
    throw new UnsupportedOperationException("micro-batches are for sharded updates");
  }

  /** All gradients are complete: the next weights are there when this returns. */
  void step();

  /** Keeps weights and state, after an epoch. */
  default void save() {}

  /**
   * Goes on from what was {@linkplain #save saved}, in place of the first step.
   *
   * @param root a rank that was there then
   */
  default void resume(int root) {
    throw new UnsupportedOperationException("nothing was saved");
  }

  @Override
  default void close() {}
}
