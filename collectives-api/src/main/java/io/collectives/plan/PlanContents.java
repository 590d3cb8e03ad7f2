package io.collectives.plan;

import io.collectives.Collective;
import java.util.Arrays;
import java.util.SplittableRandom;

/**
 * The contents of every chunk of every rank while {@link PlanVerifier} walks through a plan. They
 * are one {@code long} each: the set of the contributors, or a sum that stands for it. Lanes are
 * walked through one after the other, so only the chunks of one are kept at a time.
 *
 * <p>A round is first read and then applied, so that every transfer carries what its chunks held
 * when the round began.
 */
abstract class PlanContents {
  /** The contents of a chunk to which no rank has contributed. */
  private static final long NOTHING = 0;

  final int ranks;
  private final LaneChunks laneChunks;
  private final int cellsOfRank;
  private final Ends ends;

  /** The contents of the lane's chunks at each rank. */
  private final long[] held;

  /** All contributions to each chunk. */
  private final long[] complete;

  /**
   * Four values for each transfer of the round: from, to, first chunk, and how many (negative for
   * REPLACE).
   */
  private int[] moves = new int[4 * 1024];

  private int moveValues;

  /**
   * The contents of the chunks of the round's transfers when it began, in the order of the
   * transfers.
   */
  private long[] carried = new long[1024];

  private int carriedCount;

  int lane;
  int round;

  /** The number of the round, from 1, counted over all lanes. */
  int roundNumber;

  /** The number of chunks of the transfer that is being applied. */
  int chunksOfMove;

  PlanContents(Plan plan, LaneChunks laneChunks, Ends ends) {
    ranks = plan.ranks();
    this.laneChunks = laneChunks;
    cellsOfRank = laneChunks.most();
    this.ends = ends;
    held = new long[ranks * cellsOfRank];
    complete = new long[plan.chunks()];
  }

  /** Returns the value that stands for the contribution of a rank. */
  abstract long ofRank(int rank);

  /**
   * Returns the contents of a chunk after a reduction, or throws if the reduction breaks a rule.
   */
  abstract long reduce(long before, long arriving, int from, int to, int chunk);

  /** Returns whether a rank may send, or reduce into, a chunk without contents. */
  abstract boolean mayHoldNothing();

  /**
   * Describes the fault of {@code value}, which is not {@code complete}, in words such as {@code
   * lacks the contribution of rank 3}.
   */
  abstract String lack(long value, long complete);

  /**
   * Returns whether several ranks complete one of the chunks by a reduction; then {@link SumOrders}
   * must prove that they compute the same sum.
   */
  boolean hasSeveralOwners() {
    return false;
  }

  /** Prepares for the first round of a lane. */
  final void start(int lane) {
    int[] chunks = laneChunks.of(lane);
    for (int rank = 0; rank < ranks; rank++) {
      long contribution = ofRank(rank);
      for (int place = 0; place < chunks.length; place++) {
        boolean holds = ends.holds(rank, chunks[place]);
        held[rank * cellsOfRank + place] = holds ? contribution : NOTHING;
        complete[chunks[place]] += holds ? contribution : NOTHING;
      }
    }
  }

  /** Returns all contributions to a chunk. */
  final long complete(int chunk) {
    return complete[chunk];
  }

  final void round(int lane, int round) {
    this.lane = lane;
    this.round = round;
    roundNumber++;
    moveValues = 0;
    carriedCount = 0;
  }

  /** Reads a transfer whose ranks and chunks are known to be valid. */
  final void transfer(int from, int to, int firstChunk, int chunkCount, Effect effect) {
    if (moveValues + 4 > moves.length) {
      moves = Arrays.copyOf(moves, larger(moves.length, 4));
    }
    moves[moveValues++] = from;
    moves[moveValues++] = to;
    moves[moveValues++] = firstChunk;
    moves[moveValues++] = effect == Effect.REPLACE ? -chunkCount : chunkCount;
    if (carriedCount + chunkCount > carried.length) {
      carried = Arrays.copyOf(carried, larger(carried.length, chunkCount));
    }
    int sent = cell(from, firstChunk);
    System.arraycopy(held, sent, carried, carriedCount, chunkCount);
    carriedCount += chunkCount;
    read(sent, cell(to, firstChunk), chunkCount, effect);
  }

