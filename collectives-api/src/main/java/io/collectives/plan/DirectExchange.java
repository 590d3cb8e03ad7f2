package io.collectives.plan;

/**
 * Two phases of one round each, in which every rank exchanges data with every owner of a chunk:
 * rank s owns chunk s, for each of the first {@code owners} ranks. A reduce-scatter and then an
 * all-gather make an all-reduce: the direct one when every rank is an owner, that of parameter
 * servers when some are.
 *
 * <p>The transfers are listed by distance: first those between neighbours, then those two places
 * apart, and so on. So at no time do all ranks send to the same one; and rank s, to which rank s +
 * 1 sends first and rank s + 2 second, adds in about the order in which frames arrive. That order
 * is fixed: chunk s is x(s) + x(s+1) + … + x(s-1), from the left.
 */
public final class DirectExchange {
  private DirectExchange() {}

  /**
   * Makes the rounds in which every rank sends each owner its chunk: afterwards rank s holds the
   * sum of chunk s.
   *
   * <p>Of M bytes in {@code owners} chunks, an owner sends M(S-1)/S and receives M(n-1)/S; any
   * other rank sends M.
   *
   * @param owners the number of owners, from 1 to {@code ranks}
   */
  public static Rounds reduceScatter(int ranks, int owners) {
    return byDistance(
        ranks, owners, (owner, rank, sink) -> sink.transfer(rank, owner, owner, 1, Effect.REDUCE));
  }

  /**
   * Makes the rounds in which every owner sends its chunk to every rank: its transfers are those of
   * {@link #reduceScatter} in the opposite direction.
   *
   * @param owners the number of owners, from 1 to {@code ranks}
   */
  public static Rounds allGather(int ranks, int owners) {
    return byDistance(
        ranks, owners, (owner, rank, sink) -> sink.transfer(owner, rank, owner, 1, Effect.REPLACE));
  }

  /**
   * Makes the rounds in which every rank sends the only chunk to every other: afterwards all ranks
   * hold its sum, which each has computed in the order of ranks. Each rank sends M(n-1) bytes.
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
