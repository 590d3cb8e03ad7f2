package io.collectives.engine.memory;

import io.collectives.spi.FrameBytes;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.util.Arrays;

/**
 * Converts blocks of floats to numbers of 8 bits with common exponents and back. Belongs to one
 * thread at a time.
 *
 * <p>Four numbers share an int, packed in <em>planes</em>: with {@code words} ints, int i holds
 * floats {@code i}, {@code i + words}, {@code i + 2 words} and {@code i + 3 words}, from its lowest
 * byte on. Ints come in up to eight <em>groups</em> of {@value #GROUP}; all numbers of a group, 256
 * of them, are multiples of one power of two, the least of which 127 reach the greatest.
 *
 * <pre>
 *   float   f = q * 2^e,   q from -127 to 127,   e a byte for each group
 * </pre>
 *
 * <p>A power of two, not the greatest itself divided by 127: so the division is exact, what is lost
 * is known exactly, and a group that is packed again stays what it is (its greatest q is 64 or
 * more, which asks for the same e), at the price of half a bit on average.
 *
 * <p>A group that holds NaN or an infinity, or what would become infinite by rounding, arrives as
 * NaN, all of it. Numbers below 2<sup>-121</sup> arrive as 0.
 *
 * <p>A float becomes an integer, and back, by adding and taking away {@value #ROUNDER}, in whose
 * neighbourhood floats are whole numbers, rounded to the nearest even; its last bits are the
 * integer. Bits become floats by bulk copies, as in {@link Converter16}, and all loops have one
 * index.
 */
final class Converter8 {
  /** The most floats of a block. */
  private static final int BLOCK = NarrowWire.BLOCK;

  private static final int WORDS = BLOCK / 4;

  /** The ints of a group. */
  private static final int GROUP = 64;

  /** 1.5 times 2^23. */
  private static final float ROUNDER = 12_582_912f;

  private static final int ROUNDER_BITS = 0x4b40_0000;
  private static final int MAGNITUDE = 0x7fff_ffff;

  /** The exponent that stands for NaN. */
  private static final int NAN = 255;

  /** What is taken from an exponent to make a byte of it. */
  private static final int LEAST_EXPONENT = -120;

  /** The greatest magnitude that is sent, 127 * 2^121; the next float rounds to infinity. */
  private static final int GREATEST_BITS = 0x7f7e_0000;

  final int[] packed = new int[WORDS];
  private final int[] a = new int[WORDS];
  private final int[] b = new int[WORDS];
  private final int[] c = new int[WORDS];
  private final int[] d = new int[WORDS];
  private final float[] scales = new float[BLOCK];
  private final float[] scaled = new float[BLOCK];
  private final IntBuffer ints;
  private final FloatBuffer floats;

  Converter8() {
    FrameBytes bytes = new FrameBytes(ByteBuffer.allocateDirect(BLOCK * Float.BYTES));
    ints = bytes.ints();
    floats = bytes.floats();
  }

  /**
   * Packs {@code 4 * words} floats.
   *
   * @return the exponents of the groups, the first in the lowest byte
   */
  long narrow(float[] values, int words) {
    toPlanes(values, words);
    greatest(packed, a, b, c, d, words);
    long exponents = 0;
    for (int from = 0; from < words; from += GROUP) {
      int to = Math.min(words, from + GROUP);
      int exponent = exponent(greatest(packed, from, to));
      exponents |= (long) exponent << from / GROUP * 8;
      Arrays.fill(
          scales, from, to, exponent == NAN ? Float.NaN : power(-exponent - LEAST_EXPONENT));
    }
    spread(words);
    round(scaled, values, scales, 4 * words);
    toPlanes(scaled, words);
    pack(packed, a, b, c, d, words);
    return exponents;
  }

  /** The inverse of {@link #narrow}. */
  void widen(long exponents, float[] values, int words) {
    for (int from = 0; from < words; from += GROUP) {
      int to = Math.min(words, from + GROUP);
      int exponent = (int) (exponents >>> from / GROUP * 8) & 0xff;
      Arrays.fill(scales, from, to, exponent == NAN ? Float.NaN : power(exponent + LEAST_EXPONENT));
    }
    spread(words);
    unpack(packed, a, b, c, d, words);
    ints.put(0, a, 0, words);
    ints.put(words, b, 0, words);
    ints.put(2 * words, c, 0, words);
    ints.put(3 * words, d, 0, words);
    floats.get(0, values, 0, 4 * words);
    scale(values, scales, 4 * words);
  }

