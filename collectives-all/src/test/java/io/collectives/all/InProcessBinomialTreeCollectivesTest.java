package io.collectives.all;

import io.collectives.Algorithm;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;

@Tag("once")
final class InProcessBinomialTreeCollectivesTest extends InProcessCollectives {
  /** More, for meshes that are no squares and cubes with corners that are missing. */
  static IntStream ranks() {
    return IntStream.of(1, 2, 4, 6, 9, 12, 16);
  }

  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.binomialTree();
  }
}
