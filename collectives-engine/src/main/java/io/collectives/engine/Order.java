package io.collectives.engine;

import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.Repeatability;
import io.collectives.UserOp;
import io.collectives.engine.run.AddOrder;

/** Which order reductions must take their contributions in. */
final class Order {
  private Order() {}

  /** Returns the order of a level, where the op and the type leave it to that. */
  static AddOrder of(Repeatability repeatability) {
    return switch (repeatability) {
      case ARRIVAL_ORDER -> AddOrder.OF_ARRIVAL;
      case FASTEST -> AddOrder.OF_PLAN;
      case RANK_ORDER, EXACT -> AddOrder.OF_RANKS;
    };
  }

  /**
   * Returns the order of a reduction, which depends only on things that ranks agree on.
   *
   * @throws IllegalArgumentException if the op cannot reduce the type, or not so
   */
  static AddOrder of(ReduceOp op, ElementType type, Repeatability repeatability) {
    AddOrder wanted = of(repeatability);
    if (op instanceof UserOp users) {
      if (!users.supports(type)) {
        throw new IllegalArgumentException(
            "the op \""
                + op
                + "\" of elements of "
                + type
                + ": it is not for them; "
                + remedy(type));
      }
      if (repeatability == Repeatability.EXACT) {
        throw new IllegalArgumentException(
            "the op \""
                + op
                + "\" with the repeatability exact: that is for sums and averages; use rank-order");
      }
      return users.isCommutative() ? wanted : AddOrder.OF_RANKS;
    }
    if (!repeatability.needsAllAtOnce()) {
      return wanted;
    }
    if (type.isInteger() || ((ReduceOp.Standard) op).selects()) {
      return AddOrder.OF_PLAN;
    }
    if (repeatability == Repeatability.EXACT && op != ReduceOp.SUM && op != ReduceOp.AVERAGE) {
      throw new IllegalArgumentException(
          "a "
              + op
              + " of "
              + type
              + " with the repeatability exact: that is for sums and averages, and for "
              + op
              + "s of integers; use rank-order");
    }
    return wanted;
  }

  private static String remedy(ElementType type) {
    String say = "say what it does by UserOp.";
    return switch (type.arithmetic()) {
      case FLOAT -> say + "withFloats";
      case DOUBLE -> say + "withDoubles";
      case INT ->
          type.bytes() == Integer.BYTES
              ? say + "withInts"
              : "integers of less than 32 bits have standard ops only";
      case LONG -> say + "withLongs";
    };
  }
}
