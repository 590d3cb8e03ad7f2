package io.collectives.engine.memory;

import io.collectives.ElementType;
import io.collectives.UserOp;
import io.collectives.internal.MemoryKernels.Ending;
import io.collectives.spi.FrameBytes;
import java.lang.invoke.MethodHandles;
import java.nio.Buffer;
import java.nio.IntBuffer;
import java.util.function.IntBinaryOperator;

/** The elements of {@link ElementType#INT32}. */
final class Int32Elements extends ArithmeticElements {
  static final Int32Elements INSTANCE = new Int32Elements();

  private Int32Elements() {
    super(ElementType.INT32, int[].class, IntBuffer.class, Ints.class);
  }

  @Override
  Buffer view(FrameBytes frame) {
    return frame.ints();
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
      Object target, int to, Object source, int from, Strides strides, int run, int runs) {
    int toStride = strides.target();
    int fromStride = strides.source();
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
  void combine(UserOp op, Object result, Object own, Object other, int from, int to) {
    op.combine((int[]) result, (int[]) own, (int[]) other, from, to);
  }

  /** The template; see {@link Loops}. */
  static final class Ints extends Loops {
    private static final Kind KIND = kind(MethodHandles.lookup());
    private static final IntBinaryOperator OP = KIND.op().ints();
    private static final Ending ENDING = KIND.ending();
    private static final int SIZE = KIND.size();
    private static final boolean TO_ALL = KIND.toAll();

    /** A shift rounds down, so what is negative needs something more to be rounded toward zero. */
    private static int end(int x, int by) {
      return ENDING == Ending.NONE
          ? x
          : ENDING == Ending.POWER_OF_TWO ? x + (x >> 31 >>> 32 - by) >> by : x / by;
    }

    private static int by(int divisor) {
      return ENDING == Ending.POWER_OF_TWO ? Integer.numberOfTrailingZeros(divisor) : divisor;
    }

    @Override
    void reduce(
        Object[] results, Object own, Object[] others, int first, int from, int to, int divisor) {
      int[] r = (int[]) results[0];
      int[] s = TO_ALL && SIZE > 1 ? (int[]) results[1] : r;
      int[] t = TO_ALL && SIZE > 2 ? (int[]) results[2] : r;
      int[] u = TO_ALL && SIZE > 3 ? (int[]) results[3] : r;
      int[] a = (int[]) own;
      int[] b = SIZE > 1 ? (int[]) others[first] : a;
      int[] c = SIZE > 2 ? (int[]) others[first + 1] : a;
      int[] d = SIZE > 3 ? (int[]) others[first + 2] : a;
      int by = by(divisor);
      for (int i = from; i < to; i++) {
        int x = a[i];
        if (SIZE > 1) {
          x = OP.applyAsInt(x, b[i]);
        }
        if (SIZE > 2) {
          x = OP.applyAsInt(x, c[i]);
        }
        if (SIZE > 3) {
          x = OP.applyAsInt(x, d[i]);
        }
        x = end(x, by);
        r[i] = x;
        if (TO_ALL && SIZE > 1) {
          s[i] = x;
        }
        if (TO_ALL && SIZE > 2) {
          t[i] = x;
        }
        if (TO_ALL && SIZE > 3) {
          u[i] = x;
        }
      }
    }
  }
}
