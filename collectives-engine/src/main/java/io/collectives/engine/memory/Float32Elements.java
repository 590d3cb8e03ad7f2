package io.collectives.engine.memory;

import io.collectives.ElementType;
import io.collectives.UserOp;
import io.collectives.UserOp.FloatBinaryOperator;
import io.collectives.internal.MemoryKernels.Ending;
import io.collectives.spi.FrameBytes;
import java.lang.invoke.MethodHandles;
import java.nio.Buffer;
import java.nio.FloatBuffer;
import java.util.Arrays;

/** The elements of {@link ElementType#FLOAT32}. */
final class Float32Elements extends ArithmeticElements {
  static final Float32Elements INSTANCE = new Float32Elements();

  private Float32Elements() {
    super(ElementType.FLOAT32, float[].class, FloatBuffer.class, Floats.class);
  }

  @Override
  Buffer view(FrameBytes frame) {
    return frame.floats();
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
      Object target, int to, Object source, int from, Strides strides, int run, int runs) {
    int toStride = strides.target();
    int fromStride = strides.source();
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
  void combine(UserOp op, Object result, Object own, Object other, int from, int to) {
    op.combine((float[]) result, (float[]) own, (float[]) other, from, to);
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

  /** The template; see {@link Loops}. */
  static final class Floats extends Loops {
    private static final Kind KIND = kind(MethodHandles.lookup());
    private static final FloatBinaryOperator OP = KIND.op().floats();
    private static final Ending ENDING = KIND.ending();
    private static final int SIZE = KIND.size();
    private static final boolean TO_ALL = KIND.toAll();

    /** The product has the bits of the quotient. */
    private static float end(float x, float by) {
      return ENDING == Ending.NONE ? x : ENDING == Ending.POWER_OF_TWO ? x * by : x / by;
    }

    private static float by(int divisor) {
      return ENDING == Ending.POWER_OF_TWO ? 1f / divisor : divisor;
    }

    @Override
    void reduce(
        Object[] results, Object own, Object[] others, int first, int from, int to, int divisor) {
      float[] r = (float[]) results[0];
      float[] s = TO_ALL && SIZE > 1 ? (float[]) results[1] : r;
      float[] t = TO_ALL && SIZE > 2 ? (float[]) results[2] : r;
      float[] u = TO_ALL && SIZE > 3 ? (float[]) results[3] : r;
      float[] a = (float[]) own;
      float[] b = SIZE > 1 ? (float[]) others[first] : a;
      float[] c = SIZE > 2 ? (float[]) others[first + 1] : a;
      float[] d = SIZE > 3 ? (float[]) others[first + 2] : a;
      float by = by(divisor);
      for (int i = from; i < to; i++) {
        float x = a[i];
        if (SIZE > 1) {
          x = OP.applyAsFloat(x, b[i]);
        }
        if (SIZE > 2) {
          x = OP.applyAsFloat(x, c[i]);
        }
        if (SIZE > 3) {
          x = OP.applyAsFloat(x, d[i]);
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
