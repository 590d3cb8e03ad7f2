package io.collectives.plan;

import io.collectives.Collective;

/**
 * The start and the end of a collective: the chunks that each rank holds before the first round, as
 * its contribution, and those that it must hold after the last.
 *
 * @param contributors the number of ranks, the first ones, that contribute to an all-reduce and get
 *     its result
 * @param chunksOfPart the number of chunks of the part of a rank (in an all-to-all, of a pair); 0
 *     where the payload is not distributed over the ranks
 */
record Ends(Collective collective, int ranks, int root, int contributors, int chunksOfPart) {

  /**
   * Returns the ends of a plan, whose number of chunks and root are checked.
   *
   * @throws InvalidPlanException if the chunks cannot be distributed over the ranks, or there is no
   *     such root
   */
  static Ends of(Plan plan) {
    Collective collective = plan.collective();
    int ranks = plan.ranks();
    int root = plan.root();
    if (root < 0 || root >= ranks || root > 0 && !collective.rooted()) {
      throw new InvalidPlanException(
          collective.rooted()
              ? collective + " with root " + root + ", but ranks are 0 to " + (ranks - 1)
              : collective + " with root " + root + ": it has none, which is written as 0");
    }
    long parts =
        switch (collective) {
          case ALL_REDUCE, BARRIER, BROADCAST, REDUCE -> 0;
          case REDUCE_SCATTER, ALL_GATHER, GATHER, SCATTER -> ranks;
          case ALL_TO_ALL -> (long) ranks * ranks;
        };
    if (collective == Collective.BARRIER && plan.chunks() != 1) {
      throw new InvalidPlanException("a barrier of " + plan.chunks() + " chunks: it has 1");
    }
    if (parts > 0 && plan.chunks() % parts != 0) {
      throw new InvalidPlanException(
          collective
              + " of "
              + ranks
              + " ranks in "
              + plan.chunks()
              + " chunks: a multiple of "
              + parts
              + " is needed, so that each part has as many");
    }
    int contributors = plan.contributors();
    boolean mayServe = collective == Collective.ALL_REDUCE;
    if (contributors < 1 || contributors > ranks || contributors < ranks && !mayServe) {
      throw new InvalidPlanException(
          collective
              + " of "
              + ranks
              + " ranks, of which "
              + contributors
              + " contribute: "
              + (mayServe ? "must be from 1 to all" : "all must, but in an all-reduce"));
    }
    int chunksOfPart = parts == 0 ? 0 : (int) (plan.chunks() / parts);
    return new Ends(collective, ranks, root, contributors, chunksOfPart);
  }

  /** Returns whether a rank neither contributes nor gets the result. */
  boolean serves(int rank) {
    return rank >= contributors;
  }

  /** Returns whether a rank contributes to a chunk. */
  boolean holds(int rank, int chunk) {
    return switch (collective) {
      case ALL_REDUCE -> !serves(rank);
      case REDUCE_SCATTER, REDUCE, BARRIER -> true;
      case BROADCAST, SCATTER -> rank == root;
      case ALL_GATHER, GATHER -> rank == chunk / chunksOfPart;
      case ALL_TO_ALL -> rank == chunk / chunksOfPart / ranks;
    };
  }

  /** Returns whether a rank must end with all contributions to a chunk. */
  boolean needs(int rank, int chunk) {
    return switch (collective) {
      case ALL_REDUCE -> !serves(rank);
      case ALL_GATHER, BROADCAST, BARRIER -> true;
      case REDUCE, GATHER -> rank == root;
      case REDUCE_SCATTER, SCATTER -> rank == chunk / chunksOfPart;
      case ALL_TO_ALL -> rank == chunk / chunksOfPart % ranks;
    };
  }
}
