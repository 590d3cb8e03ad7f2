package io.collectives.plan;

/**
 * Two phases of one round each, in which every rank speaks with every owner of a chunk: chunk s is
 * owned by rank s, for each of the first {@code owners} ranks. A reduce-scatter and then an
 * all-gather make an all-reduce: the direct one when every rank is an owner, the parameter server's
 * when some are.
 *
 * <p>The transfers are named by distance: first those between neighbours, then those two places
 * apart, and so on. So at no time do all ranks send to the same one; and rank s, to which rank s +
 * 1 sends first of all and rank s + 2 second, adds in about the order in which frames come. That
 * order is fixed: chunk s is x(s) + x(s+1) + … + x(s-1), from the left.
 */
public final class DirectExchange {
  private DirectExchange() {}

  /**
   * Every rank sends each owner its part: afterwards rank s holds the sum of chunk s.
   *
   * <p>Of M bytes in {@code owners} chunks, an owner sends M(S-1)/S and receives M(n-1)/S; any
   * other rank sends M.
   *
   * @param owners from 1 to {@code ranks}
   */
  public static Rounds reduceScatter(int ranks, int owners) {
    return byDistance(
        ranks, owners, (owner, rank, sink) -> sink.transfer(rank, owner, owner, 1, Effect.REDUCE));
  }

  /**
   * Every owner sends its chunk to every rank: what an owner sent in {@link #reduceScatter} it now
   * receives, and the other way round.
   *
   * @param owners from 1 to {@code ranks}
   */
  public static Rounds allGather(int ranks, int owners) {
    return byDistance(
        ranks, owners, (owner, rank, sink) -> sink.transfer(owner, rank, owner, 1, Effect.REPLACE));
  }

  /**
   * Every rank sends the one chunk to every other: afterwards all hold its sum, which each has
   * taken in the order of ranks. Each rank sends M(n-1) bytes.
   */
  public static Rounds everything(int ranks) {
    return byDistance(
        ranks, ranks, (owner, rank, sink) -> sink.transfer(rank, owner, 0, 1, Effect.REDUCE));
  }

  private static Rounds byDistance(int ranks, int owners, Pair pair) {
    if (owners < 1 || owners > ranks) {
      throw new IllegalArgumentException(
          owners
              + " owners of chunks in a group of "
              + ranks
              + " ranks: 1 to "
              + ranks
              + " can be");
    }
    return Rounds.of(
        ranks == 1 ? 0 : 1,
        (round, sink) -> {
          for (int distance = 1; distance < ranks; distance++) {
            for (int owner = 0; owner < owners; owner++) {
              int rank = owner < ranks - distance ? owner + distance : owner + distance - ranks;
              pair.transfer(owner, rank, sink);
            }
          }
        });
  }

  @FunctionalInterface
  private interface Pair {
    void transfer(int owner, int rank, Transfer.Sink sink);
  }
}
