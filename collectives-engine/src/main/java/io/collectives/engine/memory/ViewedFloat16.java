package io.collectives.engine.memory;

import io.collectives.Float16;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The nearest float16 of floats, for JDKs before 20, whose C2 turns neither floats into bits nor
 * numbers of other sizes in a vector loop. Here the ints and floats of one array are read through
 * {@code sun.misc.Unsafe}, called by constant method handles, which C2 sees through; all ranges are
 * checked before.
 *
 * <p><b>How.</b> Let 2<sup>e</sup> be the power of two in the magnitude of x, and at least
 * 2<sup>-14</sup>, the least of a normal float16. The float
 *
 * <pre>
 *   d = 4x * 2^96 + sign(x) 2^(e+15) * 2^96
 * </pre>
 *
 * has a last bit that is worth as much as that of the float16, so the addition rounds to it, to the
 * nearest even; the lower 12 bits of d are what is to be added to the exponent that d has. That
 * exponent is scaled by 2<sup>96</sup> so that its lower five bits are those of the float16, one
 * less, and that what becomes infinite in d (x is multiplied by 2<sup>112</sup> first, then
 * divided) has the bits of the float16 infinity. The bits between are zeros, but in a NaN, whose
 * highest bit of them is set and whose payload is kept there.
 */
final class ViewedFloat16 {
  /** The position at which the second plane of bits begins. */
  private static final int PLANE = Converter16.PLANE;

  private static final int SIGN = 0x8000_0000;
  private static final int EXPONENT = 0x7f80_0000;

  /** The exponent of 2^-14. */
  private static final int LEAST = 0x3880_0000;

  private static final long BASE;
  private static final MethodHandle GET_INT;
  private static final MethodHandle GET_FLOAT;
  private static final MethodHandle PUT_FLOAT;

  /** If true, this JVM has the means that the views need. */
  static final boolean FAST;

  static {
    Access access = Runtime.version().feature() < 20 ? Access.find() : null;
    BASE = access == null ? 0 : access.base;
    MethodHandle none = MethodHandles.constant(Void.class, null);
    GET_INT = access == null ? none : access.getInt;
    GET_FLOAT = access == null ? none : access.getFloat;
    PUT_FLOAT = access == null ? none : access.putFloat;
    FAST = access != null && keepsNan();
  }

  private ViewedFloat16() {}

  private record Access(
      long base, MethodHandle getInt, MethodHandle getFloat, MethodHandle putFloat) {
    static @Nullable Access find() {
      try {
        Class<?> unsafe = Class.forName("sun.misc.Unsafe");
        Field instance = unsafe.getDeclaredField("theUnsafe");
        instance.setAccessible(true);
        Object only = instance.get(null);
        MethodHandles.Lookup lookup = MethodHandles.publicLookup();
        MethodType get = MethodType.methodType(int.class, Object.class, long.class);
        MethodType put = MethodType.methodType(void.class, Object.class, long.class, float.class);
        int base = unsafe.getField("ARRAY_FLOAT_BASE_OFFSET").getInt(null);
        if (base != unsafe.getField("ARRAY_INT_BASE_OFFSET").getInt(null)) {
          return null;
        }
        return new Access(
            base,
            lookup.findVirtual(unsafe, "getInt", get).bindTo(only),
            lookup.findVirtual(unsafe, "getFloat", get.changeReturnType(float.class)).bindTo(only),
            lookup.findVirtual(unsafe, "putFloat", put).bindTo(only));
      } catch (ReflectiveOperationException | RuntimeException e) {
        return null;
      }
    }
  }

  /** Not all processors keep what a NaN holds when it is added to. */
  private static boolean keepsNan() {
    float[] nan = {Float.intBitsToFloat(0xffb2_3456)};
    int[] packed = new int[Converter16.BLOCK];
    narrow(nan, 0, 1, packed);
    return (short) packed[0] == Float16.of(nan[0]);
  }

  /**
   * Packs {@code count} numbers as {@link Converter16} does, and a zero if that is odd.
   *
   * @param bits room for a block, whose first ints become the result; a loop over all of it is
   *     faster than two over its halves
   */
  static void narrow(float[] values, int from, int count, int[] bits) {
    int pairs = (count + 1) / 2;
    int rest = count - pairs;
    if (rest == PLANE) {
      round(values, from, bits, count);
    } else {
      round(values, from + pairs, bits, rest);
      System.arraycopy(bits, 0, bits, PLANE, rest);
      if (rest < pairs) {
        bits[PLANE + rest] = 0;
      }
      round(values, from, bits, pairs);
    }
    pack(bits, pairs);
  }

  /** {@code bits} become those of d. */
  private static void round(float[] values, int from, int[] bits, int count) {
    Objects.checkFromIndexSize(from, count, values.length);
    Objects.checkFromIndexSize(0, count, bits.length);
    try {
      add(values, BASE + (long) from * Float.BYTES, bits, count);
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  private static void add(float[] values, long base, int[] bits, int count) throws Throwable {
    for (int i = 0; i < count; i++) {
      long offset = (long) i << 2;
      int value = (int) GET_INT.invokeExact((Object) values, base + offset);
      int above = (value & EXPONENT) - LEAST;
      bits[i] = (above & ~(above >> 31)) + (LEAST + (111 << 23)) | value & SIGN;
      float x = (float) GET_FLOAT.invokeExact((Object) values, base + offset);
      float power = (float) GET_FLOAT.invokeExact((Object) bits, BASE + offset);
      PUT_FLOAT.invokeExact((Object) bits, BASE + offset, x * 0x1p112f * 0x1p-14f + power);
    }
  }

  private static void pack(int[] bits, int count) {
    for (int i = 0; i < count; i++) {
      int low = bits[i];
      int high = bits[i + PLANE];
      int lower = (low >>> 13) + (low & ~(low << 9 >> 31)) & 0x7fff | low >>> 16 & 0x8000;
      int upper = (high >>> 13) + (high & ~(high << 9 >> 31)) << 16 & 0x7fff_0000 | high & SIGN;
      bits[i] = lower | upper;
    }
  }
}
