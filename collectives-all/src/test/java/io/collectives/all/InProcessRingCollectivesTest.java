package io.collectives.all;

import io.collectives.Algorithm;
import java.util.stream.IntStream;

final class InProcessRingCollectivesTest extends InProcessCollectives {
  /** All small numbers. */
  static IntStream ranks() {
    return IntStream.rangeClosed(1, 9);
  }

  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.ring();
  }
}
