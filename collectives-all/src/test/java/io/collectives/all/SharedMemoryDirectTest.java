package io.collectives.all;

import io.collectives.Algorithm;

final class SharedMemoryDirectTest extends SharedMemoryAllReduce {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.direct();
  }
}
