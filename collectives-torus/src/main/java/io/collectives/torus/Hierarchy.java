package io.collectives.torus;

import io.collectives.plan.Rounds;
import java.util.function.Function;
import java.util.function.IntBinaryOperator;
import java.util.function.IntUnaryOperator;

/**
 * Ranks in two dimensions, of A and B places, whose rings work one after the other on the same
 * chunks: all rings along the first dimension at once, then all along the second (Kumar et al.
 * 2021, section 3.3). A dimension that is not closed has {@linkplain Line lines} for rings.
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
   * The chunks that one lane moves.
   *
   * @param from the first of its chunks within each share of the first dimension
   * @param to the end of these
   * @param step the direction of its rings, except where {@code apart}
   * @param apart whether, along the second dimension if that is closed, each rank's two chunks go
   *     in different directions
   */
  record Flow(int from, int to, int step, boolean apart) {}

  /** Makes a flow of all chunks in one direction. */
  Flow whole(int step) {
    return new Flow(0, shareChunks(), step, false);
  }

  /**
   * Makes flows of all chunks, of which each rank has one or two, in two lanes of opposite
   * directions, or in one if the first dimension is not closed.
   */
  Flow[] bothWays() {
    int all = shareChunks();
    boolean apart = chunksOfRank == 2;
    return first.closed()
        ? new Flow[] {new Flow(0, all / 2, 1, apart), new Flow(all / 2, all, -1, apart)}
        : new Flow[] {new Flow(0, all, 1, apart)};
  }

  /**
   * Makes the (A-1) + (B-1) rounds after which each rank holds the sums of the chunks that it owns.
   */
  Rounds reduceScatter(Flow flow) {
    return alongFirst(flow, Halves::reduceScatter).then(alongSecond(flow, Halves::reduceScatter));
  }

  /**
   * Makes the (B-1) + (A-1) rounds, those of the reduce-scatter backwards, after which each rank
   * has the chunks of all.
   */
  Rounds allGather(Flow flow) {
    return alongSecond(flow, Halves::allGather).then(alongFirst(flow, Halves::allGather));
  }

  /**
   * Makes the 2(A-1) + 2(B-1) rounds of an all-reduce. Of M bytes in the flow's chunks a rank sends
   * 2M(A-1)/A along the first dimension and 2(M/A)(B-1)/B along the second.
   */
  Rounds allReduce(Flow flow) {
    return reduceScatter(flow).then(allGather(flow));
  }

  /**
   * Makes the rounds of an all-reduce in which every phase but the last one begins at a multiple of
   * {@code phase} rounds: what is left of a phase, or of the two in the second dimension, is idle.
   *
   * @param phase at least A-1 and B-1
   */
  Rounds allReduceInPhases(Flow flow, int phase) {
    return padded(alongFirst(flow, Halves::reduceScatter), phase)
        .then(
            padded(
                alongSecond(flow, Halves::reduceScatter).then(alongSecond(flow, Halves::allGather)),
                2 * phase))
        .then(padded(alongFirst(flow, Halves::allGather), phase));
  }

  private static Rounds padded(Rounds rounds, int count) {
    return rounds.then(Rounds.of(count - rounds.count(), (round, sink) -> {}));
  }

  /** Returns the number of chunks in the share of a place of the first dimension. */
  private int shareChunks() {
    return second.places() * chunksOfRank;
  }

  private Rounds alongFirst(Flow flow, Function<Halves, Rounds> phase) {
    return Rounds.sideBySide(
        second.places(),
        b ->
            phase.apply(
                first.halves(
                    a -> rankAt.applyAsInt(a, b),
                    a -> firstChunk + a * shareChunks() + flow.from(),
                    a -> flow.to() - flow.from(),
                    flow.step())));
  }

  private Rounds alongSecond(Flow flow, Function<Halves, Rounds> phase) {
    return flow.apart() && second.closed()
        ? Rounds.sideBySide(
            2 * first.places(),
            i -> phase.apply(alongSecond(flow, i / 2, i % 2, i % 2 + 1, i % 2 == 0 ? 1 : -1)))
        : Rounds.sideBySide(
            first.places(), a -> phase.apply(alongSecond(flow, a, 0, chunksOfRank, flow.step())));
  }

  /**
   * Makes the halves that move the chunks {@code from} to {@code to} of each rank that belong to
   * the flow.
   */
  private Halves alongSecond(Flow flow, int a, int from, int to, int step) {
    IntUnaryOperator start = b -> Math.max(flow.from(), b * chunksOfRank + from);
    IntUnaryOperator end = b -> Math.min(flow.to(), b * chunksOfRank + to);
    return second.halves(
        b -> rankAt.applyAsInt(a, b),
        b -> firstChunk + a * shareChunks() + start.applyAsInt(b),
        b -> end.applyAsInt(b) - start.applyAsInt(b),
        step);
  }
}
