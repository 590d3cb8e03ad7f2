package io.collectives.plan;

/**
 * The plans in which ranks send each chunk straight to its destination: those of {@link
 * io.collectives.Algorithm#direct}, and, for collectives in which passing on chunks gains nothing,
 * also those of the other algorithms.
 *
 * <p>For n ranks and a payload of M bytes (in an all-to-all, M for each rank) the plans have 1
 * lane, and part r is chunk r. Steps and bytes are 0 for one rank.
 *
 * <ul>
 *   <li>all-reduce: n chunks, 2 rounds; each rank sends 2M(n-1)/n.
 *   <li>reduce-scatter, all-gather: n chunks, 1 round; each rank sends M(n-1)/n.
 *   <li>broadcast: n chunks, 2 rounds; the root scatters the parts, then each rank sends its own to
 *       all that lack it. The root sends 2M(n-1)/n, each other rank M(n-2)/n.
 *   <li>reduce: n chunks, 2 rounds; a reduce-scatter, then each rank sends its part to the root.
 *       The root sends M(n-1)/n, each other rank M.
 *   <li>gather, scatter: n chunks, 1 round; each rank but the root sends, or receives, M/n. No rank
 *       ever holds data that it neither contributes nor is to get.
 *   <li>all-to-all: n n chunks, n-1 rounds; in round k rank r sends to r+k+1, so that each rank
 *       sends one chunk and receives one; each rank sends M(n-1)/n. No rank ever holds data that it
 *       neither contributes nor is to get.
 *   <li>barrier: {@link Dissemination}.
 * </ul>
 */
public final class DirectPlans {
  private DirectPlans() {}

  /** Makes the plan of any collective for any number of ranks. */
  public static Plan of(PlanRequest request) {
    int ranks = request.ranks();
    int root = request.root();
    return switch (request.collective()) {
      case ALL_REDUCE ->
          Plan.of(
              request, ranks, reduceScatter(ranks).then(DirectExchange.allGather(ranks, ranks)));
      case BARRIER -> Dissemination.barrier(ranks);
      case REDUCE_SCATTER -> Plan.of(request, ranks, reduceScatter(ranks));
      case ALL_GATHER -> Plan.of(request, ranks, DirectExchange.allGather(ranks, ranks));
      case BROADCAST -> Plan.of(request, ranks, scatter(ranks, root).then(spread(ranks, root)));
      case REDUCE -> Plan.of(request, ranks, reduceScatter(ranks).then(gather(ranks, root)));
      case GATHER -> Plan.of(request, ranks, gather(ranks, root));
      case SCATTER -> Plan.of(request, ranks, scatter(ranks, root));
      case ALL_TO_ALL -> Plan.of(request, Math.multiplyExact(ranks, ranks), pairwise(ranks));
    };
  }

  /**
   * Makes a plan of {@link io.collectives.Algorithm#exchange}: all-reduces and barriers have 1
   * chunk and 1 round, in which each rank sends M(n-1); other plans are those of {@link #of}.
   */
  public static Plan exchange(PlanRequest request) {
    return switch (request.collective()) {
      case ALL_REDUCE, BARRIER -> Plan.of(request, 1, DirectExchange.everything(request.ranks()));
      default -> of(request);
    };
  }

  private static Rounds reduceScatter(int ranks) {
    return DirectExchange.reduceScatter(ranks, ranks);
  }

  private static Rounds gather(int ranks, int root) {
    return once(
        ranks,
        (distance, sink) -> {
          int rank = ahead(root, distance, ranks);
          sink.transfer(rank, root, rank, 1, Effect.REPLACE);
        });
  }

  private static Rounds scatter(int ranks, int root) {
    return once(
        ranks,
        (distance, sink) -> {
          int rank = ahead(root, distance, ranks);
          sink.transfer(root, rank, rank, 1, Effect.REPLACE);
        });
  }

  /** Makes the rounds in which each rank sends its part to all but the root, which has it. */
  private static Rounds spread(int ranks, int root) {
    return once(
        ranks,
        (distance, sink) -> {
          for (int rank = 0; rank < ranks; rank++) {
            int other = ahead(rank, distance, ranks);
            if (other != root) {
              sink.transfer(rank, other, rank, 1, Effect.REPLACE);
            }
          }
        });
  }

  private static Rounds pairwise(int ranks) {
    return Rounds.of(
        ranks - 1,
        (round, sink) -> {
          for (int rank = 0; rank < ranks; rank++) {
            int other = ahead(rank, round + 1, ranks);
            sink.transfer(rank, other, rank * ranks + other, 1, Effect.REPLACE);
          }
        });
  }

  /**
   * Makes one round of transfers listed by distance from 1 to n-1, so that at no time all ranks
   * send to one.
   */
  private static Rounds once(int ranks, Rounds.Round byDistance) {
    return Rounds.of(
        ranks == 1 ? 0 : 1,
        (round, sink) -> {
          for (int distance = 1; distance < ranks; distance++) {
            byDistance.transfers(distance, sink);
          }
        });
  }

  private static int ahead(int rank, int distance, int ranks) {
    return rank < ranks - distance ? rank + distance : rank + distance - ranks;
  }
}
