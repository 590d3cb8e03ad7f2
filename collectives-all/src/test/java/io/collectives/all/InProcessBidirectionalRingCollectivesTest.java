package io.collectives.all;

import io.collectives.Algorithm;

final class InProcessBidirectionalRingCollectivesTest extends InProcessCollectives {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.bidirectionalRing();
  }
}
