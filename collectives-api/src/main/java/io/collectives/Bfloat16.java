package io.collectives;

/**
 * Conversions of {@link ElementType#BFLOAT16} numbers, which are held in a {@code short}: sign, 8
 * bits of exponent, 7 of mantissa, the upper half of a {@code float}. Every {@code bfloat16} is a
 * {@code float}; its range is that of {@code float}, its precision 2 to 3 decimal digits.
 */
public final class Bfloat16 {
  private Bfloat16() {}

  /**
   * Returns the nearest {@code bfloat16}; of two that are equally near, the one whose last bit is
   * 0. A number beyond the greatest becomes infinite; NaN stays NaN, with its sign and upper bits.
   */
  public static short of(float value) {
    int bits = Float.floatToRawIntBits(value);
    if (value != value) {
      return (short) (bits >>> 16 | 0x40);
    }
    return (short) (bits + 0x7fff + (bits >>> 16 & 1) >>> 16);
  }

  /** Returns the number as a {@code float}. */
  public static float toFloat(short bits) {
    return Float.intBitsToFloat(bits << 16);
  }
}
