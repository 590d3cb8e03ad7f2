package io.collectives.bench.model;

/**
 * Gradients that look like a model's: random signs, magnitudes that are roughly log-normal around
 * 0.001 times a factor of each tensor, one zero in 256. Every value is a pure function of (seed,
 * step, rank, tensor, index), so that any rank can make every other's.
 *
 * <p>The magnitude is 2^x with x nearly normal (the sum of four uniform numbers, standard deviation
 * 2.5), where 2^x is taken by writing x into the exponent and mantissa bits of a float: a power of
 * two is exact, between two of them it is a line.
 */
public final class Gradients {
  private static final long GOLDEN = 0x9E3779B97F4A7C15L;

  /** Four fields of 13 bits; the mean of their sum. */
  private static final int MEAN = 4 * 8191 / 2;

  /** Turns the sum's standard deviation of 4,730 into 2.5 octaves of 2^23. */
  private static final int SPREAD = 4_434;

  private final long seed;

  /** Gradients of a run. */
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
    long state = mix(mix(mix(mix(seed) + step) + rank) + tensor) + first * GOLDEN;
    int middle = middle(tensor);
    for (int i = 0; i < count; i++) {
      long bits = mix(state);
      state += GOLDEN;
      int sum =
          (int) (bits & 8191)
              + (int) (bits >>> 13 & 8191)
              + (int) (bits >>> 26 & 8191)
              + (int) (bits >>> 39 & 8191);
      int magnitude = (bits >>> 52 & 255) == 0 ? 0 : middle + (sum - MEAN) * SPREAD;
      to[offset + i] = Float.intBitsToFloat(magnitude | (int) (bits >>> 63) << 31);
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
