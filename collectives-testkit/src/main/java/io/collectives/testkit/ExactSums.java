package io.collectives.testkit;

import io.collectives.ElementType;
import java.math.BigInteger;

/** Sums and averages that are rounded once, in arithmetic that knows no rounding. */
public final class ExactSums {
  /** The least {@code double} above zero is this power of two. */
  private static final int LEAST_EXPONENT = -1074;

  private ExactSums() {}

  /** The element of a floating-point type that is nearest to the sum divided by {@code divisor}. */
  public static double of(double[] values, int divisor, ElementType type) {
    int precision = 1 - Math.getExponent(Numbers.epsilon(type));
    // Scaled, because the least of float64 has no exponent of its own.
    int least = Math.getExponent(type.value(1) * 0x1p200) - 200;
    return of(values, divisor, precision, least);
  }

  /**
   * The number of {@code precision} bits, and a multiple of 2 to the power of {@code least}, that
   * is nearest to the sum of all divided by {@code divisor}, of two equally near ones the even one.
   * If the sum is 0, this is +0, or −0 if all values are.
   */
  public static double of(double[] values, int divisor, int precision, int least) {
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
    BigInteger unit = BigInteger.valueOf(divisor);
    int cut = Math.max(least - LEAST_EXPONENT, magnitude.divide(unit).bitLength() - precision);
    unit = unit.shiftLeft(cut);
    BigInteger[] quotient = magnitude.divideAndRemainder(unit);
    BigInteger rounded = quotient[0];
    int half = quotient[1].shiftLeft(1).compareTo(unit);
    if (half > 0 || half == 0 && rounded.testBit(0)) {
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
