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
 * <p>The rank at (a, b) owns the k chunks from {@code firstChunk + (a B + b) k} on. Along the first
 * dimension the share of place a consists of the kB chunks of its owners, which follow each other;
 * along the second the share of place b consists of the chunks that it owns, so there the payload
 * is A times smaller.
 *
 * <p>One {@link Flow} is one lane. It takes all chunks, or those from one place on to another of
 * each share of the first dimension:
 *
 * <pre>
 *   the share of place a, B = 3, k = 2      owner 0  | owner 1  | owner 2
 *     chunks                                 0    1  |  2    3  |  4    5
 *     along the first dimension            up   up    up  down    down down      two lanes
 *     along the second                     up  down   up  down    up   down      in either lane
 * </pre>
 *
 * <p>So each direction of a dimension carries half of the data that go along it, while a lane still
 * sends one range along the first dimension. Along the second the two lanes make up one ring each
 * way: in each round each link carries one chunk, whichever lane it is of.
 *
 * @param first A, the dimension that is reduced first
 * @param second B, the other
 * @param rankAt the rank at (a, b)
 * @param firstChunk the first of its ABk chunks
 * @param chunksOfRank k
 */
record Hierarchy(
    Dimension first, Dimension second, IntBinaryOperator rankAt, int firstChunk, int chunksOfRank) {

  /**
   * A dimension, one of the two.
   *
   * @param places its number of places
   * @param wraps whether its last place is linked to its first; if not, its rings are {@linkplain
   *     Ring#folded folded}
   */
  record Dimension(int places, boolean wraps) {
    /**
     * Returns whether rings of opposite directions share no link. Of two places both directions are
     * one link, and a folded ring uses each link of its line both ways; there all rings go up.
     */
    boolean closed() {
      return wraps && places > 2;
    }

    Ring ring(
        IntUnaryOperator rankAt, IntUnaryOperator chunkAt, IntUnaryOperator countAt, int step) {
      Ring ring = new Ring(places, rankAt, chunkAt, countAt, closed() ? step : 1);
      return wraps ? ring : ring.folded();
    }
  }

  /**
   * The chunks that one lane moves.
   *
   * @param from the first of its chunks within each share of the first dimension
   * @param to the end of these
   * @param step the direction of its rings, except where each rank's two chunks go in different
   *     directions
   */
  record Flow(int from, int to, int step) {}

  /** Makes a flow of all chunks. */
  Flow whole(int step) {
    return new Flow(0, shareChunks(), step);
  }

  /**
   * Makes flows of all chunks in two lanes of opposite directions, or in one if the first dimension
   * is not closed.
   */
  Flow[] bothWays() {
    int all = shareChunks();
    return first.closed()
        ? new Flow[] {new Flow(0, all / 2, 1), new Flow(all / 2, all, -1)}
        : new Flow[] {whole(1)};
  }

  /**
   * Makes the (A-1) + (B-1) rounds after which each rank holds the sums of the chunks that it owns.
   */
  Rounds reduceScatter(Flow flow) {
    return alongFirst(flow, Ring::reduceScatter).then(alongSecond(flow, Ring::reduceScatter));
  }

  /**
   * Makes the (B-1) + (A-1) rounds, those of the reduce-scatter backwards, after which each rank
   * has the chunks of all.
   */
  Rounds allGather(Flow flow) {
    return alongSecond(flow, Ring::allGather).then(alongFirst(flow, Ring::allGather));
  }

  /**
   * Makes the 2(A-1) + 2(B-1) rounds of an all-reduce. Of M bytes in the flow's chunks a rank sends
   * 2M(A-1)/A along the first dimension and 2(M/A)(B-1)/B along the second.
   */
  Rounds allReduce(Flow flow) {
    return reduceScatter(flow).then(allGather(flow));
  }

  /** Returns the number of chunks in the share of a place of the first dimension. */
  private int shareChunks() {
    return second.places() * chunksOfRank;
  }

  private Rounds alongFirst(Flow flow, Function<Ring, Rounds> phase) {
    return Rounds.sideBySide(
        second.places(),
        b ->
            phase.apply(
                first.ring(
                    a -> rankAt.applyAsInt(a, b),
                    a -> firstChunk + a * shareChunks() + flow.from(),
                    a -> flow.to() - flow.from(),
                    flow.step())));
  }

  private Rounds alongSecond(Flow flow, Function<Ring, Rounds> phase) {
    return chunksOfRank > 1 && second.closed()
        ? Rounds.sideBySide(
            2 * first.places(),
            i -> phase.apply(alongSecond(flow, i / 2, i % 2, i % 2 + 1, i % 2 == 0 ? 1 : -1)))
        : Rounds.sideBySide(
            first.places(), a -> phase.apply(alongSecond(flow, a, 0, chunksOfRank, flow.step())));
  }

  /**
   * Makes a ring that moves the chunks {@code from} to {@code to} of each rank that belong to the
   * flow.
   */
  private Ring alongSecond(Flow flow, int a, int from, int to, int step) {
    IntUnaryOperator start = b -> Math.max(flow.from(), b * chunksOfRank + from);
    IntUnaryOperator end = b -> Math.min(flow.to(), b * chunksOfRank + to);
    return second.ring(
        b -> rankAt.applyAsInt(a, b),
        b -> firstChunk + a * shareChunks() + start.applyAsInt(b),
        b -> end.applyAsInt(b) - start.applyAsInt(b),
        step);
  }
}
