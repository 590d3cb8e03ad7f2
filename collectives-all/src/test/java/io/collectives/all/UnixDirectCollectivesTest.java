package io.collectives.all;

import io.collectives.Algorithm;

final class UnixDirectCollectivesTest extends UnixCollectives {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.direct();
  }
}
