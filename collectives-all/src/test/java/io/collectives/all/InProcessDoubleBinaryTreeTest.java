package io.collectives.all;

import io.collectives.Algorithm;

final class InProcessDoubleBinaryTreeTest extends InProcessAllReduce {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.doubleBinaryTree();
  }
}
