package io.collectives.all;

import io.collectives.Algorithm;

final class SharedMemoryRingTest extends SharedMemoryAllReduce {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.ring();
  }
}
