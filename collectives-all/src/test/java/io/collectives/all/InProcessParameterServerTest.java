package io.collectives.all;

import io.collectives.Algorithm;

final class InProcessParameterServerTest extends InProcessAllReduce {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.parameterServer((ranks + 1) / 2);
  }
}
