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

  /** Whether the JDK has them, and the processor instructions for them. */
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
    narrow(new float[] {nan}, bits, 1);
    return Runtime.version().feature() >= 20 && bits[0] == Float16.of(nan);
  }

  /** The nearest numbers. */
  static void narrow(float[] values, short[] bits, int count) {
    try {
      for (int i = 0; i < count; i++) {
        bits[i] = (short) NARROW.invokeExact(values[i]);
      }
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  /** The same numbers as floats. */
  static void widen(short[] bits, float[] values, int count) {
    try {
      for (int i = 0; i < count; i++) {
        values[i] = (float) WIDEN.invokeExact(bits[i]);
      }
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  /** Pairs share an int, as {@link Converter16} packs them. */
  static void pack(int[] packed, short[] low, short[] high, int count) {
    for (int i = 0; i < count; i++) {
      // By way of floats, which are exact: C2 vectorises that, but not shorts that become ints.
      packed[i] = (int) (float) low[i] & 0xffff | (int) (float) high[i] << 16;
    }
  }
}
