package io.collectives.internal;

/**
 * The exponents that numbers of 8 bits share: all of a group are multiples of one power of two, the
 * least of which 127 reach the greatest of them. An exponent is a byte, from 0 on.
 */
public final class Int8Exponents {
  /** The exponent that stands for NaN. */
  private static final int NAN = 255;

  /** The number that is subtracted from an exponent to make a byte of it. */
  private static final int LEAST = -120;

  /** The greatest magnitude that is sent, 127 * 2^121; the next float rounds to infinity. */
  private static final int GREATEST_BITS = 0x7f7e_0000;

  private Int8Exponents() {}

  /** Returns the exponent of a group whose greatest magnitude has these bits. */
  public static int of(int greatest) {
    if (greatest > GREATEST_BITS) {
      return NAN;
    }
    // 127 is 1.984375 * 2^6; a mantissa beyond that carries into the exponent.
    int exponent = (greatest + 0x1_ffff >>> 23) - 127 - 6;
    return Math.max(exponent, LEAST) - LEAST;
  }

  /** Returns two to the power of what an exponent says: the step between numbers of its group. */
  public static float step(int exponent) {
    return scale(exponent, 1);
  }

  /** Returns one by {@link #step}. */
  public static float inverse(int exponent) {
    return scale(exponent, -1);
  }

  private static float scale(int exponent, int sign) {
    return exponent == NAN
        ? Float.NaN
        : Float.intBitsToFloat(sign * (exponent + LEAST) + 127 << 23);
  }
}
