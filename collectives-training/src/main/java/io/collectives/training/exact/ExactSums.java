package io.collectives.training.exact;

import java.util.Arrays;

/**
 * Sums of {@code double}s without rounding, in one array of {@code long}s. Ranks that each add a
 * part of the numbers and all-reduce {@link #words()} by {@code SUM} get the same sums to the last
 * bit, whatever the number of ranks and the distribution of the numbers, because the order of
 * integer additions does not matter.
 *
 * <pre>{@code
 * ExactSums sums = ExactSums.of(2);
 * sums.add(0, loss);
 * sums.add(1, 1);
 * world.allReduce(sums.words(), ReduceOp.SUM);
 * double mean = sums.get(0) / sums.get(1);
 * }</pre>
 *
 * <p>A sum is a fixed-point number, cut into digits of 40 bits, each in a word of its own, so that
 * carries have room (Kulisch 2011, <em>Very fast and exact accumulation of products</em>). Numbers
 * that are not finite are counted instead of added, and make the sum NaN. Up to 2^22 ranks may add
 * up.
 *
 * <p>One thread at a time may use it.
 */
public final class ExactSums {
  private static final int DIGIT = 40;
  private static final long MASK = (1L << DIGIT) - 1;
  private static final int FRACTION = 52;
  private static final int MOST_ADDS = 1 << 22;

  /** The number of bits above the largest number, so that 2^40 numbers can be added. */
  private static final int HEADROOM = 40;

  private final int lowest;
  private final int digits;
  private final long[] words;

  /** The largest number of additions to one sum since carries were propagated. */
  private int adds;

  private ExactSums(int count, int lowest, int highest) {
    this.lowest = lowest;
    this.digits = (highest + HEADROOM - lowest) / DIGIT + 1;
    this.words = new long[Math.multiplyExact(count, digits + 1)];
  }

  /**
   * Makes sums of any {@code double}s, of 440 bytes each; they are 0 at first.
   *
   * @param count the number of sums
   */
  public static ExactSums of(int count) {
    return new ExactSums(count, -1074, 1024);
  }

  /**
   * Makes sums of squares of {@code float}s, of 136 bytes each; they are 0 at first. Sums of such
   * squares in {@code double} may be added, too.
   *
   * @param count the number of sums
   */
  public static ExactSums ofSquares(int count) {
    return new ExactSums(count, -298, 263);
  }

  /**
   * Adds to a sum.
   *
   * @param value the number; for sums of squares, a multiple of 2^-298 below 2^263
   */
  public void add(int index, double value) {
    int at = index * (digits + 1);
    long bits = Double.doubleToRawLongBits(value);
    int exponent = (int) (bits >>> FRACTION) & 0x7ff;
    if (exponent == 0x7ff) {
      words[at + digits]++;
      return;
    }
    long mantissa = bits & (1L << FRACTION) - 1;
    if (exponent == 0) {
      if (mantissa == 0) {
        return;
      }
      exponent = 1;
    } else {
      mantissa |= 1L << FRACTION;
    }
    int position = exponent - 1075 - lowest;
    if (position < 0) { // The lowest bits are zeros, as they are those of a multiple.
      mantissa >>>= Math.min(-position, FRACTION + 1);
      position = 0;
    }
    if (++adds == MOST_ADDS) {
      carry();
    }
    int shift = position % DIGIT;
    at += position / DIGIT;
    long low = mantissa << shift & MASK;
    long middle = mantissa >>> DIGIT - shift & MASK;
    long high = shift > 2 * DIGIT - FRACTION - 1 ? mantissa >>> 2 * DIGIT - shift : 0;
    if (bits >= 0) {
      words[at] += low;
      words[at + 1] += middle;
      words[at + 2] += high;
    } else {
      words[at] -= low;
      words[at + 1] -= middle;
      words[at + 2] -= high;
    }
  }

  /** Returns the number of sums. */
  public int count() {
    return words.length / (digits + 1);
  }

  /** Returns all sums, so that they can be added up over ranks, in place. */
  public long[] words() {
    carry();
    return words;
  }

  /** Makes a sum zero. */
  public void clear(int index) {
    Arrays.fill(words, index * (digits + 1), (index + 1) * (digits + 1), 0);
  }

  /** Makes all sums zero. */
  public void clear() {
    Arrays.fill(words, 0);
    adds = 0;
  }

  /** Adds a sum of another object, which is of the same kind. */
  public void add(int index, ExactSums other, int otherIndex) {
    if (other.digits != digits) {
      throw new IllegalArgumentException(
          "sums of " + other.digits + " digits added to such of " + digits);
    }
    other.carry();
    carry();
    for (int i = 0; i <= digits; i++) {
      words[index * (digits + 1) + i] += other.words[otherIndex * (digits + 1) + i];
    }
  }

  /** Returns the number of numbers of a sum that were infinite or not a number. */
  public long nonFinite(int index) {
    return words[index * (digits + 1) + digits];
  }

  /** Returns a sum, rounded once to the nearest number; NaN if numbers were not finite. */
  public double get(int index) {
    if (nonFinite(index) != 0) {
      return Double.NaN;
    }
    int at = index * (digits + 1);
    long[] number = Arrays.copyOfRange(words, at, at + digits);
    carry(number, 0, digits);
    boolean negative = number[digits - 1] < 0;
    if (negative) {
      for (int i = 0; i < digits; i++) {
        number[i] = -number[i];
      }
      carry(number, 0, digits);
    }
    int top = digits - 1;
    while (top > 0 && number[top] == 0) {
      top--;
    }
    double magnitude = magnitude(number, top);
    return negative ? -magnitude : magnitude;
  }

  /** Returns the upper 62 bits and a last one that stands for all below, rounded once. */
  private double magnitude(long[] number, int top) {
    long upper = number[top];
    int exponent = lowest + top * DIGIT;
    int next = top - 1;
    int room = Long.numberOfLeadingZeros(upper) - 2;
    while (next >= 0 && room > 0) {
      int taken = Math.min(room, DIGIT);
      upper = upper << taken | number[next] >>> DIGIT - taken;
      number[next] &= (1L << DIGIT - taken) - 1;
      exponent -= taken;
      room -= taken;
      if (taken < DIGIT) {
        break;
      }
      next--;
    }
    boolean isInexact = false;
    for (; next >= 0; next--) {
      isInexact |= number[next] != 0;
    }
    return Math.scalb((double) (isInexact ? upper | 1 : upper), exponent);
  }

  /**
   * Propagates carries, so that all digits but the highest one of each sum are from 0 to 2^40 - 1.
   */
  private void carry() {
    for (int at = 0; at < words.length; at += digits + 1) {
      carry(words, at, digits);
    }
    adds = 0;
  }

  private static void carry(long[] number, int at, int digits) {
    long carry = 0;
    for (int i = at; i < at + digits - 1; i++) {
      long digit = number[i] + carry;
      number[i] = digit & MASK;
      carry = digit >> DIGIT;
    }
    number[at + digits - 1] += carry;
  }
}
