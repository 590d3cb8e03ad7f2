package io.collectives.all;

import io.collectives.Algorithm;

final class InProcessRecursiveDoublingTest extends InProcessAllReduce {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.recursiveDoubling();
  }
}
