package io.collectives.testkit;

import io.collectives.ElementType;
import io.collectives.ReduceOp;

/**
 * The elements that ranks contribute to a call.
 *
 * @param op how they are reduced, if they are
 * @param seed of their values
 */
record Operand(ElementType type, ReduceOp.Standard op, long seed) {
  /** Returns what a rank contributes, as bits. */
  long[] input(int rank, int count) {
    return Numbers.inputs(type, op, seed, rank, count);
  }

  /** Returns what each rank contributes. */
  long[][] inputs(int ranks, int count) {
    long[][] inputs = new long[ranks][];
    for (int rank = 0; rank < ranks; rank++) {
      inputs[rank] = input(rank, count);
    }
    return inputs;
  }
}
