package io.collectives.plan;

import java.util.Arrays;
import java.util.SplittableRandom;

/**
 * The order in which each rank has added up its contents of each chunk, for plans in which several
 * ranks complete a chunk, so that all must compute the same sum. It is checked after the sets of
 * contributors, which are then known to be right.
 *
 * <p>A sum is an expression: contributions are its leaves, and each addition is a node with a left
 * and a right operand. An expression is held as a random number that is computed from those of its
 * operands, so that two that differ have the same one with a probability of about 2^-64. No
 * property of the addition is assumed, not even that it is commutative.
 *
 * <p>A value that crosses a link may be rounded (by a narrow wire type), which is written as a node
 * with one operand. Three rules define how a rank combines the values that are reduced into a chunk
 * in a round; the engine follows the same rules:
 *
 * <ul>
 *   <li>If the contributions of all other ranks arrive, each by itself, they are added in the order
 *       of ranks, with this rank's own contribution in its place and rounded as the others get it.
 *   <li>If the rank sends the chunk in that round, its own value is rounded as the others get it,
 *       and the lower rank's value is the left operand.
 *   <li>Otherwise its own value is not rounded, and is the left operand.
 * </ul>
 *
 * <p>The rank that completes a chunk rounds it, so a replacement is the same as at its source.
 */
final class SumOrders extends PlanContents {
  private final long[] leaves;

  /** The sum of all contributions in the order of ranks. */
  private final long inRankOrder;

  /**
   * The number of the last round in which each cell was sent; {@link #reducedIn} is that in which
   * it was reduced into.
   */
  private final int[] sentIn;

  private final int[] reducedIn;

  /** The number of reductions into each cell in that round. */
  private final int[] reductions;

  /** The first complete sum of each chunk that was seen; 0 if none was. */
  private final long[] firstSums;

  SumOrders(Plan plan, LaneChunks laneChunks, Ends ends, long seed) {
    super(plan, laneChunks, ends);
    leaves = new SplittableRandom(seed).longs().filter(leaf -> leaf != 0).limit(ranks).toArray();
    long sum = crossed(leaves[0]);
    for (int rank = 1; rank < ranks; rank++) {
      sum = node(sum, crossed(leaves[rank]));
    }
    inRankOrder = sum;
    int cells = ranks * laneChunks.most();
    sentIn = new int[cells];
    reducedIn = new int[cells];
    reductions = new int[cells];
    firstSums = new long[plan.chunks()];
  }

  @Override
  long ofRank(int rank) {
    return leaves[rank];
  }

  @Override
  void read(int sent, int written, int count, Effect effect) {
    Arrays.fill(sentIn, sent, sent + count, roundNumber);
    for (int cell = written; cell < written + count && effect == Effect.REDUCE; cell++) {
      if (reducedIn[cell] != roundNumber) {
        reducedIn[cell] = roundNumber;
        reductions[cell] = 0;
      }
      reductions[cell]++;
    }
  }

  @Override
  long reduce(long before, long arriving, int from, int to, int chunk) {
    int cell = cell(to, chunk);
    if (reductions[cell] == ranks - 1) {
      return inRankOrder;
    }
    if (sentIn[cell] != roundNumber) {
      return node(before, crossed(arriving));
    }
    return from < to
        ? node(crossed(arriving), crossed(before))
        : node(crossed(before), crossed(arriving));
  }

  @Override
  boolean mayHoldNothing() {
    return false;
  }

  /**
   * Returns whether the sum equals the first complete sum of the chunk, which all ranks must have.
   */
  @Override
  boolean isComplete(long value, int chunk) {
    if (firstSums[chunk] == 0) {
      firstSums[chunk] = value;
    }
    return firstSums[chunk] == value;
  }

  @Override
  String lack(long value, long complete) {
    return "is not the very sum that another rank takes: operands differ in order, or in rounding";
  }

  private static long crossed(long expression) {
    return mix(expression + 0x9e3779b97f4a7c15L);
  }

  private static long node(long left, long right) {
    return mix(mix(left) + 3 * right);
  }

  /** A bijection without a pattern (Stafford's variant 13, as in {@link SplittableRandom}). */
  private static long mix(long value) {
    long mixed = (value ^ value >>> 30) * 0xbf58476d1ce4e5b9L;
    mixed = (mixed ^ mixed >>> 27) * 0x94d049bb133111ebL;
    return mixed ^ mixed >>> 31;
  }
}
