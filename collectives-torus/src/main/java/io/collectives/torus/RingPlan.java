package io.collectives.torus;

import io.collectives.Collective;
import io.collectives.plan.Plan;
import java.util.function.IntUnaryOperator;

/**
 * All ranks in one ring: a reduce-scatter, then an all-gather.
 *
 * <p>Shape: n chunks, 1 lane; rank r sends to r+1 only, and owns chunk r.
 *
 * <p>Steps: 2(n-1). Bytes: each rank sends 2M(n-1)/n.
 */
final class RingPlan {
  private RingPlan() {}

  static Plan allReduce(int ranks) {
    IntUnaryOperator same = IntUnaryOperator.identity();
    Ring ring = new Ring(ranks, same, same, 1, 1);
    return Plan.of(
        Collective.ALL_REDUCE, ranks, ranks, ring.reduceScatter().then(ring.allGather()));
  }
}
