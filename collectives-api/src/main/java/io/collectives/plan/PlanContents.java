package io.collectives.plan;

import java.util.Arrays;
import java.util.SplittableRandom;

/**
 * What every chunk of every rank holds while {@link PlanVerifier} walks through a plan, one {@code
 * long} each: the set of its contributors, or a sum that stands for it.
 *
 * <p>A round is first read and then applied, so that every transfer carries what its chunks held
 * when the round began.
 */
abstract class PlanContents {
  final int ranks;
  private final int chunks;
  private final long[] held;

  /**
   * Four values for each transfer of the round: from, to, first chunk, and how many (negative for
   * REPLACE).
   */
  private int[] moves = new int[4 * 1024];

  private int moveValues;

  /** What the chunks of the round's transfers held when it began, in the order of the transfers. */
  private long[] carried = new long[1024];

  private int carriedCount;

  int lane;
  int round;

  PlanContents(Plan plan) {
    ranks = plan.ranks();
    chunks = plan.chunks();
    held = new long[ranks * chunks];
  }

  /** What a rank's chunk holds before the first round. */
  abstract long ofRank(int rank);

  /** What it must hold after the last. */
  abstract long complete();

  /** What a chunk holds after a reduction, or an error if it must not be. */
  abstract long reduce(long before, long arriving, int from, int to, int chunk);

  /**
   * What is wrong with {@code value}, which is not complete, as {@code lacks the contribution of
   * rank 3}.
   */
  abstract String lack(long value);

  final void start() {
    for (int rank = 0; rank < ranks; rank++) {
      Arrays.fill(held, rank * chunks, (rank + 1) * chunks, ofRank(rank));
    }
  }

  final void round(int lane, int round) {
    this.lane = lane;
    this.round = round;
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
    System.arraycopy(held, from * chunks + firstChunk, carried, carriedCount, chunkCount);
    carriedCount += chunkCount;
  }

  /** Applies the transfers that the round has read, in their order. */
  final void apply() {
    int next = 0;
    for (int i = 0; i < moveValues; i += 4) {
      int from = moves[i];
      int to = moves[i + 1];
      int chunk = moves[i + 2];
      int count = moves[i + 3];
      int cell = to * chunks + chunk;
      for (int end = next + Math.abs(count); next < end; next++, chunk++, cell++) {
        held[cell] =
            count < 0
                ? replacement(carried[next], from, to, chunk)
                : reduce(held[cell], carried[next], from, to, chunk);
      }
    }
  }

  final void end() {
    long complete = complete();
    for (int cell = 0; cell < held.length; cell++) {
      if (held[cell] != complete) {
        throw new InvalidPlanException(
            "at the end chunk "
                + cell % chunks
                + " of rank "
                + cell / chunks
                + " "
                + lack(held[cell]));
      }
    }
  }

  private long replacement(long arriving, int from, int to, int chunk) {
    if (arriving != complete()) {
      String fault = " as a replacement, but it " + lack(arriving);
      throw InvalidPlanException.of(lane, round, from, to, chunk, fault);
    }
    return arriving;
  }

  private static int larger(int length, int more) {
    return Math.addExact(length, Math.max(length / 2, more));
  }

  /** Sets of up to 64 contributors as bits; each may come to a chunk once. */
  static final class Once extends PlanContents {
    private final Owners owners;

    Once(Plan plan) {
      super(plan);
      owners = new Owners(plan.chunks());
    }

    @Override
    long ofRank(int rank) {
      return 1L << rank;
    }

    @Override
    long complete() {
      return -1L >>> (Long.SIZE - ranks);
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
      if (after == complete()) {
        owners.own(this, from, to, chunk);
      }
      return after;
    }

    @Override
    String lack(long value) {
      int missing = Long.numberOfTrailingZeros(complete() & ~value);
      return "lacks the contribution of rank " + missing;
    }
  }

  /**
   * Sums of a random number for each contributor. A chunk that holds one of them twice, or lacks
   * one, has the right sum with a probability of about 2^-64.
   */
  static final class Sums extends PlanContents {
    private final long seed;
    private final long[] tags;
    private final long complete;
    private final Owners owners;

    Sums(Plan plan, long seed) {
      super(plan);
      this.seed = seed;
      tags = new SplittableRandom(seed).longs(ranks).toArray();
      complete = Arrays.stream(tags).sum();
      owners = new Owners(plan.chunks());
    }

    @Override
    long ofRank(int rank) {
      return tags[rank];
    }

    @Override
    long complete() {
      return complete;
    }

    @Override
    long reduce(long before, long arriving, int from, int to, int chunk) {
      long after = before + arriving;
      if (after == complete) {
        owners.own(this, from, to, chunk);
      }
      return after;
    }

    @Override
    String lack(long value) {
      return "does not hold every contribution exactly once (sums of tags, seed " + seed + ")";
    }
  }

  /**
   * Which of 64 ranks, from {@code first} on, a rank knows to have entered; it may hear of them
   * often.
   */
  static final class Entered extends PlanContents {
    private final int first;
    private final long complete;

    Entered(Plan plan, int first) {
      super(plan);
      this.first = first;
      complete = -1L >>> (Long.SIZE - Math.min(Long.SIZE, ranks - first));
    }

    @Override
    long ofRank(int rank) {
      return rank >= first && rank - first < Long.SIZE ? 1L << (rank - first) : 0;
    }

    @Override
    long complete() {
      return complete;
    }

    @Override
    long reduce(long before, long arriving, int from, int to, int chunk) {
      return before | arriving;
    }

    @Override
    String lack(long value) {
      return "does not know of rank " + (first + Long.numberOfTrailingZeros(complete & ~value));
    }
  }

  /** The rank at which each chunk became complete by a reduction. */
  private static final class Owners {
    private final int[] ownerOfChunk;

    Owners(int chunks) {
      ownerOfChunk = new int[chunks];
      Arrays.fill(ownerOfChunk, -1);
    }

    void own(PlanContents contents, int from, int to, int chunk) {
      int owner = ownerOfChunk[chunk];
      if (owner >= 0) {
        String fault = ", which completes it, as rank " + owner + " did: a chunk has one owner";
        throw InvalidPlanException.of(contents.lane, contents.round, from, to, chunk, fault);
      }
      ownerOfChunk[chunk] = to;
    }
  }
}
