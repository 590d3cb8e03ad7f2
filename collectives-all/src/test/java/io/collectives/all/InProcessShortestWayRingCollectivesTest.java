package io.collectives.all;

import io.collectives.Algorithm;

final class InProcessShortestWayRingCollectivesTest extends InProcessCollectives {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.shortestWayRing();
  }
}
