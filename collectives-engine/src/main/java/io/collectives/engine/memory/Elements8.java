package io.collectives.engine.memory;

import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.spi.FrameBytes;
import java.nio.Buffer;
import java.nio.ByteBuffer;

/** The elements of {@link ElementType#INT8} and {@link ElementType#UINT8}. */
final class Elements8 extends Elements {
  static final Elements8 INT8 = new Elements8(ElementType.INT8, 0);
  static final Elements8 UINT8 = new Elements8(ElementType.UINT8, 0x80);

  /** What turns the order of the numbers into that of Java's bytes. */
  private final int flip;

  private Elements8(ElementType type, int flip) {
    super(type);
    this.flip = flip;
  }

  @Override
  Object newArray(int count) {
    return new byte[count];
  }

  @Override
  int arrayLength(Object array) {
    if (array instanceof byte[] fit) {
      return fit.length;
    }
    throw unfit(array);
  }

  @Override
  Buffer view(ByteBuffer bytes) {
    return bytes.slice();
  }

  @Override
  Buffer view(FrameBytes frame) {
    return frame.singles();
  }

  @Override
  Buffer checkView(Buffer view) {
    if (view instanceof ByteBuffer) {
      return view;
    }
    throw unfit(view);
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
      Object target,
      int to,
      int toStride,
      Object source,
      int from,
      int fromStride,
      int run,
      int runs) {
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
  void combine(
      ReduceOp op, Object result, Object own, Object source, int from, int to, Scratch scratch) {
    byte[] r = (byte[]) result;
    byte[] a = (byte[]) own;
    byte[] b = (byte[]) source;
    switch ((ReduceOp.Standard) op) {
      case SUM, AVERAGE -> add(r, a, b, from, to);
      case PRODUCT -> multiply(r, a, b, from, to);
      case MIN -> min(r, a, b, from, to, flip);
      case MAX -> max(r, a, b, from, to, flip);
    }
  }

  @Override
  void divide(Object array, int from, int to, int divisor, Scratch scratch) {
    byte[] a = (byte[]) array;
    for (int i = from; i < to; i++) {
      int value = flip == 0 ? a[i] : a[i] & 0xff;
      a[i] = (byte) (value / divisor);
    }
  }

  private static void add(byte[] r, byte[] a, byte[] b, int from, int to) {
    for (int i = from; i < to; i++) {
      r[i] = (byte) (a[i] + b[i]);
    }
  }

  private static void multiply(byte[] r, byte[] a, byte[] b, int from, int to) {
    for (int i = from; i < to; i++) {
      r[i] = (byte) (a[i] * b[i]);
    }
  }

  private static void min(byte[] r, byte[] a, byte[] b, int from, int to, int flip) {
    for (int i = from; i < to; i++) {
      r[i] = (byte) (Math.min((byte) (a[i] ^ flip), (byte) (b[i] ^ flip)) ^ flip);
    }
  }

  private static void max(byte[] r, byte[] a, byte[] b, int from, int to, int flip) {
    for (int i = from; i < to; i++) {
      r[i] = (byte) (Math.max((byte) (a[i] ^ flip), (byte) (b[i] ^ flip)) ^ flip);
    }
  }
}
