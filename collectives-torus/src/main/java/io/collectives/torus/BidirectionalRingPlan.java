package io.collectives.torus;

import io.collectives.Collective;
import io.collectives.plan.Plan;
import io.collectives.plan.Rounds;
import java.util.function.IntUnaryOperator;

/**
 * All ranks in two rings of opposite directions, each with half of the payload (Ying et al. 2018,
 * section 3.3, for one dimension).
 *
 * <p>Shape: 2n chunks, 2 lanes; the even chunks go up, from r to r+1, the odd ones down. Rank r
 * owns the chunks 2r and 2r+1, the nth part of the payload that it owns in one ring, too. From 3
 * ranks on the lanes share no link.
 *
 * <p>Steps: 2(n-1). Bytes: each rank sends 2M(n-1)/n, half of it each way.
 */
final class BidirectionalRingPlan {
  private BidirectionalRingPlan() {}

  static Plan allReduce(int ranks) {
    return Plan.of(Collective.ALL_REDUCE, ranks, 2 * ranks, half(ranks, 0, 1), half(ranks, 1, -1));
  }

  private static Rounds half(int ranks, int firstChunk, int step) {
    IntUnaryOperator same = IntUnaryOperator.identity();
    Ring ring = new Ring(ranks, same, place -> 2 * place + firstChunk, 1, step);
    return ring.reduceScatter().then(ring.allGather());
  }
}
