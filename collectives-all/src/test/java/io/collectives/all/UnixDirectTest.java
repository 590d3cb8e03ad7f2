package io.collectives.all;

import io.collectives.Algorithm;

final class UnixDirectTest extends UnixAllReduce {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.direct();
  }
}
