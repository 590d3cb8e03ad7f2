package io.collectives.torus;

import io.collectives.Mesh;
import io.collectives.plan.Rounds;
import java.util.function.IntBinaryOperator;

/**
 * A broadcast or reduction of one chunk between a root and all ranks of two dimensions: along the
 * first dimension from the root, then along the second from all ranks that have it, each time
 * {@linkplain Chains both ways}.
 *
 * @param first the dimension that is next to the root
 * @param second the other
 * @param rankAt the rank at a place of the first and one of the second
 * @param rootFirst the root's place in the first
 * @param rootSecond its place in the second
 * @param chunk the chunk that is moved
 */
record Spread(
    Dimension first,
    Dimension second,
    IntBinaryOperator rankAt,
    int rootFirst,
    int rootSecond,
    int chunk) {

  /** Makes one that goes along the root's row first. */
  static Spread of(Mesh mesh, int root, int chunk) {
    return new Spread(
        new Dimension(mesh.x(), mesh.wrapX()),
        new Dimension(mesh.y(), mesh.wrapY()),
        mesh::rankAt,
        root % mesh.x(),
        root / mesh.x(),
        chunk);
  }

  /** Returns one of another chunk with the dimensions in the other order. */
  Spread transposed(int otherChunk) {
    return new Spread(
        second, first, (b, a) -> rankAt.applyAsInt(a, b), rootSecond, rootFirst, otherChunk);
  }

  /** Makes the rounds after which each rank has the root's chunk. */
  Rounds broadcast() {
    return alongFirst()
        .broadcast()
        .then(Rounds.sideBySide(first.places(), a -> alongSecond(a).broadcast()));
  }

  /** Makes the rounds after which the root has the sum of its chunk. */
  Rounds reduce() {
    return Rounds.sideBySide(first.places(), a -> alongSecond(a).reduce())
        .then(alongFirst().reduce());
  }

  private Chains alongFirst() {
    return Chains.bothWays(
        first.places(), first.wraps(), rootFirst, a -> rankAt.applyAsInt(a, rootSecond), chunk);
  }

  private Chains alongSecond(int a) {
    return Chains.bothWays(
        second.places(), second.wraps(), rootSecond, b -> rankAt.applyAsInt(a, b), chunk);
  }
}
