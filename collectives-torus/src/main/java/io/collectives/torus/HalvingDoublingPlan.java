package io.collectives.torus;

import io.collectives.Collective;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.Rounds;
import io.collectives.plan.Transfer;

/**
 * Recursive halving, then doubling: in each round of the reduce-scatter a rank swaps with a partner
 * half of what both still hold, first with the partner half of the ranks away and last with its
 * neighbour; the all-gather goes the same way back (Rabenseifner 2004; Thakur, Rabenseifner and
 * Gropp 2005).
 *
 * <p>Shape: p chunks, 1 lane, for p the largest power of two up to n; rank r of the first p owns
 * chunk r, and its partners are r XOR p/2, …, r XOR 1. Each of the n-p excess ranks p+i first gives
 * rank i all that it has and last gets the whole result from it.
 *
 * <p>The sum at a rank is its own, then those of its partners in the order of rounds, each a sum
 * that was put together likewise.
 *
 * <p>Steps: 2 log2 p, and 2 more if n is no power of two. Bytes: each of the first p ranks sends
 * 2M(p-1)/p, which is 2M(n-1)/n if n is p; those with an excess rank send M more, and an excess
 * rank sends M.
 */
final class HalvingDoublingPlan {
  private HalvingDoublingPlan() {}

  static Plan allReduce(int ranks) {
    int core = Integer.highestOneBit(ranks);
    int halvings = Integer.numberOfTrailingZeros(core);
    Rounds fold =
        excess(ranks, core, (rank, extra, s) -> s.transfer(extra, rank, 0, core, Effect.REDUCE));
    Rounds halving =
        Rounds.of(
            halvings,
            (round, sink) -> {
              int distance = core >> (round + 1);
              for (int rank = 0; rank < core; rank++) {
                int partner = rank ^ distance;
                sink.transfer(rank, partner, partner & -distance, distance, Effect.REDUCE);
              }
            });
    Rounds doubling =
        Rounds.of(
            halvings,
            (round, sink) -> {
              int distance = 1 << round;
              for (int rank = 0; rank < core; rank++) {
                sink.transfer(rank, rank ^ distance, rank & -distance, distance, Effect.REPLACE);
              }
            });
    Rounds unfold =
        excess(ranks, core, (rank, extra, s) -> s.transfer(rank, extra, 0, core, Effect.REPLACE));
    return Plan.of(
        Collective.ALL_REDUCE, ranks, core, fold.then(halving).then(doubling).then(unfold));
  }

  private static Rounds excess(int ranks, int core, Pair pair) {
    return Rounds.of(
        ranks == core ? 0 : 1,
        (round, sink) -> {
          for (int rank = 0; rank < ranks - core; rank++) {
            pair.transfer(rank, core + rank, sink);
          }
        });
  }

  @FunctionalInterface
  private interface Pair {
    void transfer(int rank, int extra, Transfer.Sink sink);
  }
}
