package io.collectives.engine;

import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.Repeatability;
import io.collectives.UserOp;

/** Which reductions must take their contributions in the order of ranks, or all at once. */
final class Order {
  private Order() {}

  /**
   * Whether one does; depends on nothing that ranks do not agree on.
   *
   * @throws IllegalArgumentException if the op cannot reduce the type, or not so
   */
  static boolean isNeeded(ReduceOp op, ElementType type, Repeatability repeatability) {
    if (op instanceof UserOp users) {
      if (!users.supports(type)) {
        throw new IllegalArgumentException(
            "the op \""
                + op
                + "\" of elements of "
                + type
                + ": it is not for them; say what it does by UserOp."
                + saying(type));
      }
      if (repeatability == Repeatability.EXACT) {
        throw new IllegalArgumentException(
            "the op \""
                + op
                + "\" with the repeatability exact: that is for sums and averages; use rank-order");
      }
      return !users.isCommutative() || repeatability == Repeatability.RANK_ORDER;
    }
    if (repeatability == Repeatability.FASTEST || isInteger(type)) {
      return false;
    }
    return switch ((ReduceOp.Standard) op) {
      case MIN, MAX -> false;
      case SUM, AVERAGE -> true;
      case PRODUCT -> {
        if (repeatability == Repeatability.EXACT) {
          throw new IllegalArgumentException(
              "a product of "
                  + type
                  + " with the repeatability exact: that is for sums and averages, and for products"
                  + " of integers; use rank-order");
        }
        yield true;
      }
    };
  }

  private static boolean isInteger(ElementType type) {
    return type == ElementType.INT32 || type == ElementType.INT64;
  }

  private static String saying(ElementType type) {
    return switch (type) {
      case FLOAT32, BFLOAT16, FLOAT16 -> "withFloats";
      case FLOAT64 -> "withDoubles";
      case INT32 -> "withInts";
      case INT64 -> "withLongs";
    };
  }
}
