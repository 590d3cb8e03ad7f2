package io.collectives;

import io.collectives.UserOp.FloatBinaryOperator;
import java.util.function.DoubleBinaryOperator;
import java.util.function.IntBinaryOperator;
import java.util.function.LongBinaryOperator;

/**
 * A reduction operation, which combines the elements of several ranks into one: a {@link Standard}
 * op, or a {@link UserOp}.
 *
 * <p>For floating-point types NaN wins over every other value in each of the standard ops, and
 * infinities follow IEEE 754. The order in which a sum or product is computed depends on the
 * algorithm and the number of ranks, and on nothing else; {@link Repeatability} can ask for other
 * orders.
 */
public sealed interface ReduceOp permits ReduceOp.Standard, UserOp {
  // No default methods: they would make this initialize with Standard, which it needs itself.

  /** The sum; integers wrap around. */
  Standard SUM = Standard.SUM;

  /**
   * The sum divided by the number of ranks, once, after the last addition; integers are divided
   * rounding toward zero.
   */
  Standard AVERAGE = Standard.AVERAGE;

  /** The least element; of zeros of both signs the negative one. */
  Standard MIN = Standard.MIN;

  /** The greatest element; of zeros of both signs the positive one. */
  Standard MAX = Standard.MAX;

  /** The product; integers wrap around. */
  Standard PRODUCT = Standard.PRODUCT;

  /**
   * The standard ops; each supports all element types. An op says once what it does with two
   * numbers, in each {@linkplain ElementType#arithmetic arithmetic}: {@link ElementType#BFLOAT16}
   * and {@link ElementType#FLOAT16} use that of {@code float}, and 8-bit integers that of {@code
   * int}, of whose result they keep the lowest 8 bits.
   */
  enum Standard implements ReduceOp {
    /** See {@link ReduceOp#SUM}. */
    SUM("sum"),
    /** See {@link ReduceOp#AVERAGE}; of two numbers it takes the sum. */
    AVERAGE("average"),
    /** See {@link ReduceOp#MIN}. */
    MIN("min"),
    /** See {@link ReduceOp#MAX}. */
    MAX("max"),
    /** See {@link ReduceOp#PRODUCT}. */
    PRODUCT("product");

    private final String label;

    Standard(String label) {
      this.label = label;
    }

    /**
     * Returns whether a result is always one of the elements, or NaN, and the same one in whichever
     * order they are taken.
     */
    public boolean selects() {
      return this == MIN || this == MAX;
    }

    /** Returns the op for two {@code float}s. */
    public FloatBinaryOperator floats() {
      return switch (this) {
        case SUM, AVERAGE -> Float::sum;
        case MIN -> Math::min;
        case MAX -> Math::max;
        case PRODUCT -> (x, y) -> x * y;
      };
    }

    /** Returns the op for two {@code double}s. */
    public DoubleBinaryOperator doubles() {
      return switch (this) {
        case SUM, AVERAGE -> Double::sum;
        case MIN -> Math::min;
        case MAX -> Math::max;
        case PRODUCT -> (x, y) -> x * y;
      };
    }

    /** Returns the op for two {@code int}s. */
    public IntBinaryOperator ints() {
      return switch (this) {
        case SUM, AVERAGE -> Integer::sum;
        case MIN -> Standard::min;
        case MAX -> Standard::max;
        case PRODUCT -> (x, y) -> x * y;
      };
    }

    /** Returns the op for two {@code long}s. */
    public LongBinaryOperator longs() {
      return switch (this) {
        case SUM, AVERAGE -> Long::sum;
        case MIN -> Standard::min;
        case MAX -> Standard::max;
        case PRODUCT -> (x, y) -> x * y;
      };
    }

    /*
     * The least and the greatest of integers are made of additions and bits, because C2 of JDK 17
     * does not vectorise their Math.min. d is the difference of both; what is shifted has the sign
     * of the true difference, even where d overflowed.
     */

    private static int min(int x, int y) {
      int d = x - y;
      return y ^ ((x ^ y) & ((d ^ ((x ^ y) & (d ^ x))) >> 31));
    }

    private static int max(int x, int y) {
      int d = x - y;
      return x ^ ((x ^ y) & ((d ^ ((x ^ y) & (d ^ x))) >> 31));
    }

    private static long min(long x, long y) {
      long d = x - y;
      return y ^ ((x ^ y) & ((d ^ ((x ^ y) & (d ^ x))) >> 63));
    }

    private static long max(long x, long y) {
      long d = x - y;
      return x ^ ((x ^ y) & ((d ^ ((x ^ y) & (d ^ x))) >> 63));
    }

    /** Returns the name in tables, on the command line and in errors, such as {@code sum}. */
    @Override
    public String toString() {
      return label;
    }
  }
}
