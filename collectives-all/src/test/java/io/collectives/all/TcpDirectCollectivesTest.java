package io.collectives.all;

import io.collectives.Algorithm;

final class TcpDirectCollectivesTest extends TcpCollectives {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.direct();
  }
}
