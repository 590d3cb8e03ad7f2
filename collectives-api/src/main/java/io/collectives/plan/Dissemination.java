package io.collectives.plan;

import io.collectives.Collective;

/**
 * The barrier of every algorithm that has none of its own: in round k each rank sends all that it
 * knows to the rank 2^k places ahead, so that after ceil(log2 n) rounds every rank knows that every
 * rank has entered (Hensgen, Finkel and Manber 1988).
 *
 * <p>The plan has 1 chunk, 1 lane and ceil(log2 n) rounds, with n transfers in each. A rank learns
 * of some ranks more than once, which a barrier allows.
 */
public final class Dissemination {
  private Dissemination() {}

  /** Makes the barrier of a group of {@code ranks}. */
  public static Plan barrier(int ranks) {
    Rounds rounds =
        Rounds.of(
            Integer.SIZE - Integer.numberOfLeadingZeros(ranks - 1),
            (round, sink) -> {
              for (int rank = 0; rank < ranks; rank++) {
                int ahead = (int) ((rank + (1L << round)) % ranks);
                sink.transfer(rank, ahead, 0, 1, Effect.REDUCE);
              }
            });
    return Plan.of(Collective.BARRIER, ranks, 1, rounds);
  }
}
