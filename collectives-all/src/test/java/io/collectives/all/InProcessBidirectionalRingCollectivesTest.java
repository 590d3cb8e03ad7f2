package io.collectives.all;

import io.collectives.Algorithm;
import org.junit.jupiter.api.Tag;

@Tag("once")
final class InProcessBidirectionalRingCollectivesTest extends InProcessCollectives {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.bidirectionalRing();
  }
}
