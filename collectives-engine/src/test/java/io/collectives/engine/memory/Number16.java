package io.collectives.engine.memory;

import io.collectives.ElementType;

/**
 * A number of 16 bits as a test sees it: its bits have a meaning that is worked out in double, in
 * which all of them and all steps between them are exact. Equal are the same bits, and every NaN.
 */
final class Number16 extends Number {
  private static final long serialVersionUID = 1L;

  final ElementType type;
  final short bits;

  Number16(ElementType type, short bits) {
    this.type = type;
    this.bits = bits;
  }

  /** The bits of the mantissa. */
  private static int precision(ElementType type) {
    return type == ElementType.BFLOAT16 ? 7 : 10;
  }

  /** The exponent of the least normal number. */
  private static int leastExponent(ElementType type) {
    return type == ElementType.BFLOAT16 ? -126 : -14;
  }

  /** The number that is nearest to a value; of two the one with an even last bit. */
  static Number16 nearest(ElementType type, double value) {
    int precision = precision(type);
    int infinity = 0x7fff >> precision << precision;
    int sign = Double.doubleToRawLongBits(value) < 0 ? 0x8000 : 0;
    if (Double.isNaN(value)) {
      return new Number16(type, (short) (sign | infinity | 1 << precision - 1));
    }
    double magnitude = Math.abs(value);
    if (Double.isInfinite(value)) {
      return new Number16(type, (short) (sign | infinity));
    }
    int exponent = Math.max(Math.getExponent(magnitude), leastExponent(type));
    // In units of the last place; scaling by a power of two and rint are exact.
    long units = (long) Math.rint(Math.scalb(magnitude, precision - exponent));
    long rounded = ((long) (exponent - leastExponent(type)) << precision) + units;
    return new Number16(type, (short) (sign | Math.min(rounded, infinity)));
  }

  @Override
  public double doubleValue() {
    int precision = precision(type);
    int exponent = (bits & 0x7fff) >> precision;
    long mantissa = bits & (1 << precision) - 1;
    double magnitude;
    if (exponent == 0x7fff >> precision) {
      magnitude = mantissa == 0 ? Double.POSITIVE_INFINITY : Double.NaN;
    } else if (exponent == 0) {
      magnitude = Math.scalb((double) mantissa, leastExponent(type) - precision);
    } else {
      magnitude =
          Math.scalb(
              (double) (mantissa | 1L << precision),
              leastExponent(type) + exponent - 1 - precision);
    }
    return bits < 0 ? -magnitude : magnitude;
  }

  @Override
  public float floatValue() {
    return (float) doubleValue();
  }

  @Override
  public int intValue() {
    return (int) doubleValue();
  }

  @Override
  public long longValue() {
    return (long) doubleValue();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Number16 that
        && type == that.type
        && (bits == that.bits || Double.isNaN(doubleValue()) && Double.isNaN(that.doubleValue()));
  }

  @Override
  public int hashCode() {
    return Double.hashCode(doubleValue());
  }

  @Override
  public String toString() {
    return doubleValue() + " (" + type + " " + Integer.toHexString(bits & 0xffff) + ")";
  }
}
