package io.collectives.bench.model;

import java.util.Arrays;

/**
 * Gradients that look like a model's: random signs, magnitudes that are roughly log-normal around
 * 0.001 times a factor of each tensor, one zero in 256. Every value is a pure function of (seed,
 * step, rank, tensor, index), so that any rank can make every other's.
 *
 * <p>The magnitude is 2^x with x nearly normal (the sum of four uniform numbers, standard deviation
 * 2.5), where 2^x is taken by writing x into the exponent and mantissa bits of a float: a power of
 * two is exact, between two of them it is a line.
 *
 * <p>The loop calculates with ints, whose products processors take several at a time, and without
 * branches, so that the JVM makes vector instructions of it. Its multipliers are those of lowbias32
 * (C. Wellons, "Prospecting for hash functions", 2018).
 */
public final class Gradients {
  private static final long GOLDEN = 0x9E3779B97F4A7C15L;

  /** Four fields of 13 bits; the mean of their sum. */
  private static final int MEAN = 4 * 8191 / 2;

  /** Turns the sum's standard deviation of 4,730 into 2.5 octaves of 2^23. */
  private static final int SPREAD = 4_434;

  /** The states of as many elements in turn, less that of the first one. */
  private static final int[] STATES = new int[1024];

  static {
    Arrays.setAll(STATES, i -> i * (int) GOLDEN);
  }

  private final long seed;
  private final int[] bits = new int[STATES.length];

  /** Gradients of a run, for one thread. */
  public Gradients(long seed) {
    this.seed = seed;
  }

  /**
   * Writes a part of a tensor's gradients.
   *
   * @param first the index in the tensor of the first element to write
   * @param to receives {@code count} elements from index {@code offset} on
   */
  public void fill(int step, int rank, int tensor, int first, float[] to, int offset, int count) {
    long stream = mix(mix(mix(mix(seed) + step) + rank) + tensor);
    int middle = middle(tensor);
    for (int done = 0; done < count; done += STATES.length) {
      int length = Math.min(STATES.length, count - done);
      int state = (int) stream + (first + done) * (int) GOLDEN;
      draw(state, (int) (stream >>> 32), middle, length);
      for (int i = 0; i < length; i++) {
        to[offset + done + i] = Float.intBitsToFloat(bits[i]);
      }
    }
  }

  private void draw(int state, int key, int middle, int count) {
    for (int i = 0; i < count; i++) {
      int z = STATES[i] + state;
      z = (z ^ z >>> 16) * 0x7feb352d;
      z = (z ^ z >>> 15) * 0x846ca68b;
      int one = z ^ z >>> 16;
      z = (one + key) * 0x7feb352d;
      z = (z ^ z >>> 15) * 0x846ca68b;
      int other = z ^ z >>> 16;
      int sum = (one & 8191) + (one >>> 13 & 8191) + (other & 8191) + (other >>> 13 & 8191) - MEAN;
      int zero = (one >>> 26 & 15 | other >>> 22 & 240) - 1 >> 31; // All bits, once in 256 times.
      bits[i] = middle + sum * SPREAD & ~zero | one & 1 << 31;
    }
  }

  /** The bits of the tensor's median magnitude: 0.001 times 2^-2 to 2^2. */
  private int middle(int tensor) {
    int octaves =
        (int) (mix(seed ^ tensor * GOLDEN) >>> 40) - (1 << 23); // a signed octave in 2^23 parts
    return Float.floatToRawIntBits(0.001f) + 2 * octaves;
  }

  /**
   * Splitmix64's finisher: every bit of the input changes every bit of the result half of the time.
   */
  static long mix(long value) {
    long z = (value ^ value >>> 30) * 0xBF58476D1CE4E5B9L;
    z = (z ^ z >>> 27) * 0x94D049BB133111EBL;
    return z ^ z >>> 31;
  }
}
