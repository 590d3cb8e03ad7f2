package io.collectives.torus;

import io.collectives.plan.DirectPlans;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.Rounds;
import java.util.function.IntUnaryOperator;

/**
 * A plan that uses one ring both ways at once: the contribution of a rank to a chunk goes the
 * shorter way round to the chunk's owner, and the sum goes back the way the contribution came (a
 * bidirectional ring as in Ying et al. 2018, section 3.3, with half as many steps).
 *
 * <p>The plan has 2n chunks and 1 lane; rank r owns the chunks 2r and 2r+1, and sends to r+1 and
 * r-1 only. If n is even, the rank opposite the owner is as far away either way: its part of the
 * even chunk goes up and that of the odd one down, so that both ways carry the same. Of 2 ranks
 * each sends the other two frames a round.
 *
 * <p>The sum at rank r is its own part and that of the ranks below, x(r-h) + … + x(r-1) from the
 * left, then that of the ranks above, x(r+h) + … + x(r+1) from the left.
 *
 * <p>Steps: 2 floor(n/2), each half floor(n/2). Bytes: each rank sends 2M(n-1)/n, in each half
 * M(n-1)/n, half of it each way.
 *
 * <p>From, or to, a root two chains of 1 chunk go both ways round: floor(n/2) steps, in which the
 * root of a broadcast sends 2M, and each other rank, as all do in a reduction, at most M.
 */
final class ShortestWayRingPlan {
  private ShortestWayRingPlan() {}

  static Plan of(PlanRequest request) {
    int ranks = request.ranks();
    IntUnaryOperator same = IntUnaryOperator.identity();
    Chains chains = Chains.bothWays(ranks, true, request.root(), same, 0);
    return switch (request.collective()) {
      case ALL_REDUCE -> Plan.of(request, 2 * ranks, reduceScatter(ranks).then(allGather(ranks)));
      case REDUCE_SCATTER -> Plan.of(request, 2 * ranks, reduceScatter(ranks));
      case ALL_GATHER -> Plan.of(request, 2 * ranks, allGather(ranks));
      case BROADCAST -> Plan.of(request, 1, chains.broadcast());
      case REDUCE -> Plan.of(request, 1, chains.reduce());
      case BARRIER, GATHER, SCATTER, ALL_TO_ALL -> DirectPlans.of(request);
    };
  }

  private static Rounds reduceScatter(int ranks) {
    int farthest = ranks / 2;
    return Rounds.of(
        farthest,
        (round, sink) ->
            hops(
                ranks,
                farthest - round,
                (outer, inner, chunk, count) ->
                    sink.transfer(outer, inner, chunk, count, Effect.REDUCE)));
  }

  private static Rounds allGather(int ranks) {
    return Rounds.of(
        ranks / 2,
        (round, sink) ->
            hops(
                ranks,
                round + 1,
                (outer, inner, chunk, count) ->
                    sink.transfer(inner, outer, chunk, count, Effect.REPLACE)));
  }

  /**
   * Lists the hops between the ranks {@code distance} places from an owner and those one place
   * nearer.
   */
  private static void hops(int ranks, int distance, Hop hop) {
    boolean opposite = 2 * distance == ranks;
    for (int side = -1; side <= 1; side += 2) {
      for (int owner = 0; owner < ranks; owner++) {
        int outer = Math.floorMod(owner + side * distance, ranks);
        int inner = Math.floorMod(outer - side, ranks);
        if (opposite) {
          hop.hop(outer, inner, side < 0 ? 2 * owner : 2 * owner + 1, 1);
        } else {
          hop.hop(outer, inner, 2 * owner, 2);
        }
      }
    }
  }

  @FunctionalInterface
  private interface Hop {
    void hop(int outer, int inner, int firstChunk, int chunkCount);
  }
}
