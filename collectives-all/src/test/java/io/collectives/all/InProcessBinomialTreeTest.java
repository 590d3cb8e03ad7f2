package io.collectives.all;

import io.collectives.Algorithm;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;

@Tag("once")
final class InProcessBinomialTreeTest extends InProcessAllReduce {
  static IntStream ranks() {
    return fewRanks();
  }

  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.binomialTree();
  }
}