  /**
   * Notes a transfer of the round from some cells to others, where a cell is a chunk of a rank; all
   * transfers of a round are noted before any of them is applied.
   */
  void read(int sent, int written, int count, Effect effect) {}

  /** Applies the transfers that the round has read, in their order. */
  final void apply() {
    int next = 0;
    for (int i = 0; i < moveValues; i += 4) {
      int from = moves[i];
      int to = moves[i + 1];
      int chunk = moves[i + 2];
      int count = moves[i + 3];
      int cell = cell(to, chunk);
      chunksOfMove = Math.abs(count);
      for (int end = next + Math.abs(count); next < end; next++, chunk++, cell++) {
        long arriving = carried[next];
        if (arriving == NOTHING && !mayHoldNothing()) {
          throw InvalidPlanException.of(lane, round, from, to, chunk, ", but holds nothing of it");
        }
        held[cell] =
            count < 0
                ? replacement(arriving, from, to, chunk)
                : reduction(held[cell], arriving, from, to, chunk);
      }
    }
  }

  /** Checks the contents after the last round of a lane. */
  final void end(int lane) {
    for (int rank = 0; rank < ranks; rank++) {
      for (int chunk : laneChunks.of(lane)) {
        long value = held[cell(rank, chunk)];
        if (ends.needs(rank, chunk) && !isComplete(value, chunk)) {
          throw new InvalidPlanException(
              "at the end chunk "
                  + chunk
                  + " of rank "
                  + rank
                  + " "
                  + lack(value, complete[chunk]));
        }
      }
    }
  }

  /** Returns whether the value is complete: a rank may end with it, and it may replace others. */
  boolean isComplete(long value, int chunk) {
    return value == complete[chunk];
  }

  final int cell(int rank, int chunk) {
    return rank * cellsOfRank + laneChunks.place(chunk);
  }

  private long replacement(long arriving, int from, int to, int chunk) {
    if (!isComplete(arriving, chunk)) {
      String fault = " as a replacement, but it " + lack(arriving, complete[chunk]);
      throw InvalidPlanException.of(lane, round, from, to, chunk, fault);
    }
    return arriving;
  }

  private long reduction(long before, long arriving, int from, int to, int chunk) {
    if (before == NOTHING && !mayHoldNothing() && !ends.serves(to)) {
      String fault = " to be reduced, but it holds nothing to reduce it with";
      throw InvalidPlanException.of(lane, round, from, to, chunk, fault);
    }
    return reduce(before, arriving, from, to, chunk);
  }

  private static int larger(int length, int more) {
    return Math.addExact(length, Math.max(length / 2, more));
  }

  /**
   * Contents that are sets of up to 64 contributors as bits; each contributor may reach a chunk
   * once.
   */
  static final class Once extends PlanContents {
    private final Owners owners;

    Once(Plan plan, LaneChunks laneChunks, Ends ends) {
      super(plan, laneChunks, ends);
      owners = new Owners(plan);
    }

    @Override
    boolean hasSeveralOwners() {
      return owners.several;
    }

    @Override
    long ofRank(int rank) {
      return 1L << rank;
    }

    @Override
    boolean mayHoldNothing() {
      return false;
    }

    @Override
    long reduce(long before, long arriving, int from, int to, int chunk) {
      long twice = before & arriving;
      if (twice != 0) {
        int contributor = Long.numberOfTrailingZeros(twice);
        String fault = ", which already holds the contribution of rank " + contributor;
        throw InvalidPlanException.of(lane, round, from, to, chunk, fault);
      }
      long after = before | arriving;
      owners.reduced(this, after, from, to, chunk);
      return after;
    }

