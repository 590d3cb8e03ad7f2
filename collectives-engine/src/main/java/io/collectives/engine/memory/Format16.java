package io.collectives.engine.memory;

import io.collectives.Bfloat16;
import io.collectives.Float16;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * The conversions between a number of 16 bits and a float: single ones, and loops over the bits of
 * many.
 *
 * <p>The loops exist because C2 vectorises neither conversions between {@code short} and wider
 * types nor {@link Float#intBitsToFloat}, nor branches. Here all is arithmetic on {@code int}s with
 * one index: two narrow numbers share an int, conditions are masks made by arithmetic shifts
 * ({@code (a - b) >> 31} is all ones where a is less than b), and bits become floats by bulk copies
 * ({@link Converter16}). The loops must give the very bits of the single conversions, which are
 * those of {@link Bfloat16} and {@link Float16}. Floats become float16 by {@link ViewedFloat16} or,
 * from JDK 20 on, by conversions of the JDK that C2 does vectorise ({@link JdkFloat16}).
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
    void widen(Converter16 converter, float[] values, int to, int count) {
      widen(converter, count);
      converter.take(values, to, count);
    }

    @Override
    void widen(Converter16 converter, int count) {
      int pairs = (count + 1) / 2;
      widenLow(converter.packed, converter.low.bytes, pairs);
      widenHigh(converter.packed, converter.high.bytes, pairs);
    }

    /** Lower and upper halves apart: in one loop, C2 of JDK 25 vectorises neither. */
    private static void widenLow(int[] packed, byte[] low, int count) {
      for (int i = 0; i < count; i++) {
        INTS.set(low, 4 * i, packed[i] << 16);
      }
    }

    private static void widenHigh(int[] packed, byte[] high, int count) {
      for (int i = 0; i < count; i++) {
        INTS.set(high, 4 * i, packed[i] & UPPER);
      }
    }

    @Override
    void narrow(Converter16 converter, float[] values, int from, int count) {
      int pairs = (count + 1) / 2;
      converter.low.frame.floats().put(0, values, from, pairs);
      converter.high.frame.floats().put(0, values, from + pairs, count - pairs);
      pack(converter, count);
    }

    @Override
    void pack(Converter16 converter, int count) {
      int pairs = (count + 1) / 2;
      if (count < 2 * pairs) {
        converter.high.frame.floats().put(pairs - 1, 0);
      }
      pack(converter.packed, converter.low.bytes, converter.high.bytes, pairs);
    }

    private static void pack(int[] packed, byte[] lows, byte[] highs, int count) {
      for (int i = 0; i < count; i++) {
        int low = (int) INTS.get(lows, 4 * i);
        int high = (int) INTS.get(highs, 4 * i);
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
    void widen(Converter16 converter, float[] values, int to, int count) {
      if (JdkFloat16.FAST) {
        short[] low = converter.low.halves;
        JdkFloat16.widen(converter.packed, low, converter.high.halves, values, to, count);
        return;
      }
      int pairs = (count + 1) / 2;
      widenLow(converter.packed, converter.low.bytes, pairs);
      widenHigh(converter.packed, converter.high.bytes, pairs);
      converter.take(values, to, count);
      scale(values, to, to + count);
    }

    /** The bits of the floats, but for 112 in the exponent, which multiplying by 2^112 adds. */
    private static void widenLow(int[] packed, byte[] low, int count) {
      for (int i = 0; i < count; i++) {
        int number = packed[i] << 16 >> 3 & SIGN_AND_NUMBER;
        INTS.set(low, 4 * i, number | (number + LAST_EXPONENT << 3) >> 31 & INFINITE);
      }
    }

    private static void widenHigh(int[] packed, byte[] high, int count) {
      for (int i = 0; i < count; i++) {
        int number = packed[i] >> 3 & SIGN_AND_NUMBER;
        INTS.set(high, 4 * i, number | (number + LAST_EXPONENT << 3) >> 31 & INFINITE);
      }
    }

    /** Makes subnormal numbers normal, too. */
    private static void scale(float[] values, int from, int to) {
      for (int i = from; i < to; i++) {
        values[i] *= 0x1p112f;
      }
    }

    @Override
    void narrow(Converter16 converter, float[] values, int from, int count) {
      int[] packed = converter.packed;
      if (JdkFloat16.FAST) {
        short[] low = converter.low.halves;
        JdkFloat16.narrow(values, from, count, low, converter.high.halves, packed);
      } else if (ViewedFloat16.FAST) {
        ViewedFloat16.narrow(values, from, count, packed);
      } else {
        narrowFew(values, from, count, packed);
      }
    }
  };

  /** The ints of bytes, which C2 vectorises. */
  private static final VarHandle INTS =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

  private static final int MAGNITUDE = 0x7fff_ffff;
  private static final int INFINITE = 0x7f80_0000;
  private static final int UPPER = 0xffff_0000;

  /** The bits of a float at which sign and magnitude of a float16 lie after the shift. */
  private static final int SIGN_AND_NUMBER = 0x8fff_e000;

  /**
   * The number that lets the exponent of infinity and NaN, shifted so, overflow into the next bit.
   */
  private static final int LAST_EXPONENT = 0x0080_0000;

  /** The nearest number of this format, in 16 bits. */
  abstract short narrow(float value);

  /** Returns a number as a float, exactly. */
  abstract float widen(short bits);

  /** Converts the packed numbers to {@code count} floats of an array, a block at most. */
  abstract void widen(Converter16 converter, float[] values, int to, int count);

  /** Returns whether floats can stay in the planes of a converter. */
  boolean usesPlanes() {
    return this == BFLOAT16;
  }

  /** Converts the packed numbers to floats in the planes. */
  void widen(Converter16 converter, int count) {
    throw new UnsupportedOperationException(this + " uses no planes");
  }

  /** Packs the floats in the planes, and a zero if there is an odd number of them. */
  void pack(Converter16 converter, int count) {
    throw new UnsupportedOperationException(this + " uses no planes");
  }

  /** The bits of the exponent, all of which are set in what is not finite. */
  int exponent() {
    return this == BFLOAT16 ? 0x7f80 : 0x7c00;
  }

  /** Returns whether {@link JdkFloat16} converts it faster. */
  boolean isJdks() {
    return this == FLOAT16 && JdkFloat16.FAST;
  }

  /**
   * Packs the nearest numbers, and a zero if there is an odd number of them.
   *
   * @param count of a block at most
   */
  abstract void narrow(Converter16 converter, float[] values, int from, int count);

  /** Narrows floats one by one. */
  final void narrowFew(float[] values, int from, int count, int[] packed) {
    int pairs = (count + 1) / 2;
    for (int i = 0; i < pairs; i++) {
      int upper = pairs + i < count ? narrow(values[from + pairs + i]) : 0;
      packed[i] = narrow(values[from + i]) & 0xffff | upper << 16;
    }
  }
}
