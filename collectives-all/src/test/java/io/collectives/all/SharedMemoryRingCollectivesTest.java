package io.collectives.all;

import io.collectives.Algorithm;

final class SharedMemoryRingCollectivesTest extends SharedMemoryCollectives {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.ring();
  }
}
