package io.collectives.engine.memory;

import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.UserOp;
import io.collectives.spi.FrameBytes;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.IntBuffer;

/** The elements of {@link ElementType#INT32}. */
final class Int32Elements extends Elements {
  static final Int32Elements INSTANCE = new Int32Elements();

  private Int32Elements() {
    super(ElementType.INT32);
  }

  @Override
  Object newArray(int count) {
    return new int[count];
  }

  @Override
  int arrayLength(Object array) {
    if (array instanceof int[] fit) {
      return fit.length;
    }
    throw unfit(array);
  }

  @Override
  Buffer view(ByteBuffer bytes) {
    return bytes.asIntBuffer();
  }

  @Override
  Buffer view(FrameBytes frame) {
    return frame.ints();
  }

  @Override
  Buffer checkView(Buffer view) {
    if (view instanceof IntBuffer) {
      return view;
    }
    throw unfit(view);
  }

  @Override
  void get(Buffer source, int from, Object array, int offset, int count) {
    ((IntBuffer) source).get(from, (int[]) array, offset, count);
  }

  @Override
  void put(Buffer target, int at, Object array, int offset, int count) {
    ((IntBuffer) target).put(at, (int[]) array, offset, count);
  }

  @Override
  void copy(Buffer target, int at, Buffer source, int from, int count) {
    ((IntBuffer) target).put(at, (IntBuffer) source, from, count);
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
      if (source instanceof int[] s && target instanceof int[] t) {
        for (int k = 0; k < run; k++) {
          t[a + k] = s[b + k];
        }
      } else if (source instanceof int[] s) {
        for (int k = 0; k < run; k++) {
          ((IntBuffer) target).put(a + k, s[b + k]);
        }
      } else if (target instanceof int[] t) {
        for (int k = 0; k < run; k++) {
          t[a + k] = ((IntBuffer) source).get(b + k);
        }
      } else {
        for (int k = 0; k < run; k++) {
          ((IntBuffer) target).put(a + k, ((IntBuffer) source).get(b + k));
        }
      }
    }
  }

  @Override
  void combine(
      ReduceOp op, Object result, Object own, Object source, int from, int to, Scratch scratch) {
    int[] r = (int[]) result;
    int[] a = (int[]) own;
    int[] b = (int[]) source;
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
    int[] a = (int[]) array;
    for (int i = from; i < to; i++) {
      a[i] /= divisor;
    }
  }

  private static void few(ReduceOp.Standard op, int[] r, int[] a, int[] b, int from, int to) {
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

  private static void add(int[] r, int[] a, int[] b, int from, int to) {
    for (int i = from; i < to; i++) {
      r[i] = a[i] + b[i];
    }
  }

  private static void multiply(int[] r, int[] a, int[] b, int from, int to) {
    for (int i = from; i < to; i++) {
      r[i] = a[i] * b[i];
    }
  }

  /*
   * MIN and MAX are made of additions and bits, because C2 of JDK 17 does not vectorise Math.min of
   * ints. d is the difference of both; what is shifted has the sign of the true difference, even
   * where d overflowed.
   */

  private static void min(int[] r, int[] a, int[] b, int from, int to) {
    for (int i = from; i < to; i++) {
      int x = a[i];
      int y = b[i];
      int d = x - y;
      r[i] = y ^ ((x ^ y) & ((d ^ ((x ^ y) & (d ^ x))) >> 31));
    }
  }

  private static void max(int[] r, int[] a, int[] b, int from, int to) {
    for (int i = from; i < to; i++) {
      int x = a[i];
      int y = b[i];
      int d = x - y;
      r[i] = x ^ ((x ^ y) & ((d ^ ((x ^ y) & (d ^ x))) >> 31));
    }
  }
}
