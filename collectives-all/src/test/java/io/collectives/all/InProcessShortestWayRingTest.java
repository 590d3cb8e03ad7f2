package io.collectives.all;

import io.collectives.Algorithm;

final class InProcessShortestWayRingTest extends InProcessAllReduce {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.shortestWayRing();
  }
}
