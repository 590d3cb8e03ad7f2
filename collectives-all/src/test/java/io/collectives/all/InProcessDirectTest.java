package io.collectives.all;

import io.collectives.Algorithm;

final class InProcessDirectTest extends InProcessAllReduce {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.direct();
  }
}
