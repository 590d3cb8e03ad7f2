package io.collectives.engine.memory;

import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.UserOp;
import io.collectives.spi.FrameBytes;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.util.Arrays;

/** The elements of {@link ElementType#FLOAT32}. */
final class Float32Elements extends Elements {
  static final Float32Elements INSTANCE = new Float32Elements();

  private Float32Elements() {
    super(ElementType.FLOAT32);
  }

  @Override
  Object newArray(int count) {
    return new float[count];
  }

  @Override
  int arrayLength(Object array) {
    if (array instanceof float[] fit) {
      return fit.length;
    }
    throw unfit(array);
  }

  @Override
  Buffer view(ByteBuffer bytes) {
    return bytes.asFloatBuffer();
  }

  @Override
  Buffer view(FrameBytes frame) {
    return frame.floats();
  }

  @Override
  Buffer checkView(Buffer view) {
    if (view instanceof FloatBuffer) {
      return view;
    }
    throw unfit(view);
  }

  @Override
  void get(Buffer source, int from, Object array, int offset, int count) {
    ((FloatBuffer) source).get(from, (float[]) array, offset, count);
  }

  @Override
  void put(Buffer target, int at, Object array, int offset, int count) {
    ((FloatBuffer) target).put(at, (float[]) array, offset, count);
  }

  @Override
  void copy(Buffer target, int at, Buffer source, int from, int count) {
    ((FloatBuffer) target).put(at, (FloatBuffer) source, from, count);
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
      if (source instanceof float[] s && target instanceof float[] t) {
        for (int k = 0; k < run; k++) {
          t[a + k] = s[b + k];
        }
      } else if (source instanceof float[] s) {
        for (int k = 0; k < run; k++) {
          ((FloatBuffer) target).put(a + k, s[b + k]);
        }
      } else if (target instanceof float[] t) {
        for (int k = 0; k < run; k++) {
          t[a + k] = ((FloatBuffer) source).get(b + k);
        }
      } else {
        for (int k = 0; k < run; k++) {
          ((FloatBuffer) target).put(a + k, ((FloatBuffer) source).get(b + k));
        }
      }
    }
  }

  @Override
  void combine(
      ReduceOp op, Object result, Object own, Object source, int from, int to, Scratch scratch) {
    float[] r = (float[]) result;
    float[] a = (float[]) own;
    float[] b = (float[]) source;
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
    float[] r = (float[]) result;
    float[] left = (float[]) own;
    int i = 0;
    for (; n - i >= 3; i += 3) {
      add(
          r,
          left,
          (float[]) sources[i],
          (float[]) sources[i + 1],
          (float[]) sources[i + 2],
          from,
          to);
      left = r;
    }
    for (; i < n; i++) {
      add(r, left, (float[]) sources[i], from, to);
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
    float[] r = (float[]) result;
    float[] a = (float[]) own;
    if (n == 1) {
      addToBoth(r, (float[]) targets[0], a, (float[]) sources[0], from, to);
    } else if (n == 3) {
      addToFour(
          r,
          (float[]) targets[0],
          (float[]) targets[1],
          (float[]) targets[2],
          a,
          (float[]) sources[0],
          (float[]) sources[1],
          (float[]) sources[2],
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
    mark((float[]) values, (float[]) marks, count);
  }

  private static void mark(float[] v, float[] m, int count) {
    for (int i = 0; i < count; i++) {
      m[i] += v[i] - v[i];
    }
  }

  @Override
  boolean takeMarks(Object marks) {
    float[] m = (float[]) marks;
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
    float[] v = (float[]) values;
    for (int i = 0; i < count; i++) {
      if (!Float.isFinite(v[i])) {
        return i;
      }
    }
    return -1;
  }

  @Override
  double value(Object values, int index) {
    return ((float[]) values)[index];
  }

  @Override
  void divide(Object array, int from, int to, int divisor, Scratch scratch) {
    float[] a = (float[]) array;
    if (to - from >= SHORT) {
      divideMany(a, from, to, divisor);
      return;
    }
    for (int i = from; i < to; i++) {
      a[i] /= divisor;
    }
  }

  private static void divideMany(float[] a, int from, int to, int divisor) {
    for (int i = from; i < to; i++) {
      a[i] /= divisor;
    }
  }

  private static void few(ReduceOp.Standard op, float[] r, float[] a, float[] b, int from, int to) {
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

  private static void add(float[] r, float[] a, float[] b, int from, int to) {
    for (int i = from; i < to; i++) {
      r[i] = a[i] + b[i];
    }
  }

  private static void add(float[] r, float[] a, float[] b, float[] c, float[] d, int from, int to) {
    for (int i = from; i < to; i++) {
      r[i] = a[i] + b[i] + c[i] + d[i];
    }
  }

  private static void addToBoth(float[] r, float[] s, float[] a, float[] b, int from, int to) {
    for (int i = from; i < to; i++) {
      float sum = a[i] + b[i];
      r[i] = sum;
      s[i] = sum;
    }
  }

  private static void addToFour(
      float[] r,
      float[] s,
      float[] t,
      float[] u,
      float[] a,
      float[] b,
      float[] c,
      float[] d,
      int from,
      int to) {
    for (int i = from; i < to; i++) {
      float sum = a[i] + b[i] + c[i] + d[i];
      r[i] = sum;
      s[i] = sum;
      t[i] = sum;
      u[i] = sum;
    }
  }

  private static void multiply(float[] r, float[] a, float[] b, int from, int to) {
    for (int i = from; i < to; i++) {
      r[i] = a[i] * b[i];
    }
  }

  private static void min(float[] r, float[] a, float[] b, int from, int to) {
    for (int i = from; i < to; i++) {
      r[i] = Math.min(a[i], b[i]);
    }
  }

  private static void max(float[] r, float[] a, float[] b, int from, int to) {
    for (int i = from; i < to; i++) {
      r[i] = Math.max(a[i], b[i]);
    }
  }
}
