package io.collectives.engine.memory;

import io.collectives.spi.FrameBytes;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.ShortBuffer;

/**
 * Converts blocks of numbers of 16 bits to floats and back. Belongs to one thread at a time.
 *
 * <p>Two numbers share an int, packed in <em>planes</em>: with {@code pairs} ints, int i holds
 * float i in its lower half and float {@code i + pairs} in its upper half. So each loop reads and
 * writes several arrays at one index. Bits become floats, and floats bits, by bulk copies through a
 * buffer with views of both types:
 *
 * <pre>
 *   packed  [h0 l0|h1 l1|h2 l2]      widen   low  [l0|l1|l2]  high [h0|h1|h2]
 *   buffer  [l0|l1|l2|h0|h1|h2]      copied as ints, read as floats
 *   floats  [l0,l1,l2,h0,h1,h2]
 * </pre>
 */
final class Converter16 {
  /** The most floats of a block: all that takes part then stays near the L1 cache. */
  static final int BLOCK = NarrowWire.BLOCK;

  /** Where the second plane begins in an array of bits, also where planes are shorter. */
  static final int PLANE = BLOCK / 2;

  /** What is converted from and to. */
  final int[] packed = new int[BLOCK / 2];

  /** Room for a block of operands. */
  final float[] first = new float[BLOCK];

  /** Room for another. */
  final float[] second = new float[BLOCK];

  /** Of floats on their way; the second plane begins at {@link #PLANE}. */
  private final int[] bits = new int[BLOCK];

  private final int[] aidBits = new int[BLOCK];
  private final float[] aid = new float[BLOCK];
  private final short[] halves = new short[BLOCK];
  private final short[] highHalves = new short[BLOCK / 2];

  /** Floats on their way from or to memory, of formats that need no more than the bits. */
  final FrameBytes bytes = new FrameBytes(ByteBuffer.allocateDirect(BLOCK * Float.BYTES));

  private final ShortBuffer shorts;
  private final IntBuffer ints;
  private final FloatBuffer floats;

  Converter16() {
    shorts = bytes.shorts();
    ints = bytes.ints();
    floats = bytes.floats();
  }

  /** {@code 2 * pairs} floats of what is packed. */
  void widen(Format16 format, int pairs, float[] values) {
    widen(format, pairs);
    floats.get(0, values, 0, 2 * pairs);
    format.widened(values, 0, 2 * pairs);
  }

  /** The same, to {@link #bytes}. */
  void widen(Format16 format, int pairs) {
    format.widen(packed, bits, pairs);
    if (pairs == PLANE) {
      ints.put(0, bits, 0, BLOCK);
    } else {
      ints.put(0, bits, 0, pairs);
      ints.put(pairs, bits, PLANE, pairs);
    }
  }

  /** Packs {@code 2 * pairs} floats. */
  void narrow(Format16 format, int pairs, float[] values) {
    if (format.isJdks()) {
      JdkFloat16.narrow(values, halves, 2 * pairs);
      System.arraycopy(halves, pairs, highHalves, 0, pairs);
      JdkFloat16.pack(packed, halves, highHalves, pairs);
      return;
    }
    if (format.needsFloats()) {
      Format16.aid(values, aid, 2 * pairs);
      floats.put(0, aid, 0, 2 * pairs);
      get(aidBits, pairs);
    }
    floats.put(0, values, 0, 2 * pairs);
    narrow(format, pairs);
  }

  /** The same, of {@link #bytes}. */
  void narrow(Format16 format, int pairs) {
    get(bits, pairs);
    format.narrow(packed, bits, aidBits, pairs);
  }

  /** The bits of both planes. */
  private void get(int[] target, int pairs) {
    if (pairs == PLANE) {
      ints.get(0, target, 0, BLOCK);
    } else {
      ints.get(0, target, 0, pairs);
      ints.get(pairs, target, PLANE, pairs);
    }
  }

  /**
   * Floats of numbers of 16 bits that lie in memory, in an order that {@link #narrow(Format16,
   * float[], short[], int, int)} knows: one more than {@code count} if that is odd.
   */
  void widen(Format16 format, short[] source, int from, int count, float[] values) {
    if (format.isJdks()) {
      System.arraycopy(source, from, halves, 0, count);
      JdkFloat16.widen(halves, values, count);
      return;
    }
    // Two neighbours share an int; the last of an odd count shares its with a zero.
    int pairs = (count + 1) / 2;
    shorts.put(0, source, from, count);
    if (2 * pairs > count) {
      shorts.put(count, (short) 0);
    }
    ints.get(0, packed, 0, pairs);
    widen(format, pairs, values);
  }

  /** The inverse of {@link #widen(Format16, short[], int, int, float[])}. */
  void narrow(Format16 format, float[] values, short[] target, int to, int count) {
    if (format.isJdks()) {
      JdkFloat16.narrow(values, halves, count);
      System.arraycopy(halves, 0, target, to, count);
      return;
    }
    int pairs = (count + 1) / 2;
    narrow(format, pairs, values);
    ints.put(0, packed, 0, pairs);
    shorts.get(0, target, to, count);
  }
}
