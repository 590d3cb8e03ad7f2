package io.collectives.engine.memory;

import io.collectives.Float16;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/**
 * The conversions of float16 that a JDK has from 20 on, in loops that C2 turns into the processor's
 * own instructions. They are called by constant method handles, because the byte code is for JDK
 * 17; C2 sees through these.
 */
final class JdkFloat16 {
  private static final MethodHandle NARROW =
      find("floatToFloat16", "of", MethodType.methodType(short.class, float.class));
  private static final MethodHandle WIDEN =
      find("float16ToFloat", "toFloat", MethodType.methodType(float.class, short.class));

  /** If true, the JDK has the conversions, and the processor has instructions for them. */
  static final boolean FAST = isFast();

  private JdkFloat16() {}

  /** The JDK's method, or ours, so that there is one. */
  private static MethodHandle find(String name, String ours, MethodType type) {
    MethodHandles.Lookup lookup = MethodHandles.publicLookup();
    try {
      return lookup.findStatic(Float.class, name, type);
    } catch (NoSuchMethodException e) {
      try {
        return lookup.findStatic(Float16.class, ours, type);
      } catch (ReflectiveOperationException impossible) {
        throw new AssertionError(impossible);
      }
    } catch (IllegalAccessException impossible) {
      throw new AssertionError(impossible);
    }
  }

  /**
   * Processors drop the lower bits of NaN, as {@link Float16} does. The code of the JDK that stands
   * in where they cannot convert keeps some, and is slower than {@link Format16}.
   */
  private static boolean isFast() {
    float nan = Float.intBitsToFloat(0x7fc0_0001);
    short[] bits = new short[1];
    narrow(new float[] {nan}, 0, bits, 0, 1);
    return Runtime.version().feature() >= 20 && bits[0] == Float16.of(nan);
  }

  /** The nearest numbers. */
  static void narrow(float[] values, int from, short[] bits, int to, int count) {
    try {
      for (int i = 0; i < count; i++) {
        bits[to + i] = (short) NARROW.invokeExact(values[from + i]);
      }
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  /** Converts numbers to floats, exactly. */
  static void widen(short[] bits, int from, float[] values, int to, int count) {
    try {
      for (int i = 0; i < count; i++) {
        values[to + i] = (float) WIDEN.invokeExact(bits[from + i]);
      }
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  /**
   * Packs {@code count} numbers as {@link Converter16} does, and a zero if that is odd.
   *
   * @param low room for half a block, as is {@code high}
   */
  static void narrow(float[] values, int from, int count, short[] low, short[] high, int[] packed) {
    int pairs = (count + 1) / 2;
    int rest = count - pairs;
    narrow(values, from, low, 0, pairs);
    narrow(values, from + pairs, high, 0, rest);
    if (rest < pairs) {
      high[rest] = 0;
    }
    pack(packed, low, high, pairs);
  }

  /** By way of floats, which are exact: C2 vectorises that, but not shorts that become ints. */
  private static void pack(int[] packed, short[] low, short[] high, int count) {
    for (int i = 0; i < count; i++) {
      packed[i] = (int) (float) low[i] & 0xffff | (int) (float) high[i] << 16;
    }
  }

  /**
   * The inverse: {@code count} floats of what is packed.
   *
   * @param low room for half a block, as is {@code high}
   */
  static void widen(int[] packed, short[] low, short[] high, float[] values, int to, int count) {
    int pairs = (count + 1) / 2;
    split(packed, low, high, pairs);
    widen(low, 0, values, to, pairs);
    widen(high, 0, values, to + pairs, count - pairs);
  }

  private static void split(int[] packed, short[] low, short[] high, int count) {
    for (int i = 0; i < count; i++) {
      low[i] = (short) (float) (packed[i] << 16 >> 16);
      high[i] = (short) (float) (packed[i] >> 16);
    }
  }
}
