package io.collectives.torus;

import io.collectives.plan.Effect;
import io.collectives.plan.Rounds;
import io.collectives.plan.Transfer;
import java.util.function.IntUnaryOperator;

/**
 * A line of ranks whose ends are not linked, as pure index functions: data move along it from both
 * ends at once, and only between neighbours.
 *
 * <p>It has places 0 to P-1, a rank at each, and each place owns a share of the chunks. In a
 * reduce-scatter the sum for an owner comes from both sides, and the one that has the longest way
 * sets out first:
 *
 * <pre>
 *   reduce-scatter, P = 4, upward          round 0     round 1     round 2
 *     place 0 sends to place 1             share 3     share 2     share 1
 *     place 1 sends to place 2                         share 3     share 2
 *     place 2 sends to place 3                                     share 3
 * </pre>
 *
 * <p>So each link carries at most one share each way in a round, each transfer crosses one link,
 * and all sums are complete after P-1 rounds; a ring that is folded over the same line would take
 * as many rounds of two links each. The sum at place p is its own part, then x(0) + … + x(p-1) and
 * x(P-1) + … + x(p+1), each from the left. The all-gather is the same backward.
 *
 * <p>With shares of M/P bytes, a place sends M(P-1)/P bytes in a reduce-scatter. In an all-gather
 * one that has neighbours on both sides sends M(P+1)/P, because its own share goes both ways, and
 * one at an end M/P.
 *
 * @param places the number of ranks in the line, at least 1
 * @param rankAt the rank at each place
 * @param chunkAt the first chunk of the share that each place owns
 * @param countAt the number of consecutive chunks of this share; an empty share is not sent
 */
record Line(int places, IntUnaryOperator rankAt, IntUnaryOperator chunkAt, IntUnaryOperator countAt)
    implements Halves {

  @Override
  public Rounds reduceScatter() {
    return Rounds.of(
        places - 1, (round, sink) -> hops(places - 1 - round, true, Effect.REDUCE, sink));
  }

  @Override
  public Rounds allGather() {
    return Rounds.of(places - 1, (round, sink) -> hops(round + 1, false, Effect.REPLACE, sink));
  }

  /**
   * Lists the hops, toward the owner or away from it, between two neighbours of which the farther
   * one is so many places from the owner of the share; they are of both directions.
   */
  private void hops(int distance, boolean toOwner, Effect effect, Transfer.Sink sink) {
    for (int side = -1; side <= 1; side += 2) {
      for (int owner = 0; owner < places; owner++) {
        int outer = owner + side * distance;
        int count = countAt.applyAsInt(owner);
        if (outer >= 0 && outer < places && count > 0) {
          int far = rankAt.applyAsInt(outer);
          int near = rankAt.applyAsInt(outer - side);
          sink.transfer(
              toOwner ? far : near, toOwner ? near : far, chunkAt.applyAsInt(owner), count, effect);
        }
      }
    }
  }
}
