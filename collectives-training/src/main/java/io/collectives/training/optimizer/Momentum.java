package io.collectives.training.optimizer;

import java.util.function.LongToDoubleFunction;

/** See {@link Optimizer#momentum}. */
record Momentum(LongToDoubleFunction rate, float momentum) implements Optimizer {
  @Override
  public String name() {
    return "momentum";
  }

  @Override
  public int stateCount() {
    return 1;
  }

  @Override
  public void update(
      float[] weights, float[] gradients, float[][] state, int from, int to, long step) {
    descend(weights, gradients, state[0], from, to, (float) rate.applyAsDouble(step), momentum);
  }

  private static void descend(
      float[] w, float[] g, float[] v, int from, int to, float rate, float momentum) {
    for (int i = from; i < to; i++) {
      float velocity = momentum * v[i] + g[i];
      v[i] = velocity;
      w[i] -= rate * velocity;
    }
  }
}
