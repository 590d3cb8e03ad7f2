package io.collectives.engine.memory;

import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.UserOp;
import io.collectives.spi.FrameBytes;
import java.nio.Buffer;
import java.nio.ByteBuffer;
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
    super(type);
    this.format = format;
  }

  @Override
  Object newArray(int count) {
    return new short[count];
  }

  @Override
  int arrayLength(Object array) {
    if (array instanceof short[] fit) {
      return fit.length;
    }
    throw unfit(array);
  }

  @Override
  Buffer view(ByteBuffer bytes) {
    return bytes.asShortBuffer();
  }

  @Override
  Buffer view(FrameBytes frame) {
    return frame.shorts();
  }

  @Override
  Buffer checkView(Buffer view) {
    if (view instanceof ShortBuffer) {
      return view;
    }
    throw unfit(view);
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
      Object target,
      int to,
      int toStride,
      Object source,
      int from,
      int fromStride,
      int run,
      int runs) {
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

  @Override
  void combine(
      ReduceOp op, Object result, Object own, Object source, int from, int to, Scratch scratch) {
    short[] r = (short[]) result;
    short[] a = (short[]) own;
    short[] b = (short[]) source;
    Converter16 converter = scratch.converter16();
    float[] left = converter.first;
    float[] right = converter.second;
    int at = from;
    while (to - at >= SHORT) {
      // Whole pairs: a user's op is to see nothing but elements.
      int count = Math.min(to - at, Converter16.BLOCK) & ~1;
      converter.widen(format, a, at, count, left);
      converter.widen(format, b, at, count, right);
      Float32Elements.INSTANCE.combine(op, left, left, right, 0, count, scratch);
      converter.narrow(format, left, r, at, count);
      at += count;
    }
    if (op instanceof UserOp users) {
      if (at < to) {
        combineFew(users, r, a, b, at, to, converter);
      }
      return;
    }
    ReduceOp.Standard standard = (ReduceOp.Standard) op;
    for (; at < to; at++) {
      float x = format.widen(a[at]);
      float y = format.widen(b[at]);
      r[at] =
          format.narrow(
              switch (standard) {
                case SUM, AVERAGE -> x + y;
                case PRODUCT -> x * y;
                case MIN -> Math.min(x, y);
                case MAX -> Math.max(x, y);
              });
    }
  }

  private void combineFew(
      UserOp op, short[] r, short[] a, short[] b, int from, int to, Converter16 converter) {
    float[] left = converter.first;
    float[] right = converter.second;
    int count = to - from;
    for (int i = 0; i < count; i++) {
      left[i] = format.widen(a[from + i]);
      right[i] = format.widen(b[from + i]);
    }
    op.combine(left, left, right, 0, count);
    for (int i = 0; i < count; i++) {
      r[from + i] = format.narrow(left[i]);
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

  /** Pairs are converted together. */
  private static int even(int count) {
    return count + count % 2;
  }

  @Override
  void divide(Object array, int from, int to, int divisor, Scratch scratch) {
    short[] a = (short[]) array;
    Converter16 converter = scratch.converter16();
    float[] values = converter.first;
    int at = from;
    while (to - at >= SHORT) {
      int count = Math.min(to - at, Converter16.BLOCK);
      converter.widen(format, a, at, count, values);
      Float32Elements.INSTANCE.divide(values, 0, even(count), divisor, scratch);
      converter.narrow(format, values, a, at, count);
      at += count;
    }
    for (; at < to; at++) {
      a[at] = format.narrow(format.widen(a[at]) / divisor);
    }
  }
}
