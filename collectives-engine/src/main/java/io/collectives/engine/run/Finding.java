package io.collectives.engine.run;

/**
 * The position of a number that is not finite, as one word that a frame can carry. Of two findings
 * the lower word is the one to be told of: first by rank, then by index; results come after all
 * contributions.
 *
 * <pre>
 *   0 (1 bit), rank (20), or all ones for a result, index (41), what it is (2)
 * </pre>
 */
final class Finding {
  /** The word for no finding. */
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

  /** Returns whether the number was in a contribution. */
  static boolean isContribution(long finding) {
    return finding >>> RANK_SHIFT < RESULT;
  }

  /** Returns whether a finding comes before all that a rank contributes from an index on. */
  static boolean isBefore(long finding, int rank, long index) {
    return finding < contribution(rank, index, Double.NaN);
  }

  /** Returns whether it can be a finding in a group of so many ranks. */
  static boolean isPossible(long finding, int ranks, long count) {
    return finding == NONE
        || finding >= 0
            && (finding >>> RANK_SHIFT < ranks || !isContribution(finding))
            && index(finding) < count
            && what(finding) < VALUES.length;
  }

  /** The element that it is about. */
  static long index(long finding) {
    return finding >>> INDEX_SHIFT & MOST_INDEX;
  }

  /** The rank of the group that contributed it, if one did. */
  static int rank(long finding) {
    return (int) (finding >>> RANK_SHIFT);
  }

  /** Returns the number that was found. */
  static double value(long finding) {
    return VALUES[what(finding)];
  }

  private static int what(long finding) {
    return (int) finding & (1 << INDEX_SHIFT) - 1;
  }
}
