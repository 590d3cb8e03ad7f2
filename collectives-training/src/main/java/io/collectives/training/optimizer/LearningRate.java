package io.collectives.training.optimizer;

import java.util.function.LongToDoubleFunction;

/**
 * A learning rate schedule: the rate of each update, by its number from 1. A schedule is a function
 * of the number alone, so that all ranks, and a run that goes on after an interruption, use the
 * same rates.
 *
 * <pre>{@code
 * // MLPerf's ResNet-50: 5 epochs of warm-up to a rate that is scaled by the batch, then a parabola
 * LearningRate.polynomial(LearningRate.scaled(0.1, 256, batch), 0.0001, steps - warmUp, 2)
 *     .withWarmUp(warmUp)
 * }</pre>
 */
@FunctionalInterface
public interface LearningRate extends LongToDoubleFunction {

  /** Returns a constant rate. */
  static LearningRate constant(double rate) {
    return step -> rate;
  }

  /**
   * Returns a rate that falls, or grows, by a power of the remaining steps: {@code last + (first -
   * last) (1 - (step - 1) / steps)^power} (MLPerf's decay has the power 2, BERT's 1).
   *
   * @param first the rate of update 1
   * @param last the rate of update {@code steps + 1} and those after it
   * @param steps the number of steps, at least 1
   * @param power the power, more than 0
   */
  static LearningRate polynomial(double first, double last, long steps, double power) {
    if (steps < 1 || !(power > 0)) {
      throw new IllegalArgumentException(
          "a polynomial rate over "
              + steps
              + " updates with power "
              + power
              + ": there must be 1 at least, and the power must be more than 0");
    }
    return step ->
        step > steps
            ? last
            : last
                + (first - last) * StrictMath.pow(1 - (double) (step - 1) / (double) steps, power);
  }

  /**
   * Returns the rate for a batch that is larger than the one for which a rate is known: {@code rate
   * batch / baseBatch} (Goyal et al. 2017, section 2.1).
   *
   * @param batch the size of the batch of all ranks together, micro-batches included
   */
  static double scaled(double rate, long baseBatch, long batch) {
    if (baseBatch < 1 || batch < 1) {
      throw new IllegalArgumentException(
          "a rate for batches of " + batch + " from " + baseBatch + ": both must be at least 1");
    }
    return rate * batch / baseBatch;
  }

  /**
   * Returns this schedule after a warm-up, in which the rate grows by the same amount in each
   * update, up to this schedule's first rate (Goyal et al. 2017, section 2.2).
   *
   * @param steps the number of updates of the warm-up, which may be 0
   */
  default LearningRate withWarmUp(long steps) {
    if (steps < 0) {
      throw new IllegalArgumentException("a warm-up of " + steps + " updates: must be at least 0");
    }
    return step -> step > steps ? applyAsDouble(step - steps) : applyAsDouble(1) * step / steps;
  }
}
