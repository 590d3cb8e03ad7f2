package io.collectives.torus;

import io.collectives.plan.Effect;
import io.collectives.plan.Rounds;
import io.collectives.plan.Transfer;
import java.util.function.IntUnaryOperator;

/**
 * A ring of ranks as pure index functions, of which the plans of rings, tori and hierarchies are
 * made.
 *
 * <p>It has places 0 to P-1, a rank at each, and each place owns a share of the chunks. In each
 * round every place sends one share to the next place, which is one {@code step} away:
 *
 * <pre>
 *   reduce-scatter, P = 4, step 1          round 0     round 1     round 2
 *     place 0 sends to place 1             share 3     share 2     share 1
 *     place 1 sends to place 2             share 0     share 3     share 2
 *     place 2 sends to place 3             share 1     share 0     share 3
 *     place 3 sends to place 0             share 2     share 1     share 0
 * </pre>
 *
 * <p>A share that place p will own starts at place p+1 and visits every other place, last p: its
 * sum is x(p+1) + x(p+2) + … + x(p), from the left. The all-gather goes on from there: place p
 * passes on its own share first, then in each round the share that it received in the round before.
 *
 * @param places the number of ranks in the ring, at least 1
 * @param rankAt the rank at each place
 * @param chunkAt the first chunk of the share that each place owns
 * @param countAt the number of consecutive chunks of this share; an empty share is not sent
 * @param step 1 if each place sends to the one after it, -1 if to the one before
 */
record Ring(
    int places,
    IntUnaryOperator rankAt,
    IntUnaryOperator chunkAt,
    IntUnaryOperator countAt,
    int step)
    implements Halves {

  /** Makes a ring with the same number of chunks in each share. */
  Ring(int places, IntUnaryOperator rankAt, IntUnaryOperator chunkAt, int shareChunks, int step) {
    this(places, rankAt, chunkAt, place -> shareChunks, step);
  }

  /**
   * Makes the P-1 rounds in which every place sends one share, and after which each place holds the
   * sum of its own.
   */
  @Override
  public Rounds reduceScatter() {
    return Rounds.of(
        places - 1,
        (round, sink) -> {
          for (int place = 0; place < places; place++) {
            send(place, place - step * (round + 1), Effect.REDUCE, sink);
          }
        });
  }

  /**
   * Makes the P-1 rounds in which every place sends one share, and after which each place has got
   * the share of every other.
   */
  @Override
  public Rounds allGather() {
    return Rounds.of(
        places - 1,
        (round, sink) -> {
          for (int place = 0; place < places; place++) {
            send(place, place - step * round, Effect.REPLACE, sink);
          }
        });
  }

  private void send(int place, int share, Effect effect, Transfer.Sink sink) {
    int next = Math.floorMod(place + step, places);
    int owner = Math.floorMod(share, places);
    int count = countAt.applyAsInt(owner);
    if (count > 0) {
      sink.transfer(
          rankAt.applyAsInt(place),
          rankAt.applyAsInt(next),
          chunkAt.applyAsInt(owner),
          count,
          effect);
    }
  }
}
