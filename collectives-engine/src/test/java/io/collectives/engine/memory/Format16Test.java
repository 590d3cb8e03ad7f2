package io.collectives.engine.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Bfloat16;
import io.collectives.ElementType;
import io.collectives.Float16;
import java.lang.reflect.Method;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Both ways of converting, one by one and in loops, against {@link Number16}: every narrow number,
 * every tie and its neighbours, and random bits.
 */
@Timeout(60)
class Format16Test {
  private static final long SEED = Long.getLong("collectives.seed", 20_261_121L);
  private static final int RANDOM = 1 << 20;

  private final Converter16 converter = new Converter16();

  private static ElementType type(Format16 format) {
    return ElementType.valueOf(format.name());
  }

  @ParameterizedTest
  @EnumSource
  void everyNarrowNumberIsAFloat(Format16 format) {
    float[] values = new float[Converter16.BLOCK];
    for (int from = 0; from < 1 << 16; from += Converter16.BLOCK) {
      int count = Math.min(Converter16.BLOCK, (1 << 16) - from);
      int pairs = count / 2;
      for (int i = 0; i < pairs; i++) {
        converter.packed[i] = from + i | from + i + pairs << 16;
      }
      format.widen(converter, values, 0, count);
      for (int i = 0; i < count; i++) {
        short bits = (short) (from + i);
        double expected = new Number16(type(format), bits).doubleValue();
        String which = format + " " + Integer.toHexString(bits & 0xffff);
        assertEquals(Double.valueOf(expected), Double.valueOf(format.widen(bits)), which);
        assertEquals(Double.valueOf(expected), Double.valueOf(values[i]), which);
        // And back, which keeps even NaN what it was, but for the bit that makes it quiet.
        short back = format.narrow(format.widen(bits));
        int quiet = Double.isNaN(expected) ? (format == Format16.BFLOAT16 ? 0x40 : 0x200) : 0;
        assertEquals((short) (bits | quiet), back, which);
      }
      format.narrow(converter, values, 0, count);
      for (int i = 0; i < count; i++) {
        assertEquals(
            new Number16(type(format), (short) (from + i)),
            new Number16(type(format), unpacked(i, pairs)));
      }
    }
  }

  private short unpacked(int index, int pairs) {
    return (short)
        (index < pairs ? converter.packed[index] : converter.packed[index - pairs] >>> 16);
  }

  /** Each narrow number, the middle between it and the next, and the floats on both sides. */
  @ParameterizedTest
  @EnumSource
  void tiesGoToTheEven(Format16 format) {
    float[] values = new float[12 << 15];
    int count = 0;
    for (int bits = 0; bits < 1 << 15; bits++) {
      double here = new Number16(type(format), (short) bits).doubleValue();
      double next = new Number16(type(format), (short) (bits + 1)).doubleValue();
      // Of the greatest number the next one is infinite; the tie is half of the last step above it.
      double step = here - new Number16(type(format), (short) Math.max(0, bits - 1)).doubleValue();
      double middle = Double.isInfinite(next) ? here + step / 2 : (here + next) / 2;
      for (double value : new double[] {here, middle}) {
        float exact = (float) value;
        for (float near : new float[] {exact, Math.nextUp(exact), Math.nextDown(exact)}) {
          values[count++] = near;
          values[count++] = -near;
        }
      }
    }
    assertConverts(format, values);
  }

  @ParameterizedTest
  @EnumSource
  void randomBitsGoToTheNearest(Format16 format) {
    Random random = new Random(SEED);
    float[] values = new float[RANDOM];
    for (int i = 0; i < RANDOM; i++) {
      values[i] = Float.intBitsToFloat(random.nextInt());
    }
    assertConverts(format, values);
    // Around the range of float16, where random bits are rare.
    for (int i = 0; i < RANDOM; i++) {
      values[i] = (float) Math.scalb(random.nextDouble() - 0.5, random.nextInt(46) - 28);
    }
    assertConverts(format, values);
  }

  @ParameterizedTest
  @EnumSource
  void edges(Format16 format) {
    assertConverts(
        format,
        new float[] {
          0f,
          -0f,
          Float.NaN,
          Float.intBitsToFloat(0x7f80_0001),
          Float.intBitsToFloat(0xffff_ffff),
          Float.POSITIVE_INFINITY,
          Float.NEGATIVE_INFINITY,
          Float.MAX_VALUE,
          -Float.MAX_VALUE,
          Float.MIN_VALUE,
          Float.MIN_NORMAL,
          65504f,
          65519.996f,
          65520f,
          -65520f,
          0x1p-24f,
          0x1p-25f,
          0x1.000002p-25f,
          0x1.ffcp-15f,
          0x1p-14f
        });
    assertEquals(Float.POSITIVE_INFINITY, Float16.toFloat(Float16.of(65520f)));
    assertEquals(65504f, Float16.toFloat(Float16.of(65519.996f)));
    assertEquals(Float.POSITIVE_INFINITY, Bfloat16.toFloat(Bfloat16.of(Float.MAX_VALUE)));
    assertEquals(0x1p-24f, Float16.toFloat(Float16.of(0x1.000002p-25f)));
    assertEquals(0f, Float16.toFloat(Float16.of(0x1p-25f)));
  }

  /** Conversions are those of the JDK, where it has them (20 and later). */
  @Test
  void agreesWithTheJdk() throws ReflectiveOperationException {
    Method narrow;
    Method widen;
    try {
      narrow = Float.class.getMethod("floatToFloat16", float.class);
      widen = Float.class.getMethod("float16ToFloat", short.class);
    } catch (NoSuchMethodException e) {
      assertTrue(Runtime.version().feature() < 20, e::toString);
      return;
    }
    Random random = new Random(SEED);
    for (int i = 0; i < 1 << 16; i++) {
      float value = Float.intBitsToFloat(random.nextInt());
      short bits = (short) narrow.invoke(null, value);
      assertEquals(
          new Number16(ElementType.FLOAT16, bits),
          new Number16(ElementType.FLOAT16, Float16.of(value)),
          () -> "of " + value);
      assertEquals(widen.invoke(null, (short) i), Float16.toFloat((short) i), "of bits " + i);
    }
  }

  private void assertConverts(Format16 format, float[] values) {
    float[] block = new float[Converter16.BLOCK];
    for (int from = 0; from < values.length; from += Converter16.BLOCK) {
      int count = Math.min(Converter16.BLOCK, values.length - from);
      System.arraycopy(values, from, block, 0, count);
      int pairs = (count + 1) / 2;
      format.narrow(converter, block, 0, count);
      for (int i = 0; i < count; i++) {
        float value = values[from + i];
        Number16 expected = Number16.nearest(type(format), value);
        short single = format.narrow(value);
        if (!expected.equals(new Number16(type(format), single))) {
          assertEquals(expected, new Number16(type(format), single), which(value));
        }
        // The loops give the very bits, of NaN, too.
        if (single != unpacked(i, pairs)) {
          assertEquals(single, unpacked(i, pairs), which(value));
        }
      }
    }
  }

  private static String which(float value) {
    return "of "
        + value
        + " ("
        + Integer.toHexString(Float.floatToRawIntBits(value))
        + "), seed "
        + SEED;
  }
}
