package io.collectives.torus;

import io.collectives.plan.Effect;
import io.collectives.plan.Rounds;
import java.util.function.IntUnaryOperator;

/**
 * Broadcasts and reductions along a line or a ring: the root has ranks on one or both sides, and
 * each rank exchanges data only with its neighbour nearer to the root and its neighbour farther
 * away.
 *
 * <pre>
 *   broadcast, 3 up and 2 down        root-2  root-1  root  root+1  root+2  root+3
 *     round 0                                     &lt;----  ----&gt;
 *     round 1                             &lt;----              ----&gt;
 *     round 2                                                        ----&gt;
 * </pre>
 *
 * <p>A reduction goes the same way back: the farthest rank sends first, each rank adds the data
 * that arrive to its own, and the sum x(root+3) + x(root+2) + … + x(root) moves from the ends to
 * the root, from both sides in the last round. With several slabs this is a pipeline: a rank passes
 * on one slab while the next one arrives.
 *
 * @param places the number of places, which wrap: the place after the last is the first
 * @param root the root's place
 * @param up the number of places after the root that take part
 * @param down the number of places before it
 * @param rankAt the rank at each place
 * @param chunk the chunk that is moved
 */
record Chains(int places, int root, int up, int down, IntUnaryOperator rankAt, int chunk) {

  /**
   * Makes a chain of all places, one after the other from the root up, or down if {@code step} is
   * -1.
   */
  static Chains oneWay(int places, int root, int step, int chunk) {
    int up = step > 0 ? places - 1 : 0;
    return new Chains(places, root, up, places - 1 - up, IntUnaryOperator.identity(), chunk);
  }

  /**
   * Makes two chains that reach each place the shorter way: half of a ring on each side, or the
   * places that a line has there.
   *
   * @param wraps whether the places are a ring
   */
  static Chains bothWays(int places, boolean wraps, int root, IntUnaryOperator rankAt, int chunk) {
    int up = wraps ? places / 2 : places - 1 - root;
    return new Chains(places, root, up, places - 1 - up, rankAt, chunk);
  }

  /**
   * Makes the rounds of a broadcast, one for each place of the longer side; after them each rank
   * has the root's chunk.
   */
  Rounds broadcast() {
    return Rounds.of(
        Math.max(up, down),
        (round, sink) ->
            hops(
                round + 1,
                (outer, inner) -> sink.transfer(inner, outer, chunk, 1, Effect.REPLACE)));
  }

  /**
   * Makes the rounds of a reduction, one for each place of the longer side; after them the root has
   * the sum of its chunk.
   */
  Rounds reduce() {
    int farthest = Math.max(up, down);
    return Rounds.of(
        farthest,
        (round, sink) ->
            hops(
                farthest - round,
                (outer, inner) -> sink.transfer(outer, inner, chunk, 1, Effect.REDUCE)));
  }

  /**
   * Lists the hops between the ranks {@code distance} places from the root and those one place
   * nearer.
   */
  private void hops(int distance, Hop hop) {
    if (distance <= up) {
      hop.hop(rank(distance), rank(distance - 1));
    }
    if (distance <= down) {
      hop.hop(rank(-distance), rank(1 - distance));
    }
  }

  private int rank(int fromRoot) {
    return rankAt.applyAsInt(Math.floorMod(root + fromRoot, places));
  }

  @FunctionalInterface
  private interface Hop {
    void hop(int outer, int inner);
  }
}
