package io.collectives.engine.memory;

import io.collectives.ElementType;
import io.collectives.UserOp;
import io.collectives.internal.MemoryKernels.Ending;
import io.collectives.spi.FrameBytes;
import java.lang.invoke.MethodHandles;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.util.function.IntBinaryOperator;

/** The elements of {@link ElementType#INT8} and {@link ElementType#UINT8}. */
final class Elements8 extends ArithmeticElements {
  static final Elements8 INT8 = new Elements8(ElementType.INT8);
  static final Elements8 UINT8 = new Elements8(ElementType.UINT8);

  private Elements8(ElementType type) {
    super(type, byte[].class, ByteBuffer.class, Bytes.class);
  }

  @Override
  Buffer view(FrameBytes frame) {
    return frame.singles();
  }

  @Override
  void get(Buffer source, int from, Object array, int offset, int count) {
    ((ByteBuffer) source).get(from, (byte[]) array, offset, count);
  }

  @Override
  void put(Buffer target, int at, Object array, int offset, int count) {
    ((ByteBuffer) target).put(at, (byte[]) array, offset, count);
  }

  @Override
  void copy(Buffer target, int at, Buffer source, int from, int count) {
    ((ByteBuffer) target).put(at, (ByteBuffer) source, from, count);
  }

  @Override
  void copyRuns(
      Object target, int to, Object source, int from, Strides strides, int run, int runs) {
    int toStride = strides.target();
    int fromStride = strides.source();
    for (int i = 0, a = to, b = from; i < runs; i++, a += toStride, b += fromStride) {
      if (source instanceof byte[] s && target instanceof byte[] t) {
        for (int k = 0; k < run; k++) {
          t[a + k] = s[b + k];
        }
      } else if (source instanceof byte[] s) {
        for (int k = 0; k < run; k++) {
          ((ByteBuffer) target).put(a + k, s[b + k]);
        }
      } else if (target instanceof byte[] t) {
        for (int k = 0; k < run; k++) {
          t[a + k] = ((ByteBuffer) source).get(b + k);
        }
      } else {
        for (int k = 0; k < run; k++) {
          ((ByteBuffer) target).put(a + k, ((ByteBuffer) source).get(b + k));
        }
      }
    }
  }

  @Override
  void combine(UserOp op, Object result, Object own, Object other, int from, int to) {
    throw new IllegalStateException("the op \"" + op + "\" is not for " + type);
  }

  /** The template; see {@link Loops}. */
  static final class Bytes extends Loops {
    private static final Kind KIND = kind(MethodHandles.lookup());
    private static final IntBinaryOperator OP = KIND.op().ints();
    private static final Ending ENDING = KIND.ending();
    private static final int SIZE = KIND.size();
    private static final boolean TO_ALL = KIND.toAll();
    private static final boolean IS_UNSIGNED = KIND.type() == ElementType.UINT8;

    private static int number(byte bits) {
      return IS_UNSIGNED ? bits & 0xff : bits;
    }

    private static byte of(byte x, byte y) {
      return (byte) OP.applyAsInt(number(x), number(y));
    }

    private static byte end(byte x, int divisor) {
      return ENDING == Ending.NONE ? x : (byte) (number(x) / divisor);
    }

    @Override
    void reduce(
        Object[] results, Object own, Object[] others, int first, int from, int to, int divisor) {
      byte[] r = (byte[]) results[0];
      byte[] s = TO_ALL && SIZE > 1 ? (byte[]) results[1] : r;
      byte[] t = TO_ALL && SIZE > 2 ? (byte[]) results[2] : r;
      byte[] u = TO_ALL && SIZE > 3 ? (byte[]) results[3] : r;
      byte[] a = (byte[]) own;
      byte[] b = SIZE > 1 ? (byte[]) others[first] : a;
      byte[] c = SIZE > 2 ? (byte[]) others[first + 1] : a;
      byte[] d = SIZE > 3 ? (byte[]) others[first + 2] : a;
      for (int i = from; i < to; i++) {
        byte x = a[i];
        if (SIZE > 1) {
          x = of(x, b[i]);
        }
        if (SIZE > 2) {
          x = of(x, c[i]);
        }
        if (SIZE > 3) {
          x = of(x, d[i]);
        }
        x = end(x, divisor);
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
