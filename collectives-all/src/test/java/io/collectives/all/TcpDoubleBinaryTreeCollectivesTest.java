package io.collectives.all;

import io.collectives.Algorithm;

final class TcpDoubleBinaryTreeCollectivesTest extends TcpCollectives {
  @Override
  protected Algorithm algorithm(int ranks) {
    return Algorithm.doubleBinaryTree();
  }
}
