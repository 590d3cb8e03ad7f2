package io.collectives.torus;

import io.collectives.Collective;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.Rounds;

/**
 * Recursive doubling: in each round a rank swaps all that it has with a partner, first with its
 * neighbour and last with the one half of the ranks away, and both add what comes (Thakur,
 * Rabenseifner and Gropp 2005, section 4.4).
 *
 * <p>Shape: 1 chunk, 1 lane. With p the largest power of two up to n, p ranks swap. Of each of the
 * first n-p pairs of neighbours (2i, 2i+1) only the lower rank does; the upper one first gives it
 * all that it has, and last gets the whole result from it. So the ranks whose sum is held after
 * round k are a block of consecutive ranks, and partners hold those of two blocks next to each
 * other.
 *
 * <p>The sum of two blocks is that of the lower one and then that of the upper one, at both
 * partners: {@code ((x0 + x1) + (x2 + x3)) + ((x4 + x5) + (x6 + x7))} at all of 8 ranks. So every
 * rank takes the same sum, with log2 p additions, and all end with the same bits.
 *
 * <p>Steps: log2 p, and 2 more if n is no power of two. Bytes: each of the p ranks sends M log2 p,
 * which is M log2 n if n is p; one with an upper neighbour sends M more, and that neighbour M.
 *
 * <p>Other collectives are those of {@link HalvingDoublingPlan}.
 */
final class RecursiveDoublingPlan {
  private RecursiveDoublingPlan() {}

  static Plan of(PlanRequest request) {
    if (request.collective() != Collective.ALL_REDUCE) {
      return HalvingDoublingPlan.of(request);
    }
    int core = Integer.highestOneBit(request.ranks());
    int pairs = request.ranks() - core;
    return Plan.of(
        request,
        1,
        neighbours(pairs, (lower, upper, s) -> s.transfer(upper, lower, 0, 1, Effect.REDUCE))
            .then(doubling(core, pairs))
            .then(
                neighbours(
                    pairs, (lower, upper, s) -> s.transfer(lower, upper, 0, 1, Effect.REPLACE))));
  }

  private static Rounds doubling(int core, int pairs) {
    return Rounds.of(
        Integer.numberOfTrailingZeros(core),
        (round, sink) -> {
          for (int place = 0; place < core; place++) {
            int partner = place ^ 1 << round;
            sink.transfer(rank(place, pairs), rank(partner, pairs), 0, 1, Effect.REDUCE);
          }
        });
  }

  /** The rank at one of the p places, which are in the order of ranks. */
  private static int rank(int place, int pairs) {
    return place + Math.min(place, pairs);
  }

  private static Rounds neighbours(int pairs, Pair pair) {
    return Rounds.of(
        pairs == 0 ? 0 : 1,
        (round, sink) -> {
          for (int lower = 0; lower < 2 * pairs; lower += 2) {
            pair.transfer(lower, lower + 1, sink);
          }
        });
  }
}