  private void toPlanes(float[] values, int words) {
    floats.put(0, values, 0, 4 * words);
    ints.get(0, a, 0, words);
    ints.get(words, b, 0, words);
    ints.get(2 * words, c, 0, words);
    ints.get(3 * words, d, 0, words);
  }

  /** All planes have the scales of the first. */
  private void spread(int words) {
    System.arraycopy(scales, 0, scales, words, words);
    System.arraycopy(scales, 0, scales, 2 * words, 2 * words);
  }

  private static float power(int exponent) {
    return Float.intBitsToFloat(exponent + 127 << 23);
  }

  /** As {@link #narrow}, of a single group that is too short for a vector loop. */
  long narrowFew(float[] values, int words) {
    int greatest = 0;
    for (int i = 0; i < 4 * words; i++) {
      greatest = Math.max(greatest, Float.floatToRawIntBits(values[i]) & MAGNITUDE);
    }
    int exponent = exponent(greatest);
    float scale = exponent == NAN ? Float.NaN : power(-exponent - LEAST_EXPONENT);
    Arrays.fill(packed, 0, words, 0);
    for (int i = 0; i < 4 * words; i++) {
      int rounded = Float.floatToRawIntBits(values[i] * scale + ROUNDER);
      packed[i % words] |= (rounded & 0xff) << i / words * 8;
    }
    return exponent;
  }

  /** The inverse of {@link #narrowFew}. */
  void widenFew(long exponents, float[] values, int words) {
    int exponent = (int) exponents & 0xff;
    float scale = exponent == NAN ? Float.NaN : power(exponent + LEAST_EXPONENT);
    for (int i = 0; i < 4 * words; i++) {
      values[i] = (byte) (packed[i % words] >> i / words * 8) * scale;
    }
  }

  private static int greatest(int[] magnitudes, int from, int to) {
    int greatest = 0;
    for (int i = from; i < to; i++) {
      greatest = Math.max(greatest, magnitudes[i]);
    }
    return greatest;
  }

  /** The exponent, as a byte, of a group whose greatest magnitude has these bits. */
  private static int exponent(int greatest) {
    if (greatest > GREATEST_BITS) {
      return NAN;
    }
    // 127 is 1.984375 * 2^6; a mantissa beyond that carries into the exponent.
    int exponent = (greatest + 0x1_ffff >>> 23) - 127 - 6;
    return Math.max(exponent, LEAST_EXPONENT) - LEAST_EXPONENT;
  }

  /** The bits of magnitudes are in the order of magnitudes. */
  private static void greatest(int[] most, int[] a, int[] b, int[] c, int[] d, int count) {
    for (int i = 0; i < count; i++) {
      int w = a[i] & MAGNITUDE;
      int x = b[i] & MAGNITUDE;
      int y = c[i] & MAGNITUDE;
      int z = d[i] & MAGNITUDE;
      int wx = w - (w - x & w - x >> 31);
      int yz = y - (y - z & y - z >> 31);
      most[i] = wx - (wx - yz & wx - yz >> 31);
    }
  }

  private static void round(float[] result, float[] values, float[] scales, int count) {
    for (int i = 0; i < count; i++) {
      result[i] = values[i] * scales[i] + ROUNDER;
    }
  }

  private static void scale(float[] values, float[] scales, int count) {
    for (int i = 0; i < count; i++) {
      values[i] = (values[i] - ROUNDER) * scales[i];
    }
  }

  private static void pack(int[] packed, int[] a, int[] b, int[] c, int[] d, int count) {
    for (int i = 0; i < count; i++) {
      packed[i] = a[i] & 0xff | (b[i] & 0xff) << 8 | (c[i] & 0xff) << 16 | d[i] << 24;
    }
  }

  private static void unpack(int[] packed, int[] a, int[] b, int[] c, int[] d, int count) {
    for (int i = 0; i < count; i++) {
      int word = packed[i];
      a[i] = (word << 24 >> 24) + ROUNDER_BITS;
      b[i] = (word << 16 >> 24) + ROUNDER_BITS;
      c[i] = (word << 8 >> 24) + ROUNDER_BITS;
      d[i] = (word >> 24) + ROUNDER_BITS;
    }
  }
}
