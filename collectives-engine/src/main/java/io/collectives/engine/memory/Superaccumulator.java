package io.collectives.engine.memory;

import java.util.Arrays;

/**
 * A sum of {@code double}s without any rounding, until it is asked for: a fixed-point number that
 * is as wide as the whole range of {@code double} (Kulisch's long accumulator). Slow, for the sums
 * that {@link ExactSum} is in doubt about. Belongs to one thread at a time.
 *
 * <pre>
 *   digit   [ 0 ][ 1 ][ 2 ] ...        [ 67 ]   32 bits each, of a long: 31 more and a sign for
 *   bit      0 is worth 2^-1074                 carries that are not yet passed on
 *   a number touches three neighbouring digits: 53 bits, shifted by 0 to 31
 * </pre>
 *
 * <p>So up to 2^30 numbers can be added before carries must be passed on, once, at the end.
 */
final class Superaccumulator {
  /** The exponent of the lowest bit: its value is this power of two. */
  private static final int LEAST_EXPONENT = -1074;

  private static final long DIGIT = 0xffff_ffffL;

  /**
   * The number of digits: those of the greatest numbers, one for their carries, and two that are
   * read beyond.
   */
  private static final int DIGITS = (Double.MAX_EXPONENT - LEAST_EXPONENT) / 32 + 4;

  private final long[] digits = new long[DIGITS];

  /** The lowest digit that was touched, and the one after the highest and its carries. */
  private int low;

  private int end;

  Superaccumulator() {
    clear();
  }

  private void clear() {
    low = DIGITS;
    end = 0;
  }

  /**
   * The sum of {@code count} numbers, from index {@code from} on by steps of {@code stride},
   * divided by {@code divisor} and then rounded once, to the nearest number of a type, of two
   * equally near ones to the even. Infinite if it rounds beyond the greatest {@code double}.
   *
   * @param precision the bits of the type's numbers, at most 53
   * @param least the exponent of the type's least number above zero, at least -1074
   */
  double sum(
      double[] values, int from, int stride, int count, int divisor, int precision, int least) {
    boolean isPlus = false;
    boolean isMinus = false;
    boolean isNan = false;
    boolean isMinusZero = true;
    for (int i = 0; i < count; i++) {
      double value = values[from + i * stride];
      isNan |= value != value;
      isPlus |= value == Double.POSITIVE_INFINITY;
      isMinus |= value == Double.NEGATIVE_INFINITY;
      isMinusZero &= Double.doubleToRawLongBits(value) == Long.MIN_VALUE;
    }
    if (isNan || isPlus && isMinus) {
      return Double.NaN;
    }
    if (isPlus || isMinus) {
      return isPlus ? Double.POSITIVE_INFINITY : Double.NEGATIVE_INFINITY;
    }
    if (isMinusZero) {
      return -0.0;
    }
    for (int i = 0; i < count; i++) {
      add(values[from + i * stride]);
    }
    double sum = round(divisor, precision, least - LEAST_EXPONENT);
    Arrays.fill(digits, 0);
    clear();
    return sum;
  }

  private void add(double value) {
    long bits = Double.doubleToRawLongBits(value);
    int exponent = (int) (bits >>> 52) & 0x7ff;
    long mantissa = bits & 0xf_ffff_ffff_ffffL;
    if (exponent == 0) {
      exponent = 1;
    } else {
      mantissa |= 1L << 52;
    }
    int bit = exponent - 1;
    int digit = bit >>> 5;
    int shift = bit & 31;
    long lower = (mantissa & DIGIT) << shift;
    long upper = (mantissa >>> 32) << shift;
    long sign = bits >> 63 | 1;
    digits[digit] += sign * (lower & DIGIT);
    digits[digit + 1] += sign * ((lower >>> 32) + (upper & DIGIT));
    digits[digit + 2] += sign * (upper >>> 32);
    low = Math.min(low, digit);
    end = Math.max(end, Math.min(DIGITS, digit + 4));
  }

  private double round(int divisor, int precision, int leastBit) {
    boolean isNegative = passCarries();
    if (isNegative) {
      for (int i = low; i < end; i++) {
        digits[i] = -digits[i];
      }
      passCarries();
    }
    long rest = divide(divisor);
    int top = end - 1;
    while (top > low && digits[top] == 0) {
      top--;
    }
    int highest = 32 * top + 63 - Long.numberOfLeadingZeros(digits[top]);
    int lowest = Math.max(leastBit, highest - precision + 1);
    long mantissa = take(lowest, Math.max(0, highest - lowest + 1));
    // What is left out, in halves of the last bit: less than one, one or more.
    boolean isHalf = lowest > 0 ? take(lowest - 1, 1) == 1 : 2 * rest >= divisor;
    boolean isMore = lowest > 0 ? rest > 0 || hasBits(lowest - 1) : 2 * rest > divisor;
    if (isHalf && (isMore || (mantissa & 1) == 1)) {
      mantissa++;
    }
    double magnitude = Math.scalb((double) mantissa, lowest + LEAST_EXPONENT);
    return isNegative ? -magnitude : magnitude;
  }

  /** Divides what is not negative and has no carries. Returns the remainder. */
  private long divide(int divisor) {
    if (divisor == 1) {
      return 0;
    }
    long rest = 0;
    for (int i = end - 1; i >= 0; i--) {
      long part = rest << 32 | digits[i];
      digits[i] = part / divisor;
      rest = part % divisor;
    }
    low = 0;
    return rest;
  }

  /** Every digit but the highest becomes a number of 32 bits. Returns whether all is negative. */
  private boolean passCarries() {
    long carry = 0;
    for (int i = low; i < end - 1; i++) {
      long digit = digits[i] + carry;
      digits[i] = digit & DIGIT;
      carry = digit >> 32;
    }
    digits[end - 1] += carry;
    return digits[end - 1] < 0;
  }

  /** Up to 53 bits from a bit on. */
  private long take(int bit, int count) {
    int digit = bit >>> 5;
    int shift = bit & 31;
    long bits = at(digit) >>> shift | at(digit + 1) << 32 - shift;
    if (shift > 0) {
      bits |= at(digit + 2) << 64 - shift;
    }
    return bits & (1L << count) - 1;
  }

  private long at(int digit) {
    return digit < end ? digits[digit] : 0;
  }

  /** Returns whether any bit below one is set. */
  private boolean hasBits(int below) {
    int digit = below >>> 5;
    for (int i = low; i < digit; i++) {
      if (digits[i] != 0) {
        return true;
      }
    }
    return (digits[digit] & (1L << (below & 31)) - 1) != 0;
  }
}
