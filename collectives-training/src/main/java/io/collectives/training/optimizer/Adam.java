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
    float kept = (float) (1 - now * decay);
    // The corrections of the bias are part of the rate and of unbiased.
    float unbiasedRate = (float) (now / (1 - StrictMath.pow(beta1, step)));
    float unbiased = (float) (1 / (1 - StrictMath.pow(beta2, step)));
    float oldMean = (float) beta1;
    float newMean = (float) (1 - beta1);
    float oldSquare = (float) beta2;
    float newSquare = (float) (1 - beta2);
    float small = (float) epsilon;
    float[] m = state[0];
    float[] v = state[1];
    for (int i = from; i < to; i++) {
      float mean = oldMean * m[i] + newMean * gradients[i];
      float square = oldSquare * v[i] + newSquare * gradients[i] * gradients[i];
      m[i] = mean;
      v[i] = square;
      weights[i] =
          kept * weights[i] - unbiasedRate * mean / ((float) Math.sqrt(square * unbiased) + small);
    }
  }
}
