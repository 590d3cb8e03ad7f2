package io.collectives.all;

import io.collectives.Algorithm;

final class InProcessRingTest extends InProcessAllReduce {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.ring();
  }
}
