package io.collectives.torus;

import io.collectives.plan.DirectPlans;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.Rounds;
import io.collectives.plan.Transfer;

/**
 * A plan of recursive halving, then doubling: in each round of the reduce-scatter a rank exchanges
 * with a partner half of the data that both still hold, first with the partner half of the ranks
 * away and last with its neighbour; the all-gather goes the same way back (Rabenseifner 2004;
 * Thakur, Rabenseifner and Gropp 2005).
 *
 * <p>With p the largest power of two up to n, it has p chunks and 1 lane; rank r of the first p
 * owns chunk r, and its partners are r XOR p/2, …, r XOR 1. Each of the n-p excess ranks p+i first
 * sends all that it has to rank i and last receives the whole result from it.
 *
 * <p>A rank adds the sums of its partners to its own contribution in the order of rounds; each of
 * these sums was added up in the same way.
 *
 * <p>Steps: 2 log2 p, and 2 more if n is no power of two. Bytes: each of the first p ranks sends
 * 2M(p-1)/p, which is 2M(n-1)/n if n is p; those with an excess rank send M more, and an excess
 * rank sends M.
 *
 * <p>A reduce-scatter or an all-gather by itself has n chunks, of which rank r ends or starts with
 * chunk r. Rank i works for the excess rank p+i, too, so that partners exchange two ranges of
 * chunks, in one frame each. Steps: log2 p, and 2 more if n is no power of two. Bytes: if n is p,
 * each rank sends M(n-1)/n. If not, in a reduce-scatter each of the first p sends M(n-1)/n and an
 * excess rank M; in an all-gather an excess rank sends M/n, and each other one the parts of the
 * blocks of 1, 2, 4, …, p/2 of the first p, with their excess ranks, that it is in, and M(n-1)/n
 * more if it has an excess rank itself.
 *
 * <p>A broadcast or reduction is that of a {@link BinomialTree}. Shape: 1 chunk, 1 lane. Steps:
 * ceil(log2 n). Bytes: a broadcast's root sends ceil(log2 n) M, a rank of a reduction M.
 */
final class HalvingDoublingPlan {
  private HalvingDoublingPlan() {}

  static Plan of(PlanRequest request) {
    int ranks = request.ranks();
    BinomialTree tree = new BinomialTree(ranks, request.root());
    Cube cube = new Cube(ranks, Integer.highestOneBit(ranks));
    return switch (request.collective()) {
      case ALL_REDUCE -> Plan.of(request, cube.core, cube.allReduce());
      case REDUCE_SCATTER -> Plan.of(request, ranks, cube.reduceScatter());
      case ALL_GATHER -> Plan.of(request, ranks, cube.allGather());
      case BROADCAST -> Plan.of(request, 1, tree.broadcast());
      case REDUCE -> Plan.of(request, 1, tree.reduce());
      case BARRIER, GATHER, SCATTER, ALL_TO_ALL -> DirectPlans.of(request);
    };
  }

  /**
   * The ranks as corners of a hypercube, and the excess ranks.
   *
   * @param core the largest power of two up to {@code ranks}
   */
  private record Cube(int ranks, int core) {

    Rounds allReduce() {
      return excess((rank, extra, s) -> s.transfer(extra, rank, 0, core, Effect.REDUCE))
          .then(halving(false))
          .then(doubling(false))
          .then(excess((rank, extra, s) -> s.transfer(rank, extra, 0, core, Effect.REPLACE)));
    }

    Rounds reduceScatter() {
      return excess((rank, extra, s) -> s.transfer(extra, rank, 0, ranks, Effect.REDUCE))
          .then(halving(true))
          .then(excess((rank, extra, s) -> s.transfer(rank, extra, extra, 1, Effect.REPLACE)));
    }

    Rounds allGather() {
      return excess((rank, extra, s) -> s.transfer(extra, rank, extra, 1, Effect.REPLACE))
          .then(doubling(true))
          .then(
              excess(
                  (rank, extra, s) -> {
                    s.transfer(rank, extra, 0, extra, Effect.REPLACE);
                    if (extra + 1 < ranks) {
                      s.transfer(rank, extra, extra + 1, ranks - extra - 1, Effect.REPLACE);
                    }
                  }));
    }

    private Rounds halving(boolean withExcess) {
      return Rounds.of(
          Integer.numberOfTrailingZeros(core),
          (round, sink) -> {
            int distance = core >> (round + 1);
            for (int rank = 0; rank < core; rank++) {
              int partner = rank ^ distance;
              int block = partner & -distance;
              send(rank, partner, block, distance, withExcess, Effect.REDUCE, sink);
            }
          });
    }

    private Rounds doubling(boolean withExcess) {
      return Rounds.of(
          Integer.numberOfTrailingZeros(core),
          (round, sink) -> {
            int distance = 1 << round;
            for (int rank = 0; rank < core; rank++) {
              int block = rank & -distance;
              send(rank, rank ^ distance, block, distance, withExcess, Effect.REPLACE, sink);
            }
          });
    }

    /** Sends the chunks of a block of the core's ranks and, if asked for, of their excess ranks. */
    private void send(
        int from,
        int to,
        int block,
        int count,
        boolean withExcess,
        Effect effect,
        Transfer.Sink sink) {
      sink.transfer(from, to, block, count, effect);
      int extras = Math.min(count, ranks - core - block);
      if (withExcess && extras > 0) {
        sink.transfer(from, to, core + block, extras, effect);
      }
    }

    private Rounds excess(Pair pair) {
      return Rounds.of(
          ranks == core ? 0 : 1,
          (round, sink) -> {
            for (int rank = 0; rank < ranks - core; rank++) {
              pair.transfer(rank, core + rank, sink);
            }
          });
    }
  }
}
