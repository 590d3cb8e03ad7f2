package io.collectives.engine.memory;

import io.collectives.spi.FrameBytes;
import java.nio.ByteBuffer;
import java.nio.IntBuffer;
import java.nio.ShortBuffer;

/**
 * Converts blocks of numbers of 16 bits to floats and back. Belongs to one thread at a time.
 *
 * <p>Two numbers share an int, packed in <em>planes</em>: with {@code pairs} ints, int i holds
 * float i in its lower half and float {@code i + pairs} in its upper half. So each loop reads and
 * writes several arrays at one index. Bits become floats, and floats bits, by bulk copies from or
 * to arrays of bytes, one for each plane, whose bytes loops see as ints:
 *
 * <pre>
 *   packed  [h0 l0|h1 l1|h2 l2]      widen   low  [l0|l1|l2]  high [h0|h1|h2]
 *   floats  [l0,l1,l2,h0,h1,h2]      copied
 * </pre>
 */
final class Converter16 {
  static final Scratch.Key<Converter16> KEY = new Scratch.Key<>(Converter16::new);

  /**
   * The most floats of a block: all that takes part then stays near the L1 cache, and the first and
   * last steps of loops, which are not vectors, are few beside the others.
   */
  static final int BLOCK = 4096;

  /** The most floats of a plane. */
  static final int PLANE = BLOCK / 2;

  /**
   * The packed numbers that are converted from and to; behind them there is room for as many again.
   */
  final int[] packed = new int[BLOCK];

  /** Room for a block of operands. */
  final float[] first = new float[BLOCK];

  /** Room for another. */
  final float[] second = new float[BLOCK];

  /** Both, the first of which is also the result. */
  final Operands pair = Operands.of(first, second);

  /** The first alone. */
  final Operands alone = Operands.of((Object) first);

  /** The bits of half a block of floats. */
  final Plane low = new Plane();

  /** The plane of the other half. */
  final Plane high = new Plane();

  private final ShortBuffer shorts;
  private final IntBuffer ints;

  Converter16() {
    FrameBytes neighbours = new FrameBytes(ByteBuffer.allocate(BLOCK * Short.BYTES));
    shorts = neighbours.shorts();
    ints = neighbours.ints();
  }

  /** Half a block of floats on its way. */
  static final class Plane {
    final byte[] bytes = new byte[PLANE * Float.BYTES];
    final FrameBytes frame = new FrameBytes(ByteBuffer.wrap(bytes));

    /** Room for as many numbers of 16 bits. */
    final short[] halves = new short[PLANE];
  }

  /** The floats of both planes come into an array. */
  void take(float[] values, int to, int count) {
    int pairs = (count + 1) / 2;
    low.frame.floats().get(0, values, to, pairs);
    high.frame.floats().get(0, values, to + pairs, count - pairs);
  }

  /**
   * Floats of numbers of 16 bits that lie in memory, in an order that {@link #narrow(Format16,
   * float[], short[], int, int)} knows: one more than {@code count} if that is odd.
   */
  void widen(Format16 format, short[] source, int from, int count, float[] values) {
    if (format.isJdks()) {
      JdkFloat16.widen(source, from, values, 0, count);
      return;
    }
    // Two neighbours share an int; the last of an odd count shares its with a zero.
    int pairs = (count + 1) / 2;
    shorts.put(0, source, from, count);
    if (2 * pairs > count) {
      shorts.put(count, (short) 0);
    }
    ints.get(0, packed, 0, pairs);
    format.widen(this, values, 0, 2 * pairs);
  }

  /** The inverse of {@link #widen(Format16, short[], int, int, float[])}. */
  void narrow(Format16 format, float[] values, short[] target, int to, int count) {
    if (format.isJdks()) {
      JdkFloat16.narrow(values, 0, target, to, count);
      return;
    }
    int pairs = (count + 1) / 2;
    format.narrow(this, values, 0, 2 * pairs);
    ints.put(0, packed, 0, pairs);
    shorts.get(0, target, to, count);
  }
}
