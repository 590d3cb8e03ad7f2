package io.collectives.engine.memory;

import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.spi.FrameBytes;
import java.nio.Buffer;
import java.nio.ShortBuffer;
import java.util.Arrays;

/**
 * The elements of {@link ElementType#BFLOAT16} and {@link ElementType#FLOAT16}. Each operation is
 * that of float32, rounded.
 */
final class Elements16 extends Elements {
  static final Elements16 BFLOAT16 = new Elements16(ElementType.BFLOAT16, Format16.BFLOAT16);
  static final Elements16 FLOAT16 = new Elements16(ElementType.FLOAT16, Format16.FLOAT16);

  private final Format16 format;

  private Elements16(ElementType type, Format16 format) {
    super(type, short[].class, ShortBuffer.class);
    this.format = format;
  }

  @Override
  Buffer view(FrameBytes frame) {
    return frame.shorts();
  }

  @Override
  void get(Buffer source, int from, Object array, int offset, int count) {
    ((ShortBuffer) source).get(from, (short[]) array, offset, count);
  }

  @Override
  void put(Buffer target, int at, Object array, int offset, int count) {
    ((ShortBuffer) target).put(at, (short[]) array, offset, count);
  }

  @Override
  void copy(Buffer target, int at, Buffer source, int from, int count) {
    ((ShortBuffer) target).put(at, (ShortBuffer) source, from, count);
  }

  @Override
  void copyRuns(
      Object target, int to, Object source, int from, Strides strides, int run, int runs) {
    int toStride = strides.target();
    int fromStride = strides.source();
    for (int i = 0, a = to, b = from; i < runs; i++, a += toStride, b += fromStride) {
      if (source instanceof short[] s && target instanceof short[] t) {
        for (int k = 0; k < run; k++) {
          t[a + k] = s[b + k];
        }
      } else if (source instanceof short[] s) {
        for (int k = 0; k < run; k++) {
          ((ShortBuffer) target).put(a + k, s[b + k]);
        }
      } else if (target instanceof short[] t) {
        for (int k = 0; k < run; k++) {
          t[a + k] = ((ShortBuffer) source).get(b + k);
        }
      } else {
        for (int k = 0; k < run; k++) {
          ((ShortBuffer) target).put(a + k, ((ShortBuffer) source).get(b + k));
        }
      }
    }
  }

  /** Rounds after each operand, as pairwise reductions do, and the quotient once more. */
  @Override
  void reduce(ReduceOp op, int divisor, Operands operands, int from, int to, Scratch scratch) {
    Converter16 converter = scratch.get(Converter16.KEY);
    Operands pair = converter.pair;
    Operands alone = converter.alone;
    float[] left = converter.first;
    short[] result = (short[]) operands.results[0];
    for (int at = from; at < to; ) {
      int count = Math.min(to - at, Converter16.BLOCK);
      if (count >= SHORT) {
        count &= ~1; // Whole pairs: a user's op is to see nothing but elements.
      }
      Object first = operands.own[0];
      for (int i = 1; i < operands.size; i++) {
        widen(converter, first, at, count, left);
        widen(converter, operands.own[i], at, count, converter.second);
        Float32Elements.INSTANCE.reduce(op, 1, pair, 0, count, scratch);
        narrow(converter, left, result, at, count);
        first = result;
      }
      if (divisor > 1) {
        widen(converter, first, at, count, left);
        Float32Elements.INSTANCE.reduce(op, divisor, alone, 0, count, scratch);
        narrow(converter, left, result, at, count);
      }
      operands.copyToOthers(at, at + count);
      at += count;
    }
  }

  private void widen(Converter16 converter, Object array, int at, int count, float[] values) {
    short[] bits = (short[]) array;
    if (count >= SHORT) {
      converter.widen(format, bits, at, count, values);
      return;
    }
    for (int i = 0; i < count; i++) {
      values[i] = format.widen(bits[at + i]);
    }
  }

  private void narrow(Converter16 converter, float[] values, short[] bits, int at, int count) {
    if (count >= SHORT) {
      converter.narrow(format, values, bits, at, count);
      return;
    }
    for (int i = 0; i < count; i++) {
      bits[at + i] = format.narrow(values[i]);
    }
  }

  @Override
  boolean canBeNonFinite() {
    return true;
  }

  /** All bits of the exponent and one more make the highest bit. */
  @Override
  void mark(Object values, Object marks, int count) {
    mark((short[]) values, (short[]) marks, count, format.exponent());
  }

  private static void mark(short[] v, short[] m, int count, int exponent) {
    int one = exponent & -exponent;
    for (int i = 0; i < count; i++) {
      m[i] = (short) (m[i] | (v[i] & exponent) + one);
    }
  }

  @Override
  boolean takeMarks(Object marks) {
    short[] m = (short[]) marks;
    int any = 0;
    for (int i = 0; i < m.length; i++) {
      any |= m[i];
    }
    Arrays.fill(m, (short) 0);
    return any < 0;
  }

  @Override
  int firstNonFinite(Object values, int count) {
    short[] v = (short[]) values;
    for (int i = 0; i < count; i++) {
      if ((v[i] & format.exponent()) == format.exponent()) {
        return i;
      }
    }
    return -1;
  }

  @Override
  double value(Object values, int index) {
    return format.widen(((short[]) values)[index]);
  }
}
