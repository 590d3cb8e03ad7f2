package io.collectives.all;

import io.collectives.Algorithm;

final class TcpShortestWayRingCollectivesTest extends TcpCollectives {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.shortestWayRing();
  }
}
