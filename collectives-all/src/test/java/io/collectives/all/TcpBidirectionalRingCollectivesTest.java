package io.collectives.all;

import io.collectives.Algorithm;

final class TcpBidirectionalRingCollectivesTest extends TcpCollectives {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.bidirectionalRing();
  }
}
