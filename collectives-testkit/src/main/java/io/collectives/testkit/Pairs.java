package io.collectives.testkit;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.IntConsumer;

/**
 * A small set of combinations of many choices that contains every pair of values of two different
 * choices; most bugs need no more than two conditions.
 */
final class Pairs {
  private static final int CANDIDATES = 24;

  private final int[] sizes;
  private final SplittableRandom random;
  private final BitSet uncovered = new BitSet();

  private Pairs(int[] sizes, long seed) {
    this.sizes = sizes;
    this.random = new SplittableRandom(seed);
  }

  /**
   * Covers all pairs.
   *
   * @param sizes the number of values of each choice
   * @return combinations, each with the index of a value for each choice
   */
  static List<int[]> cover(int[] sizes, long seed) {
    return new Pairs(sizes, seed).cover();
  }

  private List<int[]> cover() {
    for (int a = 0; a < sizes.length; a++) {
      for (int b = a + 1; b < sizes.length; b++) {
        for (int i = 0; i < sizes[a] * sizes[b]; i++) {
          uncovered.set(pair(a, i / sizes[b], b, i % sizes[b]));
        }
      }
    }
    List<int[]> combinations = new ArrayList<>();
    while (!uncovered.isEmpty()) {
      int[] best = candidate();
      for (int i = 1; i < CANDIDATES; i++) {
        int[] other = candidate();
        best = gain(other) > gain(best) ? other : best;
      }
      combinations.add(best);
      forEachPair(best, uncovered::clear);
    }
    return combinations;
  }

  /** Returns a random combination with a pair that is not covered yet. */
  private int[] candidate() {
    int[] values = new int[sizes.length];
    for (int i = 0; i < values.length; i++) {
      values[i] = random.nextInt(sizes[i]);
    }
    int pair = uncovered.nextSetBit(random.nextInt(uncovered.length()));
    for (int a = 0; a < sizes.length; a++) {
      for (int b = a + 1; b < sizes.length; b++) {
        int offset = pair - pair(a, 0, b, 0);
        if (offset >= 0 && offset < sizes[a] * sizes[b]) {
          values[a] = offset / sizes[b];
          values[b] = offset % sizes[b];
        }
      }
    }
    return values;
  }

  private int gain(int[] values) {
    int[] gain = {0};
    forEachPair(values, pair -> gain[0] += uncovered.get(pair) ? 1 : 0);
    return gain[0];
  }

  private void forEachPair(int[] values, IntConsumer action) {
    for (int a = 0; a < values.length; a++) {
      for (int b = a + 1; b < values.length; b++) {
        action.accept(pair(a, values[a], b, values[b]));
      }
    }
  }

  /** Numbers the pairs of all choices without gaps. */
  private int pair(int a, int valueOfA, int b, int valueOfB) {
    int first = 0;
    for (int i = 0; i < sizes.length; i++) {
      for (int j = i + 1; j < sizes.length; j++) {
        if (i == a && j == b) {
          return first + valueOfA * sizes[b] + valueOfB;
        }
        first += sizes[i] * sizes[j];
      }
    }
    throw new IllegalArgumentException("no choices " + a + " and " + b);
  }
}
