package io.collectives.bench.accuracy;

import io.collectives.bench.model.Values;
import java.util.Random;

/**
 * The contributions of ranks: numbers of a normal distribution with mean 0 and deviation 1, each
 * rank's own, which are the same in each step but for noise. They are a pure function of seed,
 * step, rank and place, the same on every JDK.
 *
 * @param seed of all numbers
 * @param noise the deviation of what is added in each step, 0 for none
 */
public record Contributions(long seed, double noise) {
  private static final int EVERY_STEP = -1;

  /** Checks the noise. */
  public Contributions {
    if (!(noise >= 0 && noise <= 100)) {
      throw new IllegalArgumentException("noise " + noise + ": must be from 0 to 100");
    }
  }

  /** Fills in the contributions of a rank to {@code count} elements of a chunk, its first ones. */
  void fill(Values values, int at, int count, int step, int rank, int chunk) {
    Random always = random(EVERY_STEP, rank, chunk);
    Random now = random(step, rank, chunk);
    for (int i = 0; i < count; i++) {
      double value = always.nextGaussian();
      values.set(at + i, noise == 0 ? value : value + noise * now.nextGaussian());
    }
  }

  /** Seeds that are close to each other give beginnings that are, so theirs are mixed. */
  private Random random(int step, int rank, int chunk) {
    return new Random(mixed(mixed(mixed(mixed(seed) + step) + rank) + chunk));
  }

  private static long mixed(long value) {
    long z = value + 0x9e37_79b9_7f4a_7c15L;
    z = (z ^ z >>> 30) * 0xbf58_476d_1ce4_e5b9L;
    z = (z ^ z >>> 27) * 0x94d0_49bb_1331_11ebL;
    return z ^ z >>> 31;
  }
}
