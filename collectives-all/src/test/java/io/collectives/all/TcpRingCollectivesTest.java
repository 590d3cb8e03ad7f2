package io.collectives.all;

import io.collectives.Algorithm;

final class TcpRingCollectivesTest extends TcpCollectives {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.ring();
  }
}
