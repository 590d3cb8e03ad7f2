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
    float kept = (float) momentum;
    float shrink = (float) decay;
    if (looksAhead) {
      descendAhead(weights, gradients, state[0], from, to, now, kept, shrink);
    } else {
      descend(weights, gradients, state[0], from, to, now, kept, shrink);
    }
  }

  static void descend(
      float[] w, float[] g, float[] v, int from, int to, float rate, float momentum, float decay) {
    for (int i = from; i < to; i++) {
      float velocity = momentum * v[i] + (g[i] + decay * w[i]);
      v[i] = velocity;
      w[i] -= rate * velocity;
    }
  }

  private static void descendAhead(
      float[] w, float[] g, float[] v, int from, int to, float rate, float momentum, float decay) {
    for (int i = from; i < to; i++) {
      float gradient = g[i] + decay * w[i];
      float velocity = momentum * v[i] + gradient;
      v[i] = velocity;
      w[i] -= rate * (gradient + momentum * velocity);
    }
  }
}
