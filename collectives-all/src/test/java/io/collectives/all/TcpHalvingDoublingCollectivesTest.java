package io.collectives.all;

import io.collectives.Algorithm;

final class TcpHalvingDoublingCollectivesTest extends TcpCollectives {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.halvingDoubling();
  }
}
