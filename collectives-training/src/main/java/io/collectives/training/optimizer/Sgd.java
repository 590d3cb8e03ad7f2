package io.collectives.training.optimizer;

import java.util.function.LongToDoubleFunction;

/** See {@link Optimizers#sgd}. */
record Sgd(LongToDoubleFunction rate) implements Optimizer {
  @Override
  public String name() {
    return "sgd";
  }

  @Override
  public int stateCount() {
    return 0;
  }

  @Override
  public void update(
      float[] weights, float[] gradients, float[][] state, int from, int to, long step) {
    descend(weights, gradients, from, to, (float) rate.applyAsDouble(step));
  }

  static void descend(float[] w, float[] g, int from, int to, float rate) {
    for (int i = from; i < to; i++) {
      w[i] -= rate * g[i];
    }
  }
}
