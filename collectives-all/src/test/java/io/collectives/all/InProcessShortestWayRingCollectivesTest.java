package io.collectives.all;

import io.collectives.Algorithm;
import org.junit.jupiter.api.Tag;

@Tag("once")
final class InProcessShortestWayRingCollectivesTest extends InProcessCollectives {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.shortestWayRing();
  }
}
