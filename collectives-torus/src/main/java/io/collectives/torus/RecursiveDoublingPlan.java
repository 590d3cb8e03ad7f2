package io.collectives.torus;

import io.collectives.Collective;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.Rounds;

/**
 * A plan of recursive doubling: in each round a rank exchanges all that it has with a partner,
 * first with its neighbour and last with the one half of the ranks away, and both add the data that
 * arrive (Thakur, Rabenseifner and Gropp 2005, section 4.4).
 *
 * <p>The plan has 1 chunk and 1 lane. With p the largest power of two up to n, p ranks take part in
 * all rounds. Of each of the first n-p pairs of neighbours (2i, 2i+1) only the lower rank does; the
 * upper one first sends it all that it has, and last receives the whole result from it. So the
 * ranks whose sum is held after round k are a block of consecutive ranks, and partners hold those
 * of two blocks next to each other.
 *
 * <p>The sum of two blocks is that of the lower one and then that of the upper one, at both
 * partners: {@code ((x0 + x1) + (x2 + x3)) + ((x4 + x5) + (x6 + x7))} at all of 8 ranks. So every
 * rank computes the same sum, with log2 p additions, and all end with the same bits.
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
    PowerOfTwoCore core = PowerOfTwoCore.of(request.ranks());
    return Plan.of(request, 1, core.allReduce(1, doubling(core)));
  }

  private static Rounds doubling(PowerOfTwoCore core) {
    return Rounds.of(
        core.levels(),
        (round, sink) -> {
          for (int place = 0; place < core.count(); place++) {
            int partner = place ^ 1 << round;
            sink.transfer(core.rank(place), core.rank(partner), 0, 1, Effect.REDUCE);
          }
        });
  }
}
