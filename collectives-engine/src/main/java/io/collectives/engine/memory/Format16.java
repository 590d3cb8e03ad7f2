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
 * those of {@link Bfloat16} and {@link Float16}.
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
    boolean isAided() {
      return false;
    }

    @Override
    void narrow(int[] bits, int[] aid, int count) {
      for (int i = 0; i < count; i++) {
        int b = bits[i];
        int nan = INFINITE - (b & MAGNITUDE) >> 31;
        bits[i] = (b + 0x7fff + (b >>> 16 & 1) & ~nan | (b | 0x40_0000) & nan) >>> 16;
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
    boolean isAided() {
      return true;
    }

    @Override
    void narrow(int[] bits, int[] aid, int count) {
      for (int i = 0; i < count; i++) {
        int b = bits[i];
        int magnitude = b & MAGNITUDE;
        int least = magnitude - 0x3880_0000 >> 31;
        int beyond = 0x477f_ffff - magnitude >> 31;
        int nan = INFINITE - magnitude >> 31;
        int normal = magnitude - (112 << 23) + 0xfff + (magnitude >>> 13 & 1) >>> 13;
        int finite = normal & ~least | aid[i] - (126 << 23) & least;
        bits[i] =
            b >>> 16 & 0x8000
                | finite & ~beyond
                | 0x7c00 & beyond
                | (magnitude >>> 13 & 0x3ff | 0x200) & nan;
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

  /** Whether {@link #narrow(int[], int[], int)} needs an aid. */
  abstract boolean isAided();

  /**
   * The bits of floats become those of the nearest numbers, in the lower half of each int, the
   * upper one 0.
   *
   * @param aid the bits of {@link #aid}, if needed
   */
  abstract void narrow(int[] bits, int[] aid, int count);

  /**
   * A half more than the magnitudes: the last bit of such a float is worth as much as that of a
   * subnormal float16, so the addition rounds as is needed there.
   */
  static void aid(float[] values, float[] aid, int count) {
    for (int i = 0; i < count; i++) {
      aid[i] = Math.abs(values[i]) + 0.5f;
    }
  }

  /** Puts the lower halves of two ints into one. */
  static void pack(int[] packed, int[] low, int[] high, int count) {
    for (int i = 0; i < count; i++) {
      packed[i] = low[i] | high[i] << 16;
    }
  }
}
