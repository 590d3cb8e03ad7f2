package io.collectives.all;

import io.collectives.Algorithm;

final class InProcessDoubleBinaryTreeCollectivesTest extends InProcessCollectives {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.doubleBinaryTree();
  }
}
