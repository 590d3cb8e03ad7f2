package io.collectives.training.optimizer;

import java.util.function.LongToDoubleFunction;

/** See {@link Optimizers#adamW(LongToDoubleFunction, double, double, double, double)}. */
record Adam(LongToDoubleFunction rate, double beta1, double beta2, double epsilon, double decay)
    implements Optimizer {
  @Override
  public String name() {
    return "adam";
  }

  @Override
  public int stateCount() {
    return 2;
  }

  @Override
  public Optimizer forBiases() {
    return new Adam(rate, beta1, beta2, epsilon, 0);
  }

  @Override
  public void update(
      float[] weights, float[] gradients, float[][] state, int from, int to, long step) {
    double now = rate.applyAsDouble(step);
    // Powers by StrictMath, because those of Math may differ in the last bit between machines.
    descend(
        weights,
        gradients,
        state[0],
        state[1],
        from,
        to,
        (float) (1 - now * decay),
        (float) (now / (1 - StrictMath.pow(beta1, step))),
        (float) (1 / (1 - StrictMath.pow(beta2, step))),
        (float) beta1,
        (float) (1 - beta1),
        (float) beta2,
        (float) (1 - beta2),
        (float) epsilon);
  }

  /**
   * Updates weights, where the corrections of the bias are part of the rate and of {@code
   * unbiased}.
   */
  private static void descend(
      float[] w,
      float[] g,
      float[] m,
      float[] v,
      int from,
      int to,
      float kept,
      float rate,
      float unbiased,
      float oldMean,
      float newMean,
      float oldSquare,
      float newSquare,
      float epsilon) {
    for (int i = from; i < to; i++) {
      float mean = oldMean * m[i] + newMean * g[i];
      float square = oldSquare * v[i] + newSquare * g[i] * g[i];
      m[i] = mean;
      v[i] = square;
      w[i] = kept * w[i] - rate * mean / ((float) Math.sqrt(square * unbiased) + epsilon);
    }
  }
}
