package io.collectives.engine.memory;

import io.collectives.ElementType;
import io.collectives.UserOp;
import io.collectives.internal.MemoryKernels.Ending;
import io.collectives.spi.FrameBytes;
import java.lang.invoke.MethodHandles;
import java.nio.Buffer;
import java.nio.LongBuffer;
import java.util.function.LongBinaryOperator;

/** The elements of {@link ElementType#INT64}. */
final class Int64Elements extends ArithmeticElements {
  static final Int64Elements INSTANCE = new Int64Elements();

  private Int64Elements() {
    super(ElementType.INT64, long[].class, LongBuffer.class, Longs.class);
  }

  @Override
  Buffer view(FrameBytes frame) {
    return frame.longs();
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
      Object target, int to, Object source, int from, Strides strides, int run, int runs) {
    int toStride = strides.target();
    int fromStride = strides.source();
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
  void combine(UserOp op, Object result, Object own, Object other, int from, int to) {
    op.combine((long[]) result, (long[]) own, (long[]) other, from, to);
  }

  /** The template; see {@link Loops}. */
  static final class Longs extends Loops {
    private static final Kind KIND = kind(MethodHandles.lookup());
    private static final LongBinaryOperator OP = KIND.op().longs();
    private static final Ending ENDING = KIND.ending();
    private static final int SIZE = KIND.size();
    private static final boolean TO_ALL = KIND.toAll();

    /** A shift rounds down, so what is negative needs something more to be rounded toward zero. */
    private static long end(long x, int by) {
      return ENDING == Ending.NONE
          ? x
          : ENDING == Ending.POWER_OF_TWO ? x + (x >> 63 >>> 64 - by) >> by : x / by;
    }

    private static int by(int divisor) {
      return ENDING == Ending.POWER_OF_TWO ? Integer.numberOfTrailingZeros(divisor) : divisor;
    }

    @Override
    void reduce(
        Object[] results, Object own, Object[] others, int first, int from, int to, int divisor) {
      long[] r = (long[]) results[0];
      long[] s = TO_ALL && SIZE > 1 ? (long[]) results[1] : r;
      long[] t = TO_ALL && SIZE > 2 ? (long[]) results[2] : r;
      long[] u = TO_ALL && SIZE > 3 ? (long[]) results[3] : r;
      long[] a = (long[]) own;
      long[] b = SIZE > 1 ? (long[]) others[first] : a;
      long[] c = SIZE > 2 ? (long[]) others[first + 1] : a;
      long[] d = SIZE > 3 ? (long[]) others[first + 2] : a;
      int by = by(divisor);
      for (int i = from; i < to; i++) {
        long x = a[i];
        if (SIZE > 1) {
          x = OP.applyAsLong(x, b[i]);
        }
        if (SIZE > 2) {
          x = OP.applyAsLong(x, c[i]);
        }
        if (SIZE > 3) {
          x = OP.applyAsLong(x, d[i]);
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
