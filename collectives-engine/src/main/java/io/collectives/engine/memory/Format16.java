package io.collectives.engine.memory;

import io.collectives.Bfloat16;
import io.collectives.Float16;

/**
 * How a number of 16 bits becomes a float and back: one by one, and as loops over the bits of many.
 *
 * <p>The loops exist because C2 vectorises neither conversions between {@code short} and wider
 * types nor {@link Float#intBitsToFloat}, nor branches. Here all is arithmetic on {@code int}s with
 * one index: two narrow numbers share an int, conditions are masks made by arithmetic shifts
 * ({@code (a - b) >> 31} is all ones where a is less than b), and bits become floats by bulk copies
 * ({@link Converter16}). The loops must give the very bits of the single conversions, which are
 * those of {@link Bfloat16} and {@link Float16}. From JDK 20 on there are conversions of float16
 * that C2 does vectorise ({@link JdkFloat16}).
 */
enum Format16 {
  /** The upper half of a float. */
  BFLOAT16 {
    @Override
    short narrow(float value) {
      return Bfloat16.of(value);
    }

    @Override
    float widen(short bits) {
      return Bfloat16.toFloat(bits);
    }

    @Override
    void widen(int[] packed, int[] bits, int count) {
      for (int i = 0; i < count; i++) {
        int pair = packed[i];
        bits[i] = pair << 16;
        bits[i + PLANE] = pair & UPPER;
      }
    }

    @Override
    void widened(float[] values, int from, int to) {}

    @Override
    boolean needsFloats() {
      return false;
    }

    @Override
    void narrow(int[] packed, int[] bits, int[] aid, int count) {
      for (int i = 0; i < count; i++) {
        int low = bits[i];
        int high = bits[i + PLANE];
        int lowNan = INFINITE - (low & MAGNITUDE) >> 31;
        int highNan = INFINITE - (high & MAGNITUDE) >> 31;
        low = (low + (0x7fff + (low >>> 16 & 1) & ~lowNan) | 0x40_0000 & lowNan) >>> 16;
        high = high + (0x7fff + (high >>> 16 & 1) & ~highNan) | 0x40_0000 & highNan;
        packed[i] = high & UPPER | low;
      }
    }
  },

  /** IEEE 754 binary16. */
  FLOAT16 {
    @Override
    short narrow(float value) {
      return Float16.of(value);
    }

    @Override
    float widen(short bits) {
      return Float16.toFloat(bits);
    }

    @Override
    void widen(int[] packed, int[] bits, int count) {
      for (int i = 0; i < count; i++) {
        int pair = packed[i];
        int low = pair << 16 >> 3 & SIGN_AND_NUMBER;
        int high = pair >> 3 & SIGN_AND_NUMBER;
        bits[i] = low | (low + LAST_EXPONENT << 3) >> 31 & INFINITE;
        bits[i + PLANE] = high | (high + LAST_EXPONENT << 3) >> 31 & INFINITE;
      }
    }

    /** 112 more in the exponent, which also makes subnormal numbers normal. */
    @Override
    void widened(float[] values, int from, int to) {
      if (to - from >= Elements.SHORT) {
        scale(values, from, to);
        return;
      }
      for (int i = from; i < to; i++) {
        values[i] *= 0x1p112f;
      }
    }

    private static void scale(float[] values, int from, int to) {
      for (int i = from; i < to; i++) {
        values[i] *= 0x1p112f;
      }
    }

    @Override
    boolean needsFloats() {
      return true;
    }

    @Override
    void narrow(int[] packed, int[] bits, int[] aid, int count) {
      // Both planes at once, and what lies between them.
      round(bits, aid, PLANE + count);
      limit(bits, aid, PLANE + count);
      for (int i = 0; i < count; i++) {
        packed[i] = aid[i] | aid[i + PLANE] << 16;
      }
    }

    /** What is finite; to {@code aid}. */
    private static void round(int[] bits, int[] aid, int count) {
      for (int i = 0; i < count; i++) {
        int magnitude = bits[i] & MAGNITUDE;
        int least = magnitude - 0x3880_0000 >> 31;
        int normal = magnitude + (magnitude >>> 13 & 1) - ((112 << 23) - 0xfff) >>> 13;
        aid[i] = normal & ~least | aid[i] - (126 << 23) & least;
      }
    }

    /** What is not, and the sign. In one loop with the former, C2 vectorises it not always. */
    private static void limit(int[] bits, int[] aid, int count) {
      for (int i = 0; i < count; i++) {
        int b = bits[i];
        int magnitude = b & MAGNITUDE;
        int beyond = 0x477f_ffff - magnitude >> 31;
        int nan = INFINITE - magnitude >> 31;
        int special = 0x7c00 | (magnitude >>> 13 & 0x3ff | 0x200) & nan;
        aid[i] = b >>> 16 & 0x8000 | aid[i] & ~beyond | special & beyond;
      }
    }
  };

  /** Where the second plane of bits begins. */
  private static final int PLANE = Converter16.PLANE;

  private static final int SIGN = 0x8000_0000;
  private static final int MAGNITUDE = 0x7fff_ffff;
  private static final int INFINITE = 0x7f80_0000;
  private static final int UPPER = 0xffff_0000;

  /** Where sign and magnitude of a float16 lie when they have been shifted to a float's. */
  private static final int SIGN_AND_NUMBER = 0x8fff_e000;

  /** What lets the exponent of infinity and NaN, shifted so, overflow into the next bit. */
  private static final int LAST_EXPONENT = 0x0080_0000;

  /** The nearest number of this format, in 16 bits. */
  abstract short narrow(float value);

  /** The same number as a float. */
  abstract float widen(short bits);

  /**
   * The bits of the floats of packed pairs, up to what {@link #widened} does: of the lower halves
   * from 0 on, of the upper halves from {@link Converter16#PLANE} on.
   */
  abstract void widen(int[] packed, int[] bits, int count);

  /** Ends what {@link #widen} has begun, when its bits have become floats. */
  abstract void widened(float[] values, int from, int to);

  /** The bits of the exponent, all of which are set in what is not finite. */
  int exponent() {
    return this == BFLOAT16 ? 0x7f80 : 0x7c00;
  }

  /** Whether conversions take more than the bits: {@link #widened} and {@link #aid}. */
  abstract boolean needsFloats();

  /** Whether {@link JdkFloat16} converts it faster. */
  boolean isJdks() {
    return this == FLOAT16 && JdkFloat16.FAST;
  }

  /**
   * The bits of floats become the packed bits of the nearest numbers; both of the others may be
   * written.
   *
   * @param bits of what comes into the lower halves from 0 on, into the upper halves from {@link
   *     Converter16#PLANE} on
   * @param aid the bits of {@link #aid} of the same, if needed
   */
  abstract void narrow(int[] packed, int[] bits, int[] aid, int count);

  /**
   * A half more than the magnitudes: the last bit of such a float is worth as much as that of a
   * subnormal float16, so the addition rounds as is needed there.
   */
  static void aid(float[] values, float[] aid, int count) {
    for (int i = 0; i < count; i++) {
      aid[i] = Math.abs(values[i]) + 0.5f;
    }
  }
}
