package io.collectives.bench.train;

import io.collectives.ElementType;
import io.collectives.WireType;
import io.collectives.bench.model.Model;
import io.collectives.bench.perf.AlgorithmChoice;
import java.time.Duration;

/**
 * The settings that all ranks of a run agree on.
 *
 * @param type of the gradients, of floating-point numbers
 * @param wireType as what they cross the links if they are float32
 * @param steps how many are timed and checked, at least 1
 * @param warmUp how long the all-reduce is repeated before, at least three times
 * @param seed of the gradients
 */
public record TrainingTask(
    Model model,
    AlgorithmChoice algorithm,
    ElementType type,
    WireType wireType,
    int steps,
    Duration warmUp,
    long seed) {

  /** The length of all gradients of a rank. */
  public long bytes() {
    return model.parameters() * type.bytes();
  }

  /**
   * Returns whether numbers are as exact as the greatest of many that cross together, and no more.
   */
  boolean isScaledTogether() {
    return type == ElementType.FLOAT32 && wireType == WireType.INT8;
  }

  /**
   * The largest relative error that rounding explains. Every addition and the division may be off
   * by half a unit in the last place of the type, and a contribution is rounded to the wire type at
   * most as often as there are ranks, on its way into a sum and on that of the sum to all.
   *
   * <p>With {@link WireType#INT8} the error is relative to the greatest number of all: each
   * rounding of a contribution or of a partial sum may be off by half a step, of which 64 or more
   * are the greatest number of a group, and so may be what was kept of the step before.
   */
  public double tolerance(int ranks) {
    if (isScaledTogether()) {
      return 2 * (ranks + 2) / 128.0;
    }
    double all = ranks * Math.log1p(roundoff(type));
    if (type == ElementType.FLOAT32) {
      all += ranks * Math.log1p(roundoff(wireType));
    }
    return Math.expm1(all);
  }

  /** Returns what rounding adds to the error of numbers that are too small for all digits. */
  double floor() {
    boolean becomesHalf = type == ElementType.FLOAT32 && wireType == WireType.FLOAT16;
    return (becomesHalf ? ElementType.FLOAT16 : type).value(1);
  }

  /** Half a unit in the last place of 1. */
  private static double roundoff(ElementType type) {
    return (type.value(type.bits(1) + 1) - 1) / 2;
  }

  private static double roundoff(WireType type) {
    return switch (type) {
      case BFLOAT16 -> roundoff(ElementType.BFLOAT16);
      case FLOAT16 -> roundoff(ElementType.FLOAT16);
      default -> 0;
    };
  }
}
