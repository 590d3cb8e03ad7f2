package io.collectives.torus;

import io.collectives.plan.Effect;
import io.collectives.plan.Rounds;
import java.util.function.IntUnaryOperator;

/**
 * A tree in which the number of ranks that have the payload doubles in each round (Thakur,
 * Rabenseifner and Gropp 2005, section 4).
 *
 * <p>Counted from the root on, rank v has the children v+1, v+2, v+4, … up to the lowest bit of v.
 * A broadcast goes to the farthest first; a reduction goes the way back, and so adds x(v) + x(v+1)
 * + (x(v+2) + x(v+3)) + …, in an order that is the same in every run.
 *
 * @param ranks the number of ranks, at least 1
 * @param root the root, from 0 to {@code ranks - 1}
 */
record BinomialTree(int ranks, int root) {

  /** Makes the ceil(log2 n) rounds after which each rank has the root's only chunk. */
  Rounds broadcast() {
    return rounds(
        round -> levels() - 1 - round,
        (parent, child, sink) -> sink.transfer(parent, child, 0, 1, Effect.REPLACE));
  }

  /** Makes the ceil(log2 n) rounds after which the root has the sum of the only chunk. */
  Rounds reduce() {
    return rounds(
        round -> round, (parent, child, sink) -> sink.transfer(child, parent, 0, 1, Effect.REDUCE));
  }

  /** Returns ceil(log2 n). */
  private int levels() {
    return Integer.SIZE - Integer.numberOfLeadingZeros(ranks - 1);
  }

  private Rounds rounds(IntUnaryOperator levelOfRound, Pair pair) {
    return Rounds.of(
        levels(),
        (round, sink) -> {
          int distance = 1 << levelOfRound.applyAsInt(round);
          for (int parent = 0; parent < ranks - distance; parent += 2 * distance) {
            pair.transfer(rank(parent), rank(parent + distance), sink);
          }
        });
  }

  private int rank(int fromRoot) {
    return fromRoot < ranks - root ? root + fromRoot : root + fromRoot - ranks;
  }
}
