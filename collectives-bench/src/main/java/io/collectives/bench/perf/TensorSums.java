package io.collectives.bench.perf;

/**
 * A way to all-reduce the tensors of a model. All ranks of the case make one, run it equally often
 * and close it.
 */
@FunctionalInterface
interface TensorSums extends AutoCloseable {

  /** Sums the tensors once, while they become ready. */
  void run();

  /**
   * Returns how many messages all ranks together have sent so far to agree on what is ready. Asked
   * of rank 0.
   */
  default long negotiationMessages() {
    return 0;
  }

  @Override
  default void close() {}
}
