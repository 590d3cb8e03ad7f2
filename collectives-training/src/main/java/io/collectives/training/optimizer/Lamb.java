package io.collectives.training.optimizer;

import java.util.function.LongToDoubleFunction;

/** See {@link Optimizers#lamb(LongToDoubleFunction, double, double, double, double)}. */
record Lamb(LongToDoubleFunction rate, double beta1, double beta2, double epsilon, double decay)
    implements LayerwiseOptimizer {
  @Override
  public String name() {
    return "lamb";
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
  public boolean prepares() {
    return true;
  }

  @Override
  public void prepare(
      float[] weights, float[] gradients, float[][] state, int from, int to, long step) {
    // Powers by StrictMath, because those of Math may differ in the last bit between machines.
    direct(
        weights,
        gradients,
        state[0],
        state[1],
        from,
        to,
        (float) (1 / (1 - StrictMath.pow(beta1, step))),
        (float) (1 / (1 - StrictMath.pow(beta2, step))),
        (float) beta1,
        (float) (1 - beta1),
        (float) beta2,
        (float) (1 - beta2),
        (float) epsilon,
        (float) decay);
  }

  private static void direct(
      float[] w,
      float[] g,
      float[] m,
      float[] v,
      int from,
      int to,
      float unbiasedMean,
      float unbiasedSquare,
      float oldMean,
      float newMean,
      float oldSquare,
      float newSquare,
      float epsilon,
      float decay) {
    for (int i = from; i < to; i++) {
      float mean = oldMean * m[i] + newMean * g[i];
      float square = oldSquare * v[i] + newSquare * g[i] * g[i];
      m[i] = mean;
      v[i] = square;
      g[i] =
          mean * unbiasedMean / ((float) Math.sqrt(square * unbiasedSquare) + epsilon)
              + decay * w[i];
    }
  }

  @Override
  public void apply(
      float[] weights,
      float[] gradients,
      float[][] state,
      int from,
      int to,
      long step,
      double weightNorm,
      double gradientNorm) {
    double ratio = weightNorm > 0 && gradientNorm > 0 ? weightNorm / gradientNorm : 1;
    Sgd.descend(weights, gradients, from, to, (float) (rate.applyAsDouble(step) * ratio));
  }
}
