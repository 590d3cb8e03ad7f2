package io.collectives.engine.run;

import io.collectives.NonFiniteException;

/**
 * Where a number was found that is not finite, as one word that a frame can carry. Of two findings
 * the lower word is the one to be told of: first by rank, then by index; results come after all
 * contributions.
 *
 * <pre>
 *   0 (1 bit), rank (20), or all ones for a result, index (41), what it is (2)
 * </pre>
 */
final class Finding {
  /** Nothing was found. */
  static final long NONE = Long.MAX_VALUE;

  private static final int RANK_SHIFT = 43;
  private static final int INDEX_SHIFT = 2;
  private static final long MOST_INDEX = (1L << RANK_SHIFT - INDEX_SHIFT) - 1;
  private static final int RESULT = (1 << Long.SIZE - 1 - RANK_SHIFT) - 1;
  private static final double[] VALUES = {
    Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY
  };

  private Finding() {}

  /** A number that a rank of the group contributes. */
  static long contribution(int rank, long index, double value) {
    int what = Double.isNaN(value) ? 0 : value > 0 ? 1 : 2;
    return (long) rank << RANK_SHIFT | Math.min(index, MOST_INDEX) << INDEX_SHIFT | what;
  }

  /** A number that has come of finite contributions. */
  static long result(long index, double value) {
    return contribution(RESULT, index, value);
  }

  /** Whether somebody contributed it. */
  static boolean isContribution(long finding) {
    return finding >>> RANK_SHIFT < RESULT;
  }

  /** Whether a finding comes before all that a rank contributes from an index on. */
  static boolean isBefore(long finding, int rank, long index) {
    return finding < contribution(rank, index, Double.NaN);
  }

  /** Whether it can be one in a group of so many ranks. */
  static boolean isPossible(long finding, int ranks, long count) {
    return finding == NONE
        || finding >= 0
            && (finding >>> RANK_SHIFT < ranks || !isContribution(finding))
            && index(finding) < count
            && what(finding) < VALUES.length;
  }

  private static long index(long finding) {
    return finding >>> INDEX_SHIFT & MOST_INDEX;
  }

  private static int what(long finding) {
    return (int) finding & (1 << INDEX_SHIFT) - 1;
  }

  /** What a call that has ended tells of it. */
  static NonFiniteException exception(Call call, long finding) {
    long index = index(finding);
    double value = VALUES[what(finding)];
    int rank = isContribution(finding) ? call.group.worldRank((int) (finding >>> RANK_SHIFT)) : -1;
    return new NonFiniteException(
        call
            + ": element "
            + index
            + (rank < 0
                ? " of the result is " + value + ", though all contributions are finite"
                : " of rank " + rank + " is " + value)
            + "; the call has ended and the group is whole",
        rank,
        call.input.type(),
        index,
        value);
  }
}
