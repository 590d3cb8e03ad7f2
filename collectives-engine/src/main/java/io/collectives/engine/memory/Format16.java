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
    void widen(int[] packed, int[] low, int[] high, int count) {
      for (int i = 0; i < count; i++) {
        int pair = packed[i];
        low[i] = pair << 16;
        high[i] = pair & UPPER;
      }
    }

    @Override
    void widened(float[] values, int count) {}

    @Override
    boolean needsFloats() {
      return false;
    }

    @Override
    void narrow(int[] packed, int[] low, int[] high, int[] lowAid, int[] highAid, int count) {
      for (int i = 0; i < count; i++) {
        int b = low[i];
        int nan = INFINITE - (b & MAGNITUDE) >> 31;
        low[i] = (b + (0x7fff + (b >>> 16 & 1) & ~nan) | 0x40_0000 & nan) >>> 16;
      }
      for (int i = 0; i < count; i++) {
        int b = high[i];
        int nan = INFINITE - (b & MAGNITUDE) >> 31;
        packed[i] = (b + (0x7fff + (b >>> 16 & 1) & ~nan) | 0x40_0000 & nan) & UPPER | low[i];
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
    void widen(int[] packed, int[] low, int[] high, int count) {
      for (int i = 0; i < count; i++) {
        int pair = packed[i];
        int l = pair << 13 & 0x0fff_e000;
        int h = pair >>> 3 & 0x0fff_e000;
        low[i] = l | 0x0f7f_ffff - l >> 31 & INFINITE | pair << 16 & SIGN;
        high[i] = h | 0x0f7f_ffff - h >> 31 & INFINITE | pair & SIGN;
      }
    }

    /** 112 more in the exponent, which also makes subnormal numbers normal. */
    @Override
    void widened(float[] values, int count) {
      for (int i = 0; i < count; i++) {
        values[i] = values[i] * 0x1p112f;
      }
    }

    @Override
    boolean needsFloats() {
      return true;
    }

    @Override
    void narrow(int[] packed, int[] low, int[] high, int[] lowAid, int[] highAid, int count) {
      round(low, lowAid, count);
      limit(low, lowAid, count);
      round(high, highAid, count);
      limit(high, highAid, count);
      for (int i = 0; i < count; i++) {
        packed[i] = lowAid[i] | highAid[i] << 16;
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

    /** What is not, and the sign. */
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

  private static final int SIGN = 0x8000_0000;
  private static final int MAGNITUDE = 0x7fff_ffff;
  private static final int INFINITE = 0x7f80_0000;
  private static final int UPPER = 0xffff_0000;

  /** The nearest number of this format, in 16 bits. */
  abstract short narrow(float value);

  /** The same number as a float. */
  abstract float widen(short bits);

  /**
   * The bits of the floats of packed pairs, up to what {@link #widened} does: low halves to {@code
   * low}, high halves to {@code high}.
   */
  abstract void widen(int[] packed, int[] low, int[] high, int count);

  /** Ends what {@link #widen} has begun, when its bits have become floats. */
  abstract void widened(float[] values, int count);

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
   * The bits of floats become the packed bits of the nearest numbers; all arrays may be written.
   *
   * @param low the bits of what comes into the lower halves
   * @param high the bits of what comes into the upper halves
   * @param lowAid the bits of {@link #aid} of the former, if needed
   * @param highAid the bits of that of the latter, if needed
   */
  abstract void narrow(int[] packed, int[] low, int[] high, int[] lowAid, int[] highAid, int count);

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
