package io.collectives.torus;

import io.collectives.plan.Rounds;
import java.util.function.Function;
import java.util.function.IntBinaryOperator;
import java.util.function.IntUnaryOperator;

/**
 * Ranks in two dimensions, of A and B places, whose rings work one after the other on the same
 * chunks: all rings along the first dimension at once, then all along the second (Kumar et al.
 * 2021, section 3.3).
 *
 * <p>It has AB chunks. Along the first dimension the share of place a is the B chunks from {@code
 * firstChunk + a B} on; along the second, place b owns one of these. So the rank at (a, b) owns
 * chunk {@code firstChunk + a B + b}, and along the second dimension the payload is A times smaller
 * than along the first.
 *
 * @param first A, the dimension that is reduced first
 * @param second B, the other
 * @param rankAt the rank at (a, b)
 * @param firstChunk the first of its AB chunks
 * @param step the direction of all rings, as in {@link Ring}
 */
record Hierarchy(
    Dimension first, Dimension second, IntBinaryOperator rankAt, int firstChunk, int step) {

  /**
   * One of the two dimensions.
   *
   * @param places how many places it has
   * @param wraps whether its last place is linked to its first; if not, its rings are {@linkplain
   *     Ring#folded folded}
   */
  record Dimension(int places, boolean wraps) {
    Ring ring(IntUnaryOperator rankAt, IntUnaryOperator chunkAt, int shareChunks, int step) {
      Ring closed = new Ring(places, rankAt, chunkAt, shareChunks, step);
      return wraps ? closed : closed.folded();
    }
  }

  /** (A-1) + (B-1) rounds; then each rank holds the sum of its chunk. */
  Rounds reduceScatter() {
    return alongFirst(Ring::reduceScatter).then(alongSecond(Ring::reduceScatter));
  }

  /**
   * (B-1) + (A-1) rounds, back the way of the reduce-scatter; then each rank has got the chunks of
   * all.
   */
  Rounds allGather() {
    return alongSecond(Ring::allGather).then(alongFirst(Ring::allGather));
  }

  /**
   * 2(A-1) + 2(B-1) rounds. Of M bytes in these chunks a rank sends 2M(A-1)/A along the first
   * dimension and 2(M/A)(B-1)/B along the second.
   */
  Rounds allReduce() {
    return reduceScatter().then(allGather());
  }

  private Rounds alongFirst(Function<Ring, Rounds> phase) {
    return Rounds.sideBySide(
        second.places(),
        b ->
            phase.apply(
                first.ring(
                    a -> rankAt.applyAsInt(a, b),
                    a -> firstChunk + a * second.places(),
                    second.places(),
                    step)));
  }

  private Rounds alongSecond(Function<Ring, Rounds> phase) {
    return Rounds.sideBySide(
        first.places(),
        a ->
            phase.apply(
                second.ring(
                    b -> rankAt.applyAsInt(a, b),
                    b -> firstChunk + a * second.places() + b,
                    1,
                    step)));
  }
}
