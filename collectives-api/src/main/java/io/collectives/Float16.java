package io.collectives;

/**
 * Conversions of {@link ElementType#FLOAT16} numbers, IEEE 754 binary16, which are held in a {@code
 * short}: sign, 5 bits of exponent, 10 of mantissa. The greatest number is 65,504, the least above
 * zero is 2<sup>-24</sup>. Every {@code float16} is a {@code float}.
 */
public final class Float16 {
  private static final int INFINITY = 0x7c00;

  private Float16() {}

  /**
   * Returns the nearest {@code float16}; of two that are equally near, the one whose last bit is 0.
   * A number that rounds beyond the greatest becomes infinite; NaN stays NaN, with its sign and
   * upper bits.
   */
  public static short of(float value) {
    int bits = Float.floatToRawIntBits(value);
    int sign = bits >>> 16 & 0x8000;
    int magnitude = bits & 0x7fff_ffff;
    int rounded;
    if (magnitude > 0x7f80_0000) {
      rounded = INFINITY | 0x200 | magnitude >>> 13 & 0x3ff;
    } else if (magnitude >= 0x4780_0000) {
      rounded = INFINITY;
    } else if (magnitude >= 0x3880_0000) {
      // 112 less in the exponent; a carry out of the mantissa goes to the exponent, as it should.
      rounded = magnitude - (112 << 23) + 0xfff + (magnitude >>> 13 & 1) >>> 13;
    } else {
      // Next to a half, the last bit of a float is worth 2^-24, as that of a subnormal float16.
      rounded = Float.floatToRawIntBits(Float.intBitsToFloat(magnitude) + 0.5f) - (126 << 23);
    }
    return (short) (sign | rounded);
  }

  /** Returns the number as a {@code float}. */
  public static float toFloat(short bits) {
    int magnitude = (bits & 0x7fff) << 13;
    if (magnitude >= INFINITY << 13) {
      magnitude |= 0x7f80_0000;
    }
    // 112 more in the exponent, which makes subnormal numbers normal and leaves infinities alone.
    return Float.intBitsToFloat(magnitude | (bits & 0x8000) << 16) * 0x1p112f;
  }
}
