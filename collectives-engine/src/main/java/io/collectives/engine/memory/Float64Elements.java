package io.collectives.engine.memory;

import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.UserOp;
import io.collectives.spi.FrameBytes;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.DoubleBuffer;
import java.util.Arrays;

/** The elements of {@link ElementType#FLOAT64}. */
final class Float64Elements extends Elements {
  static final Float64Elements INSTANCE = new Float64Elements();

  private Float64Elements() {
    super(ElementType.FLOAT64);
  }

  @Override
  Object newArray(int count) {
    return new double[count];
  }

  @Override
  int arrayLength(Object array) {
    if (array instanceof double[] fit) {
      return fit.length;
    }
    throw unfit(array);
  }

  @Override
  Buffer view(ByteBuffer bytes) {
    return bytes.asDoubleBuffer();
  }

  @Override
  Buffer view(FrameBytes frame) {
    return frame.doubles();
  }

  @Override
  Buffer checkView(Buffer view) {
    if (view instanceof DoubleBuffer) {
      return view;
    }
    throw unfit(view);
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
      Object target,
      int to,
      int toStride,
      Object source,
      int from,
      int fromStride,
      int run,
      int runs) {
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
  void combine(
      ReduceOp op, Object result, Object own, Object source, int from, int to, Scratch scratch) {
    double[] r = (double[]) result;
    double[] a = (double[]) own;
    double[] b = (double[]) source;
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
  void combine(
      ReduceOp op,
      Object result,
      Object own,
      Object[] sources,
      int n,
      int from,
      int to,
      Scratch scratch) {
    if (op != ReduceOp.SUM && op != ReduceOp.AVERAGE || to - from < SHORT) {
      super.combine(op, result, own, sources, n, from, to, scratch);
      return;
    }
    double[] r = (double[]) result;
    double[] left = (double[]) own;
    int i = 0;
    for (; n - i >= 3; i += 3) {
      add(
          r,
          left,
          (double[]) sources[i],
          (double[]) sources[i + 1],
          (double[]) sources[i + 2],
          from,
          to);
      left = r;
    }
    for (; i < n; i++) {
      add(r, left, (double[]) sources[i], from, to);
      left = r;
    }
  }

  @Override
  boolean combineToAll(
      ReduceOp op,
      Object result,
      Object own,
      Object[] sources,
      Object[] targets,
      int n,
      int from,
      int to) {
    if (op != ReduceOp.SUM || to - from < SHORT) {
      return false;
    }
    double[] r = (double[]) result;
    double[] a = (double[]) own;
    if (n == 1) {
      addToBoth(r, (double[]) targets[0], a, (double[]) sources[0], from, to);
    } else if (n == 3) {
      addToFour(
          r,
          (double[]) targets[0],
          (double[]) targets[1],
          (double[]) targets[2],
          a,
          (double[]) sources[0],
          (double[]) sources[1],
          (double[]) sources[2],
          from,
          to);
    } else {
      return false;
    }
    return true;
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

  @Override
  void divide(Object array, int from, int to, int divisor, Scratch scratch) {
    double[] a = (double[]) array;
    if (to - from >= SHORT) {
      divideMany(a, from, to, divisor);
      return;
    }
    for (int i = from; i < to; i++) {
      a[i] /= divisor;
    }
  }

  private static void divideMany(double[] a, int from, int to, int divisor) {
    for (int i = from; i < to; i++) {
      a[i] /= divisor;
    }
  }

  private static void few(
      ReduceOp.Standard op, double[] r, double[] a, double[] b, int from, int to) {
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

  private static void add(double[] r, double[] a, double[] b, int from, int to) {
    for (int i = from; i < to; i++) {
      r[i] = a[i] + b[i];
    }
  }

  private static void add(
      double[] r, double[] a, double[] b, double[] c, double[] d, int from, int to) {
    for (int i = from; i < to; i++) {
      r[i] = a[i] + b[i] + c[i] + d[i];
    }
  }

  private static void addToBoth(double[] r, double[] s, double[] a, double[] b, int from, int to) {
    for (int i = from; i < to; i++) {
      double sum = a[i] + b[i];
      r[i] = sum;
      s[i] = sum;
    }
  }

  private static void addToFour(
      double[] r,
      double[] s,
      double[] t,
      double[] u,
      double[] a,
      double[] b,
      double[] c,
      double[] d,
      int from,
      int to) {
    for (int i = from; i < to; i++) {
      double sum = a[i] + b[i] + c[i] + d[i];
      r[i] = sum;
      s[i] = sum;
      t[i] = sum;
      u[i] = sum;
    }
  }

  private static void multiply(double[] r, double[] a, double[] b, int from, int to) {
    for (int i = from; i < to; i++) {
      r[i] = a[i] * b[i];
    }
  }

  private static void min(double[] r, double[] a, double[] b, int from, int to) {
    for (int i = from; i < to; i++) {
      r[i] = Math.min(a[i], b[i]);
    }
  }

  private static void max(double[] r, double[] a, double[] b, int from, int to) {
    for (int i = from; i < to; i++) {
      r[i] = Math.max(a[i], b[i]);
    }
  }
}
