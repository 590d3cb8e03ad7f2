package io.collectives.all;

import io.collectives.Algorithm;

final class InProcessDirectCollectivesTest extends InProcessCollectives {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.direct();
  }
}
