package io.collectives.ps;

import io.collectives.Collective;
import io.collectives.plan.DirectExchange;
import io.collectives.plan.Plan;

/**
 * Workers that push to, and pull from, S servers which each serve an equal part of every buffer:
 * the balanced fusion buffers of Herring (Thangakrishnan et al. 2020, section III). The servers are
 * workers, too: the first S ranks.
 *
 * <p>Shape: S chunks, 1 lane; every rank has a link to and from every server, and rank s owns chunk
 * s.
 *
 * <p>Steps: 2. Bytes: a rank that does not serve sends M and receives M; one that serves sends, and
 * receives, M(S-1)/S for itself and M(n-1)/S for the others. With S = n that is 2M(n-1)/n, no less
 * than a ring, but in two steps.
 */
final class ParameterServerPlan {
  private ParameterServerPlan() {}

  static Plan allReduce(int ranks, int servers) {
    return Plan.of(
        Collective.ALL_REDUCE,
        ranks,
        servers,
        DirectExchange.reduceScatter(ranks, servers)
            .then(DirectExchange.allGather(ranks, servers)));
  }

  /** Refuses more servers than there are ranks. */
  static void requireFit(int ranks, int servers) {
    if (servers > ranks) {
      throw new IllegalArgumentException(
          "parameter server with "
              + servers
              + " servers in a group of "
              + ranks
              + " ranks: the servers are ranks of the group, so 1 to "
              + ranks
              + " can serve");
    }
  }
}
