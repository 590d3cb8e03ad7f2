package io.collectives.all;

import io.collectives.Algorithm;

final class InProcessBidirectionalRingTest extends InProcessAllReduce {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.bidirectionalRing();
  }
}
