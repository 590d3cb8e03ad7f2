package io.collectives.training.exact;

/**
 * Sums of squares of the elements of a layer, whose bits depend on the elements only: blocks of 64
 * elements from the layer's first one on are each added up in one order, and the blocks {@linkplain
 * ExactSums exactly}. So all ranks get the same norm, whatever the distribution of the blocks.
 */
public final class Squares {
  /** The elements of a block: ranks that share a layer cut it at multiples of it. */
  public static final int BLOCK = 64;

  private Squares() {}

  /**
   * Adds the squares of elements {@code from <= i < to}, which begin with a block.
   *
   * @param sums sums of {@linkplain ExactSums#ofSquares squares}
   * @param index the index of the sum
   */
  public static void add(ExactSums sums, int index, float[] values, int from, int to) {
    int at = from;
    for (; at <= to - BLOCK; at += BLOCK) {
      sums.add(index, block(values, at));
    }
    if (at < to) {
      double rest = 0;
      for (; at < to; at++) {
        rest += (double) values[at] * values[at];
      }
      sums.add(index, rest);
    }
  }

  /** Adds in four chains, so that one addition need not wait for the one before. */
  private static double block(float[] values, int from) {
    double a = 0;
    double b = 0;
    double c = 0;
    double d = 0;
    for (int i = from; i < from + BLOCK; i += 4) {
      a += (double) values[i] * values[i];
      b += (double) values[i + 1] * values[i + 1];
      c += (double) values[i + 2] * values[i + 2];
      d += (double) values[i + 3] * values[i + 3];
    }
    return (a + b) + (c + d);
  }

  /** Returns the Euclidean norm of elements {@code from <= i < to}, a whole layer. */
  public static double norm(float[] values, int from, int to) {
    ExactSums sums = ExactSums.ofSquares(1);
    add(sums, 0, values, from, to);
    return Math.sqrt(sums.get(0));
  }
}
