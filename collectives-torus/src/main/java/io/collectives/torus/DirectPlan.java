package io.collectives.torus;

import io.collectives.Collective;
import io.collectives.plan.DirectExchange;
import io.collectives.plan.Plan;

/**
 * Every rank serves one share of the payload: all send it theirs, it sends all the sum.
 *
 * <p>Shape: n chunks, 1 lane; every rank has a link to every other, and rank r owns chunk r.
 *
 * <p>Steps: 2. Bytes: each rank sends 2M(n-1)/n, to n-1 peers.
 */
final class DirectPlan {
  private DirectPlan() {}

  static Plan allReduce(int ranks) {
    return Plan.of(
        Collective.ALL_REDUCE,
        ranks,
        ranks,
        DirectExchange.reduceScatter(ranks, ranks).then(DirectExchange.allGather(ranks, ranks)));
  }
}
