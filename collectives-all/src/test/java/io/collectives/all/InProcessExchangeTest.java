package io.collectives.all;

import io.collectives.Algorithm;

final class InProcessExchangeTest extends InProcessAllReduce {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.exchange();
  }
}
