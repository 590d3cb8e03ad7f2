package io.collectives.testkit;

import java.math.BigInteger;

/** Sums that are rounded once, in arithmetic that knows no rounding. */
public final class ExactSums {
  /** The least {@code double} above zero is this power of two. */
  private static final int LEAST_EXPONENT = -1074;

  private ExactSums() {}

  /**
   * The number of {@code precision} bits that is nearest to the sum of all, of two equally near
   * ones the even one; +0 if the sum is 0, −0 if all are.
   */
  public static double of(double[] values, int precision) {
    BigInteger sum = BigInteger.ZERO;
    double special = 0;
    boolean isMinusZero = true;
    for (double value : values) {
      isMinusZero &= Double.doubleToRawLongBits(value) == Long.MIN_VALUE;
      if (Double.isFinite(value)) {
        sum = sum.add(units(value));
      } else {
        special += value;
      }
    }
    if (special != 0) {
      return special != special ? Double.NaN : special;
    }
    if (sum.signum() == 0) {
      return isMinusZero ? -0.0 : 0.0;
    }
    BigInteger magnitude = sum.abs();
    int cut = Math.max(0, magnitude.bitLength() - precision);
    BigInteger rounded = magnitude.shiftRight(cut);
    BigInteger twice = magnitude.subtract(rounded.shiftLeft(cut)).shiftLeft(1);
    int half = twice.compareTo(BigInteger.ONE.shiftLeft(cut));
    if (cut > 0 && (half > 0 || half == 0 && rounded.testBit(0))) {
      rounded = rounded.add(BigInteger.ONE);
    }
    return sum.signum() * Math.scalb(rounded.doubleValue(), cut + LEAST_EXPONENT);
  }

  /** A finite number in units of the least one above zero. */
  private static BigInteger units(double value) {
    int exponent = Math.max(Math.getExponent(value), Double.MIN_EXPONENT);
    long mantissa = (long) Math.scalb(value, 52 - exponent);
    return BigInteger.valueOf(mantissa).shiftLeft(exponent - 52 - LEAST_EXPONENT);
  }
}
