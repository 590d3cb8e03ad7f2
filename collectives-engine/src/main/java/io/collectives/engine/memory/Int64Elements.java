package io.collectives.engine.memory;

import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.UserOp;
import io.collectives.spi.FrameBytes;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.LongBuffer;

/** The elements of {@link ElementType#INT64}. */
final class Int64Elements extends Elements {
  static final Int64Elements INSTANCE = new Int64Elements();

  private Int64Elements() {
    super(ElementType.INT64);
  }

  @Override
  Object newArray(int count) {
    return new long[count];
  }

  @Override
  int arrayLength(Object array) {
    if (array instanceof long[] fit) {
      return fit.length;
    }
    throw unfit(array);
  }

  @Override
  Buffer view(ByteBuffer bytes) {
    return bytes.asLongBuffer();
  }

  @Override
  Buffer view(FrameBytes frame) {
    return frame.longs();
  }

  @Override
  Buffer checkView(Buffer view) {
    if (view instanceof LongBuffer) {
      return view;
    }
    throw unfit(view);
  }

  @Override
  void get(Buffer source, int from, Object array, int offset, int count) {
    ((LongBuffer) source).get(from, (long[]) array, offset, count);
  }

  @Override
  void put(Buffer target, int at, Object array, int offset, int count) {
    ((LongBuffer) target).put(at, (long[]) array, offset, count);
  }

  @Override
  void copy(Buffer target, int at, Buffer source, int from, int count) {
    ((LongBuffer) target).put(at, (LongBuffer) source, from, count);
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
      if (source instanceof long[] s && target instanceof long[] t) {
        for (int k = 0; k < run; k++) {
          t[a + k] = s[b + k];
        }
      } else if (source instanceof long[] s) {
        for (int k = 0; k < run; k++) {
          ((LongBuffer) target).put(a + k, s[b + k]);
        }
      } else if (target instanceof long[] t) {
        for (int k = 0; k < run; k++) {
          t[a + k] = ((LongBuffer) source).get(b + k);
        }
      } else {
        for (int k = 0; k < run; k++) {
          ((LongBuffer) target).put(a + k, ((LongBuffer) source).get(b + k));
        }
      }
    }
  }

  @Override
  void combine(
      ReduceOp op, Object result, Object own, Object source, int from, int to, Scratch scratch) {
    long[] r = (long[]) result;
    long[] a = (long[]) own;
    long[] b = (long[]) source;
    if (op instanceof UserOp users) {
      users.combine(r, a, b, from, to);
      return;
    }
    ReduceOp.Standard standard = (ReduceOp.Standard) op;
    if (to - from < SHORT) {
      few(standard, r, a, b, from, to);
      return;
    }
    switch (standard) {
      case SUM, AVERAGE -> add(r, a, b, from, to);
      case PRODUCT -> multiply(r, a, b, from, to);
      case MIN -> min(r, a, b, from, to);
      case MAX -> max(r, a, b, from, to);
    }
  }

  @Override
  void divide(Object array, int from, int to, int divisor, Scratch scratch) {
    long[] a = (long[]) array;
    for (int i = from; i < to; i++) {
      a[i] /= divisor;
    }
  }

  private static void few(ReduceOp.Standard op, long[] r, long[] a, long[] b, int from, int to) {
    for (int i = from; i < to; i++) {
      r[i] =
          switch (op) {
            case SUM, AVERAGE -> a[i] + b[i];
            case PRODUCT -> a[i] * b[i];
            case MIN -> Math.min(a[i], b[i]);
            case MAX -> Math.max(a[i], b[i]);
          };
    }
  }

  private static void add(long[] r, long[] a, long[] b, int from, int to) {
    for (int i = from; i < to; i++) {
      r[i] = a[i] + b[i];
    }
  }

  private static void multiply(long[] r, long[] a, long[] b, int from, int to) {
    for (int i = from; i < to; i++) {
      r[i] = a[i] * b[i];
    }
  }

  /*
   * MIN and MAX are made of additions and bits, because C2 of JDK 17 does not vectorise Math.min of
   * longs. d is the difference of both; what is shifted has the sign of the true difference, even
   * where d overflowed.
   */

  private static void min(long[] r, long[] a, long[] b, int from, int to) {
    for (int i = from; i < to; i++) {
      long x = a[i];
      long y = b[i];
      long d = x - y;
      r[i] = y ^ ((x ^ y) & ((d ^ ((x ^ y) & (d ^ x))) >> 63));
    }
  }

  private static void max(long[] r, long[] a, long[] b, int from, int to) {
    for (int i = from; i < to; i++) {
      long x = a[i];
      long y = b[i];
      long d = x - y;
      r[i] = x ^ ((x ^ y) & ((d ^ ((x ^ y) & (d ^ x))) >> 63));
    }
  }
}
