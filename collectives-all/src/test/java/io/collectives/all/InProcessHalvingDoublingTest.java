package io.collectives.all;

import io.collectives.Algorithm;

final class InProcessHalvingDoublingTest extends InProcessAllReduce {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.halvingDoubling();
  }
}
