package io.collectives.ps;

import io.collectives.Algorithm.ParameterServer;
import io.collectives.Collective;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.Rounds;

/**
 * Workers that push to, and pull from, S servers which each serve an equal part of every buffer:
 * the balanced fusion buffers of Herring (Thangakrishnan et al. 2020, section III). Dedicated
 * servers are the last ranks and contribute nothing; the other servers are workers, too, the first
 * ranks.
 *
 * <p>Shape: S chunks, 1 lane; every worker has a link to and from every server. The servers own the
 * chunks in the order of their ranks.
 *
 * <p>Steps: 2. Bytes, with W workers: a worker that does not serve sends M and receives M; one that
 * serves sends, and receives, M(S-1)/S for itself and M(W-1)/S for the others; a dedicated server M
 * W/S. With S = W servers that are all dedicated everybody sends M; with as many that are workers
 * 2M(W-1)/W, no less than in a ring, but in two steps.
 *
 * <p>The transfers are named by distance, worker s + d with the server of chunk s: so workers speak
 * with different servers at a time, and chunk s is x(s) + x(s+1) + … + x(s-1), from the left,
 * whether its server is one of the workers or not.
 */
final class ParameterServerPlan {
  private ParameterServerPlan() {}

  static Plan allReduce(int ranks, ParameterServer algorithm) {
    int workers = ranks - algorithm.dedicated();
    int servers = algorithm.servers();
    int shared = algorithm.shared();
    int rounds = ranks == 1 ? 0 : 1;
    Rounds push =
        Rounds.of(
            rounds,
            (round, sink) ->
                eachPair(
                    workers,
                    servers,
                    shared,
                    (worker, server, chunk) ->
                        sink.transfer(worker, server, chunk, 1, Effect.REDUCE)));
    Rounds pull =
        Rounds.of(
            rounds,
            (round, sink) ->
                eachPair(
                    workers,
                    servers,
                    shared,
                    (worker, server, chunk) ->
                        sink.transfer(server, worker, chunk, 1, Effect.REPLACE)));
    return Plan.of(PlanRequest.of(Collective.ALL_REDUCE, ranks), workers, servers, push.then(pull));
  }

  private static void eachPair(int workers, int servers, int shared, Pair pair) {
    for (int distance = 0; distance < workers; distance++) {
      for (int chunk = 0; chunk < servers; chunk++) {
        int server = chunk < shared ? chunk : workers + chunk - shared;
        int worker = (chunk + distance) % workers;
        if (worker != server) {
          pair.speak(worker, server, chunk);
        }
      }
    }
  }

  /** Refuses servers that there are no ranks for. */
  static void requireFit(int ranks, ParameterServer algorithm) {
    int servers = algorithm.servers();
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
    if (algorithm.dedicated() == ranks) {
      throw new IllegalArgumentException(
          "parameter server with "
              + algorithm.dedicated()
              + " dedicated servers in a group of "
              + ranks
              + " ranks: at least 1 must be a worker");
    }
  }

  @FunctionalInterface
  private interface Pair {
    void speak(int worker, int server, int chunk);
  }
}
