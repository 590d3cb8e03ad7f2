package io.collectives;

/**
 * How the elements of several ranks become one.
 *
 * <p>For floating-point types NaN wins over every other value in each of these, and infinities
 * follow IEEE 754. The order in which a sum or product is taken depends on the algorithm and the
 * number of ranks, and on nothing else.
 */
public enum ReduceOp {
  /** The sum; integers wrap around. */
  SUM("sum"),
  /**
   * The sum divided by the number of ranks, once, after the last addition; integers are divided
   * rounding toward zero.
   */
  AVERAGE("average"),
  /** The least element; of zeros of both signs the negative one. */
  MIN("min"),
  /** The greatest element; of zeros of both signs the positive one. */
  MAX("max"),
  /** The product; integers wrap around. */
  PRODUCT("product");

  private final String label;

  ReduceOp(String label) {
    this.label = label;
  }

  /** The name in tables, on the command line and in errors, as {@code sum}. */
  @Override
  public String toString() {
    return label;
  }
}
