package io.collectives.torus;

import io.collectives.plan.DirectPlans;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import java.util.function.IntUnaryOperator;

/**
 * All ranks in one ring: a reduce-scatter, then an all-gather; either by itself; and chains that go
 * round from, or to, a root.
 *
 * <p>The plan has n chunks and 1 lane; rank r sends to r+1 only, and owns chunk r. A chain has 1
 * chunk.
 *
 * <p>Steps: 2(n-1), each half n-1. Bytes: each rank sends 2M(n-1)/n, in each half M(n-1)/n. A chain
 * takes n-1 steps, in which each rank but the last sends M.
 */
final class RingPlan {
  private RingPlan() {}

  static Plan of(PlanRequest request) {
    int ranks = request.ranks();
    int root = request.root();
    IntUnaryOperator same = IntUnaryOperator.identity();
    Ring ring = new Ring(ranks, same, same, 1, 1);
    return switch (request.collective()) {
      case ALL_REDUCE -> Plan.of(request, ranks, ring.reduceScatter().then(ring.allGather()));
      case REDUCE_SCATTER -> Plan.of(request, ranks, ring.reduceScatter());
      case ALL_GATHER -> Plan.of(request, ranks, ring.allGather());
      case BROADCAST -> Plan.of(request, 1, Chains.oneWay(ranks, root, 1, 0).broadcast());
      case REDUCE -> Plan.of(request, 1, Chains.oneWay(ranks, root, -1, 0).reduce());
      case BARRIER, GATHER, SCATTER, ALL_TO_ALL -> DirectPlans.of(request);
    };
  }
}
