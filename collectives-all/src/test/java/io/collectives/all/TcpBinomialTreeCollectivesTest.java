package io.collectives.all;

import io.collectives.Algorithm;

final class TcpBinomialTreeCollectivesTest extends TcpCollectives {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.binomialTree();
  }
}
