package io.collectives.all;

import io.collectives.Algorithm;
import org.junit.jupiter.api.Tag;

@Tag("once")
final class InProcessDoubleBinaryTreeCollectivesTest extends InProcessCollectives {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.doubleBinaryTree();
  }
}
