package io.collectives.all;

import io.collectives.Algorithm;

final class SharedMemoryDirectCollectivesTest extends SharedMemoryCollectives {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.direct();
  }
}
