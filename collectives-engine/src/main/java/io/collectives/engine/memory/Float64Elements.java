package io.collectives.engine.memory;

import io.collectives.ElementType;
import io.collectives.UserOp;
import io.collectives.internal.MemoryKernels.Ending;
import io.collectives.spi.FrameBytes;
import java.lang.invoke.MethodHandles;
import java.nio.Buffer;
import java.nio.DoubleBuffer;
import java.util.Arrays;
import java.util.function.DoubleBinaryOperator;

/** The elements of {@link ElementType#FLOAT64}. */
final class Float64Elements extends ArithmeticElements {
  static final Float64Elements INSTANCE = new Float64Elements();

  private Float64Elements() {
    super(ElementType.FLOAT64, double[].class, DoubleBuffer.class, Doubles.class);
  }

  @Override
  Buffer view(FrameBytes frame) {
    return frame.doubles();
  }

  @Override
  void get(Buffer source, int from, Object array, int offset, int count) {
    ((DoubleBuffer) source).get(from, (double[]) array, offset, count);
  }

  @Override
  void put(Buffer target, int at, Object array, int offset, int count) {
    ((DoubleBuffer) target).put(at, (double[]) array, offset, count);
  }

  @Override
  void copy(Buffer target, int at, Buffer source, int from, int count) {
    ((DoubleBuffer) target).put(at, (DoubleBuffer) source, from, count);
  }

  @Override
  void copyRuns(
      Object target, int to, Object source, int from, Strides strides, int run, int runs) {
    int toStride = strides.target();
    int fromStride = strides.source();
    for (int i = 0, a = to, b = from; i < runs; i++, a += toStride, b += fromStride) {
      if (source instanceof double[] s && target instanceof double[] t) {
        for (int k = 0; k < run; k++) {
          t[a + k] = s[b + k];
        }
      } else if (source instanceof double[] s) {
        for (int k = 0; k < run; k++) {
          ((DoubleBuffer) target).put(a + k, s[b + k]);
        }
      } else if (target instanceof double[] t) {
        for (int k = 0; k < run; k++) {
          t[a + k] = ((DoubleBuffer) source).get(b + k);
        }
      } else {
        for (int k = 0; k < run; k++) {
          ((DoubleBuffer) target).put(a + k, ((DoubleBuffer) source).get(b + k));
        }
      }
    }
  }

  @Override
  void combine(UserOp op, Object result, Object own, Object other, int from, int to) {
    op.combine((double[]) result, (double[]) own, (double[]) other, from, to);
  }

  @Override
  boolean canBeNonFinite() {
    return true;
  }

  /** The difference of such a number and itself is not a number, and stays so. */
  @Override
  void mark(Object values, Object marks, int count) {
    mark((double[]) values, (double[]) marks, count);
  }

  private static void mark(double[] v, double[] m, int count) {
    for (int i = 0; i < count; i++) {
      m[i] += v[i] - v[i];
    }
  }

  @Override
  boolean takeMarks(Object marks) {
    double[] m = (double[]) marks;
    boolean any = false;
    for (int i = 0; i < m.length; i++) {
      any |= m[i] != 0;
    }
    if (any) {
      Arrays.fill(m, 0);
    }
    return any;
  }

  @Override
  int firstNonFinite(Object values, int count) {
    double[] v = (double[]) values;
    for (int i = 0; i < count; i++) {
      if (!Double.isFinite(v[i])) {
        return i;
      }
    }
    return -1;
  }

  @Override
  double value(Object values, int index) {
    return ((double[]) values)[index];
  }

  /** The template; see {@link Loops}. */
  static final class Doubles extends Loops {
    private static final Kind KIND = kind(MethodHandles.lookup());
    private static final DoubleBinaryOperator OP = KIND.op().doubles();
    private static final Ending ENDING = KIND.ending();
    private static final int SIZE = KIND.size();
    private static final boolean TO_ALL = KIND.toAll();

    /** The product has the bits of the quotient. */
    private static double end(double x, double by) {
      return ENDING == Ending.NONE ? x : ENDING == Ending.POWER_OF_TWO ? x * by : x / by;
    }

    private static double by(int divisor) {
      return ENDING == Ending.POWER_OF_TWO ? 1.0 / divisor : divisor;
    }

    @Override
    void reduce(
        Object[] results, Object own, Object[] others, int first, int from, int to, int divisor) {
      double[] r = (double[]) results[0];
      double[] s = TO_ALL && SIZE > 1 ? (double[]) results[1] : r;
      double[] t = TO_ALL && SIZE > 2 ? (double[]) results[2] : r;
      double[] u = TO_ALL && SIZE > 3 ? (double[]) results[3] : r;
      double[] a = (double[]) own;
      double[] b = SIZE > 1 ? (double[]) others[first] : a;
      double[] c = SIZE > 2 ? (double[]) others[first + 1] : a;
      double[] d = SIZE > 3 ? (double[]) others[first + 2] : a;
      double by = by(divisor);
      for (int i = from; i < to; i++) {
        double x = a[i];
        if (SIZE > 1) {
          x = OP.applyAsDouble(x, b[i]);
        }
        if (SIZE > 2) {
          x = OP.applyAsDouble(x, c[i]);
        }
        if (SIZE > 3) {
          x = OP.applyAsDouble(x, d[i]);
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