    @Override
    String lack(long value, long complete) {
      int missing = Long.numberOfTrailingZeros(complete & ~value);
      return "lacks the contribution of rank " + missing;
    }
  }

  /**
   * Contents that are sums of a random number for each contributor. A chunk that holds one of them
   * twice, or lacks one, has the right sum with a probability of about 2^-64.
   */
  static final class Sums extends PlanContents {
    private final long seed;
    private final long[] tags;
    private final Owners owners;

    Sums(Plan plan, LaneChunks laneChunks, Ends ends, long seed) {
      super(plan, laneChunks, ends);
      this.seed = seed;
      tags = new SplittableRandom(seed).longs().filter(tag -> tag != 0).limit(ranks).toArray();
      owners = new Owners(plan);
    }

    @Override
    boolean hasSeveralOwners() {
      return owners.several;
    }

    @Override
    long ofRank(int rank) {
      return tags[rank];
    }

    @Override
    boolean mayHoldNothing() {
      return false;
    }

    @Override
    long reduce(long before, long arriving, int from, int to, int chunk) {
      long after = before + arriving;
      owners.reduced(this, after, from, to, chunk);
      return after;
    }

    @Override
    String lack(long value, long complete) {
      return "does not hold every contribution exactly once (sums of tags, seed " + seed + ")";
    }
  }

  /**
   * Contents that are sets of those of 64 ranks, from {@code first} on, that are known to have
   * entered; a rank may learn of them more than once.
   */
  static final class Entered extends PlanContents {
    private final int first;

    Entered(Plan plan, LaneChunks laneChunks, Ends ends, int first) {
      super(plan, laneChunks, ends);
      this.first = first;
    }

    @Override
    long ofRank(int rank) {
      return rank >= first && rank - first < Long.SIZE ? 1L << (rank - first) : 0;
    }

    /** A rank may send even if it knows of none of these 64, because it has entered itself. */
    @Override
    boolean mayHoldNothing() {
      return true;
    }

    @Override
    long reduce(long before, long arriving, int from, int to, int chunk) {
      return before | arriving;
    }

    @Override
    String lack(long value, long complete) {
      return "does not know of rank " + (first + Long.numberOfTrailingZeros(complete & ~value));
    }
  }

  /** The ranks at which chunks became complete by a reduction. */
  private static final class Owners {
    private final boolean maySeveral;

    /** The first owner of each chunk. */
    private final int[] ownerOfChunk;

    /** True for chunks that have more than one owner. */
    private final boolean[] shared;

    /** True for chunks that were reduced together with others. */
    private final boolean[] withOthers;

    /** True if any chunk has several owners. */
    private boolean several;

    Owners(Plan plan) {
      maySeveral =
          plan.collective() == Collective.ALL_REDUCE && plan.contributors() == plan.ranks();
      ownerOfChunk = new int[plan.chunks()];
      Arrays.fill(ownerOfChunk, -1);
      shared = new boolean[plan.chunks()];
      withOthers = new boolean[plan.chunks()];
    }

    void reduced(PlanContents contents, long after, int from, int to, int chunk) {
      boolean completes = contents.isComplete(after, chunk);
      int owner = ownerOfChunk[chunk];
      withOthers[chunk] |= contents.chunksOfMove > 1;
      shared[chunk] |= completes && owner >= 0;
      several |= shared[chunk];
      String fault = null;
      if (owner >= 0 && !maySeveral) {
        fault =
            completes
                ? ", which completes it, as rank " + owner + " did: a chunk has one owner"
                : " to be reduced, but it is complete at rank " + owner + " already";
      } else if (shared[chunk] && withOthers[chunk]) {
        fault = ", which several ranks complete: none may be sent it together with other chunks";
      }
      if (fault != null) {
        throw InvalidPlanException.of(contents.lane, contents.round, from, to, chunk, fault);
      }
      if (completes && owner < 0) {
        ownerOfChunk[chunk] = to;
      }
    }
  }
}
