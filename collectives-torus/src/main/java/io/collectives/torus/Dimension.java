package io.collectives.torus;

import java.util.function.IntUnaryOperator;

/**
 * A dimension of a mesh.
 *
 * @param places its number of places
 * @param wraps whether its last place is linked to its first
 */
record Dimension(int places, boolean wraps) {

  /**
   * Returns whether it is a ring, in which data that go up share no link with data that go down. It
   * needs three places; two are a line.
   */
  boolean closed() {
    return wraps && places > 2;
  }

  /**
   * Makes the halves of an all-reduce along it: a {@link Ring} if it is closed, else a {@link
   * Line}.
   *
   * @param rankAt the rank at each place
   * @param chunkAt the first chunk of the share that each place owns
   * @param countAt the number of consecutive chunks of this share
   * @param step the direction of the ring; a line has both
   */
  Halves halves(
      IntUnaryOperator rankAt, IntUnaryOperator chunkAt, IntUnaryOperator countAt, int step) {
    return closed()
        ? new Ring(places, rankAt, chunkAt, countAt, step)
        : new Line(places, rankAt, chunkAt, countAt);
  }
}
