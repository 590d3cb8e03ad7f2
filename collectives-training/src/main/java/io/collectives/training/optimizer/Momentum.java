package io.collectives.training.optimizer;

import java.util.function.LongToDoubleFunction;

/** See {@link Optimizers#momentum} and {@link Optimizers#nesterov}. */
record Momentum(LongToDoubleFunction rate, double momentum, double decay, boolean looksAhead)
    implements Optimizer {
  @Override
  public String name() {
    return "momentum";
  }

  @Override
  public int stateCount() {
    return 1;
  }

  @Override
  public Optimizer forBiases() {
    return new Momentum(rate, momentum, 0, looksAhead);
  }

  @Override
  public void update(
      float[] weights, float[] gradients, float[][] state, int from, int to, long step) {
    float now = (float) rate.applyAsDouble(step);
    if (looksAhead) {
      descendAhead(weights, gradients, state[0], from, to, now);
    } else {
      descend(weights, gradients, state[0], from, to, now);
    }
  }

  /** Updates weights by a given rate. */
  void descend(float[] w, float[] g, float[] v, int from, int to, float now) {
    float kept = (float) momentum;
    float shrink = (float) decay;
    for (int i = from; i < to; i++) {
      float velocity = kept * v[i] + (g[i] + shrink * w[i]);
      v[i] = velocity;
      w[i] -= now * velocity;
    }
  }

  private void descendAhead(float[] w, float[] g, float[] v, int from, int to, float now) {
    float kept = (float) momentum;
    float shrink = (float) decay;
    for (int i = from; i < to; i++) {
      float gradient = g[i] + shrink * w[i];
      float velocity = kept * v[i] + gradient;
      v[i] = velocity;
      w[i] -= now * (gradient + kept * velocity);
    }
  }
}
