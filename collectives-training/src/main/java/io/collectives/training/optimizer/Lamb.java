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
    float unbiasedMean = (float) (1 / (1 - StrictMath.pow(beta1, step)));
    float unbiasedSquare = (float) (1 / (1 - StrictMath.pow(beta2, step)));
    float oldMean = (float) beta1;
    float newMean = (float) (1 - beta1);
    float oldSquare = (float) beta2;
    float newSquare = (float) (1 - beta2);
    float small = (float) epsilon;
    float shrink = (float) decay;
    float[] m = state[0];
    float[] v = state[1];
    for (int i = from; i < to; i++) {
      float mean = oldMean * m[i] + newMean * gradients[i];
      float square = oldSquare * v[i] + newSquare * gradients[i] * gradients[i];
      m[i] = mean;
      v[i] = square;
      gradients[i] =
          mean * unbiasedMean / ((float) Math.sqrt(square * unbiasedSquare) + small)
              + shrink * weights[i];
    }
  }

  @Override
  public double layerRate(long step, double weightNorm, double gradientNorm) {
    double ratio = weightNorm > 0 && gradientNorm > 0 ? weightNorm / gradientNorm : 1;
    return rate.applyAsDouble(step) * ratio;
  }

  @Override
  public void apply(
      float[] weights,
      float[] gradients,
      float[][] state,
      int from,
      int to,
      long step,
      double layerRate) {
    Sgd.descend(weights, gradients, from, to, (float) layerRate);
  }
}
