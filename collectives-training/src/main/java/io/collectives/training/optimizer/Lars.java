package io.collectives.training.optimizer;

import java.util.function.LongToDoubleFunction;

/** See {@link Optimizers#lars}. */
record Lars(
    LongToDoubleFunction rate, double momentum, double decay, double trust, boolean scalesMomentum)
    implements LayerwiseOptimizer {
  @Override
  public String name() {
    return scalesMomentum ? "lars" : "lars-unscaled";
  }

  @Override
  public int stateCount() {
    return 1;
  }

  @Override
  public Optimizer forBiases() {
    return scalesMomentum
        ? new ScaledMomentum(rate, momentum)
        : new Momentum(rate, momentum, 0, false);
  }

  @Override
  public boolean prepares() {
    return false;
  }

  @Override
  public void prepare(
      float[] weights, float[] gradients, float[][] state, int from, int to, long step) {}

  @Override
  public double layerRate(long step, double weightNorm, double gradientNorm) {
    double now = rate.applyAsDouble(step);
    return weightNorm > 0 && gradientNorm > 0
        ? now * trust * weightNorm / (gradientNorm + decay * weightNorm)
        : now;
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
    float[] velocity = state[0];
    if (scalesMomentum) {
      descend(weights, gradients, velocity, from, to, (float) layerRate);
    } else {
      new Momentum(rate, momentum, decay, false)
          .descend(weights, gradients, velocity, from, to, (float) layerRate);
    }
  }

  /** Updates weights by a given rate, which scales the velocity. */
  void descend(float[] w, float[] g, float[] v, int from, int to, float now) {
    float kept = (float) momentum;
    float shrink = (float) decay;
    for (int i = from; i < to; i++) {
      float velocity = kept * v[i] + now * (g[i] + shrink * w[i]);
      v[i] = velocity;
      w[i] -= velocity;
    }
  }
}
