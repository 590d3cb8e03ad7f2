package io.collectives.engine.memory;

import io.collectives.internal.Int8Exponents;
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
 * <p>A float becomes an integer, and back, by adding and taking away {@value #ROUNDER}, near which
 * floats are whole numbers, rounded to the nearest even; its last bits are the integer. Bits become
 * floats, and floats bits, by bulk copies, as in {@link Converter16}. To copy half as much, two
 * numbers become one float, {@code (a + 128) + 256 (b + 128)}, and its last 16 bits are those of
 * two bytes, but for the highest bit of each.
 *
 * <p>Plane k of a block begins at {@code k * PLANE}, also where planes are shorter. So indexes of a
 * loop differ by constants, which C2 vectorises too, as long as there are few of them: with more
 * planes in one loop those of floats would be scalar.
 */
final class Converter8 {
  static final Scratch.Key<Converter8> KEY = new Scratch.Key<>(Converter8::new);

  /** The most floats of a block. */
  static final int BLOCK = 2048;

  /** The ints of a block, and the most floats of a plane. */
  private static final int PLANE = BLOCK / 4;

  /** The ints of a group. */
  private static final int GROUP = 64;

  /** The most groups of a block. */
  static final int GROUPS = PLANE / GROUP;

  /** 1.5 times 2^23. */
  private static final float ROUNDER = 12_582_912f;

  /** The value that 0 and 0 together become: two bytes of 128. */
  private static final float ZEROS = 128 + 256 * 128;

  /** The highest bits of all bytes. */
  private static final int HIGHEST = 0x8080_8080;

  /** 2^23, to which bits can be added, and its bits. */
  private static final float BASE = 8_388_608f;

  private static final int BASE_BITS = 0x4b00_0000;
  private static final int MAGNITUDE = 0x7fff_ffff;

  final int[] packed = new int[PLANE];

  /** A block whose planes are shorter. */
  private final float[] planes = new float[BLOCK];

  private final int[] bits = new int[BLOCK];

  /** Of each int the greatest magnitude; beyond there is room to look half a group ahead. */
  private final int[] most = new int[PLANE + GROUP];

  private final int[] mostOf2 = new int[PLANE + GROUP];
  private final int[] mostOf4 = new int[PLANE];
  private final Scales divisors = new Scales();
  private final Scales factors = new Scales();

  /** Two numbers each: of the first two planes, then of the others. */
  private final float[] pairs = new float[2 * PLANE];

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
    float[] from = values;
    if (words < PLANE) {
      from = planes;
      for (int plane = 0; plane < 4; plane++) {
        System.arraycopy(values, plane * words, planes, plane * PLANE, words);
      }
    }
    int end = 3 * PLANE + words;
    floats.put(0, from, 0, end);
    ints.get(0, bits, 0, end);
    greatest(most, bits, words);
    int groups = (words + GROUP - 1) / GROUP;
    Arrays.fill(most, words, groups * GROUP, 0);
    greatestOf2(mostOf2, most, groups * GROUP);
    greatestOf4(mostOf4, mostOf2, groups * GROUP);
    long exponents = 0;
    for (int group = 0; group < groups; group++) {
      int exponent = Int8Exponents.of(greatest(mostOf4, group * GROUP));
      exponents |= (long) exponent << group * 8;
      divisors.set(group, exponent, Int8Exponents.inverse(exponent));
    }
    roundLower(pairs, from, divisors.scales, words);
    roundUpper(pairs, from, divisors.scales, words);
    floats.put(0, pairs, 0, PLANE + words);
    ints.get(0, bits, 0, PLANE + words);
    pack(packed, bits, words);
    return exponents;
  }

  /** The inverse of {@link #narrow}. */
  void widen(long exponents, float[] values, int words) {
    int groups = (words + GROUP - 1) / GROUP;
    for (int group = 0; group < groups; group++) {
      int exponent = (int) (exponents >>> group * 8) & 0xff;
      factors.set(group, exponent, Int8Exponents.step(exponent));
    }
    unpack(bits, packed, words);
    ints.put(0, bits, 0, PLANE + words);
    floats.get(0, pairs, 0, PLANE + words);
    float[] to = words < PLANE ? planes : values;
    partLower(to, pairs, factors.scales, words);
    partUpper(to, pairs, factors.scales, words);
    if (words < PLANE) {
      for (int plane = 0; plane < 4; plane++) {
        System.arraycopy(planes, plane * PLANE, values, plane * words, words);
      }
    }
  }

  /**
   * The scales that the ints of a plane are multiplied with; mostly they are those of the block
   * before.
   */
  private static final class Scales {
    final float[] scales = new float[PLANE];
    private final int[] exponents = new int[GROUPS];

    Scales() {
      Arrays.fill(exponents, -1);
    }

    /** Sets the scale that goes with the exponent of a group. */
    void set(int group, int exponent, float scale) {
      if (exponents[group] != exponent) {
        exponents[group] = exponent;
        Arrays.fill(scales, group * GROUP, (group + 1) * GROUP, scale);
      }
    }
  }

  /** Does the work of {@link #narrow} for a single group that is too short for a vector loop. */
  long narrowFew(float[] values, int words) {
    int greatest = 0;
    for (int i = 0; i < 4 * words; i++) {
      greatest = Math.max(greatest, Float.floatToRawIntBits(values[i]) & MAGNITUDE);
    }
    int exponent = Int8Exponents.of(greatest);
    float scale = Int8Exponents.inverse(exponent);
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
    float scale = Int8Exponents.step(exponent);
    for (int i = 0; i < 4 * words; i++) {
      values[i] = (byte) (packed[i % words] >> i / words * 8) * scale;
    }
  }

  /** The bits of magnitudes are in the order of magnitudes. */
  private static void greatest(int[] most, int[] bits, int count) {
    for (int i = 0; i < count; i++) {
      int w = bits[i] & MAGNITUDE;
      int x = bits[i + PLANE] & MAGNITUDE;
      int y = bits[i + 2 * PLANE] & MAGNITUDE;
      int z = bits[i + 3 * PLANE] & MAGNITUDE;
      int wx = w - (w - x & w - x >> 31);
      int yz = y - (y - z & y - z >> 31);
      most[i] = wx - (wx - yz & wx - yz >> 31);
    }
  }

  /** Of each group the first half counts. */
  private static void greatestOf2(int[] result, int[] most, int count) {
    for (int i = 0; i < count; i++) {
      int less = most[i] - most[i + GROUP / 2];
      result[i] = most[i] - (less & less >> 31);
    }
  }

  /** Of each group the first quarter counts. */
  private static void greatestOf4(int[] result, int[] most, int count) {
    for (int i = 0; i < count; i++) {
      int less = most[i] - most[i + GROUP / 4];
      result[i] = most[i] - (less & less >> 31);
    }
  }

  /** Four at a time, so that none waits for another. */
  private static int greatest(int[] mostOf4, int from) {
    int a = 0;
    int b = 0;
    int c = 0;
    int d = 0;
    for (int i = from; i < from + GROUP / 4; i += 4) {
      a = Math.max(a, mostOf4[i]);
      b = Math.max(b, mostOf4[i + 1]);
      c = Math.max(c, mostOf4[i + 2]);
      d = Math.max(d, mostOf4[i + 3]);
    }
    return Math.max(Math.max(a, b), Math.max(c, d));
  }

  private static void roundLower(float[] pairs, float[] values, float[] scales, int count) {
    for (int i = 0; i < count; i++) {
      float scale = scales[i];
      float b = values[i + PLANE] * scale + ROUNDER - ROUNDER;
      pairs[i] = 256 * b + (values[i] * scale + (ROUNDER + ZEROS));
    }
  }

  private static void roundUpper(float[] pairs, float[] values, float[] scales, int count) {
    for (int i = 0; i < count; i++) {
      float scale = scales[i];
      float b = values[i + 3 * PLANE] * scale + ROUNDER - ROUNDER;
      pairs[i + PLANE] = 256 * b + (values[i + 2 * PLANE] * scale + (ROUNDER + ZEROS));
    }
  }

  private static void pack(int[] packed, int[] bits, int count) {
    for (int i = 0; i < count; i++) {
      packed[i] = (bits[i] & 0xffff | bits[i + PLANE] << 16) ^ HIGHEST;
    }
  }

  private static void unpack(int[] bits, int[] packed, int count) {
    for (int i = 0; i < count; i++) {
      int word = packed[i] ^ HIGHEST;
      bits[i] = word & 0xffff | BASE_BITS;
      bits[i + PLANE] = word >>> 16 | BASE_BITS;
    }
  }

  /**
   * Parts pairs of bytes: the rest when 256 b is taken away is less than half of 256, so b is found
   * by rounding.
   */
  private static void partLower(float[] values, float[] pairs, float[] scales, int count) {
    for (int i = 0; i < count; i++) {
      float scale = scales[i];
      float pair = pairs[i] - (BASE + ZEROS);
      float b = pair * (1 / 256f) + ROUNDER - ROUNDER;
      values[i] = (pair - 256 * b) * scale;
      values[i + PLANE] = b * scale;
    }
  }

  private static void partUpper(float[] values, float[] pairs, float[] scales, int count) {
    for (int i = 0; i < count; i++) {
      float scale = scales[i];
      float pair = pairs[i + PLANE] - (BASE + ZEROS);
      float b = pair * (1 / 256f) + ROUNDER - ROUNDER;
      values[i + 2 * PLANE] = (pair - 256 * b) * scale;
      values[i + 3 * PLANE] = b * scale;
    }
  }
}
