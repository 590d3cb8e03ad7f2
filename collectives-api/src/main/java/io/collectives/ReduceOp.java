package io.collectives;

/**
 * How the elements of several ranks become one: a {@link Standard} op, or a {@link UserOp}.
 *
 * <p>For floating-point types NaN wins over every other value in each of the standard ops, and
 * infinities follow IEEE 754. The order in which a sum or product is taken depends on the algorithm
 * and the number of ranks, and on nothing else; {@link Repeatability} asks for more.
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

  /** The ops that the library knows; each is for all element types. */
  enum Standard implements ReduceOp {
    /** See {@link ReduceOp#SUM}. */
    SUM("sum"),
    /** See {@link ReduceOp#AVERAGE}. */
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

    /** The name in tables, on the command line and in errors, as {@code sum}. */
    @Override
    public String toString() {
      return label;
    }
  }
}
