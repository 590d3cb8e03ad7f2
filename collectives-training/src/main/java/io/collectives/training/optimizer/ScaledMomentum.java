package io.collectives.training.optimizer;

import java.util.function.LongToDoubleFunction;

/** Momentum whose velocity has the learning rate in it: {@link Lars} without norms and decay. */
record ScaledMomentum(LongToDoubleFunction rate, double momentum) implements Optimizer {
  @Override
  public String name() {
    return "scaled-momentum";
  }

  @Override
  public int stateCount() {
    return 1;
  }

  @Override
  public void update(
      float[] weights, float[] gradients, float[][] state, int from, int to, long step) {
    float now = (float) rate.applyAsDouble(step);
    new Lars(rate, momentum, 0, 1, true).descend(weights, gradients, state[0], from, to, now);
  }
}
