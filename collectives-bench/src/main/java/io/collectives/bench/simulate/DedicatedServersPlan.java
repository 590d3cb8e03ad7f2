package io.collectives.bench.simulate;

import io.collectives.Collective;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.Rounds;

/**
 * A parameter server whose servers are ranks of their own, after those of the workers, which serve
 * hosts of several workers (Thangakrishnan et al. 2020, section III-A). Exists in the simulator
 * only; what a job does is {@link io.collectives.Algorithm#parameterServer(int, int)}.
 *
 * <p>With g workers on a host, H hosts and S servers: first each worker gets from the others of its
 * host their part of its gth of the payload and adds; it sends each server an Sth of that; servers
 * add and send the sum back; the workers of a host tell each other. With g = 1 only the two rounds
 * in the middle are left, which are those of that algorithm.
 *
 * <p>Shape: g S chunks, 1 lane; worker j of a host has the S chunks from j S on, of which the sth
 * is server s's. Steps: 4, or 2. Bytes: of M bytes, a host of workers sends M and receives M; a
 * server sends and receives H M/S; inside of a host each worker sends 2M(g-1)/g.
 *
 * <p>In each step host h speaks with server h, then with h+1, and so on, so that as few as can be
 * speak with the same one.
 */
final class DedicatedServersPlan {
  private DedicatedServersPlan() {}

  /**
   * The plan.
   *
   * @param workers a multiple of {@code perHost}
   * @param perHost g
   * @param servers S
   */
  static Plan of(int workers, int perHost, int servers) {
    if (servers < 1 || perHost < 1 || workers < 1 || workers % perHost != 0) {
      throw new IllegalArgumentException(
          "dedicated-servers:"
              + servers
              + " for "
              + workers
              + " workers on hosts of "
              + perHost
              + ": at least 1 server and full hosts are needed");
    }
    Rounds middle =
        Rounds.of(
            1,
            (round, sink) ->
                eachPair(
                    workers,
                    perHost,
                    servers,
                    (worker, server, chunk) ->
                        sink.transfer(worker, workers + server, chunk, 1, Effect.REDUCE)));
    Rounds back =
        Rounds.of(
            1,
            (round, sink) ->
                eachPair(
                    workers,
                    perHost,
                    servers,
                    (worker, server, chunk) ->
                        sink.transfer(workers + server, worker, chunk, 1, Effect.REPLACE)));
    return Plan.of(
        PlanRequest.of(Collective.ALL_REDUCE, workers + servers),
        workers,
        Math.multiplyExact(perHost, servers),
        inside(workers, perHost, servers, Effect.REDUCE)
            .then(middle)
            .then(back)
            .then(inside(workers, perHost, servers, Effect.REPLACE)));
  }

  /** To each worker of a host its part from the others, or back. */
  private static Rounds inside(int workers, int perHost, int servers, Effect effect) {
    return Rounds.of(
        perHost == 1 ? 0 : 1,
        (round, sink) -> {
          for (int distance = 1; distance < perHost; distance++) {
            for (int owner = 0; owner < workers; owner++) {
              int j = owner % perHost;
              int other = owner - j + (j + distance) % perHost;
              boolean in = effect == Effect.REDUCE;
              sink.transfer(in ? other : owner, in ? owner : other, j * servers, servers, effect);
            }
          }
        });
  }

  private static void eachPair(int workers, int perHost, int servers, Pair pair) {
    for (int distance = 0; distance < servers; distance++) {
      for (int j = 0; j < perHost; j++) {
        for (int host = 0; host < workers / perHost; host++) {
          int server = (host + distance) % servers;
          pair.speak(host * perHost + j, server, j * servers + server);
        }
      }
    }
  }

  @FunctionalInterface
  private interface Pair {
    void speak(int worker, int server, int chunk);
  }
}
