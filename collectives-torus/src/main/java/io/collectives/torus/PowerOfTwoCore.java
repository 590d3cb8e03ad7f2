package io.collectives.torus;

import io.collectives.plan.Effect;
import io.collectives.plan.Rounds;

/**
 * The p ranks that take part in all rounds of a plan for powers of two, with p the largest one up
 * to n. Of each of the first n-p pairs of neighbours (2i, 2i+1) only the lower rank is one of them:
 * the upper one first sends it all that it has, and last receives the whole result from it. Their
 * places are in the order of ranks.
 *
 * @param count p
 * @param pairs the number of them that work for their upper neighbour, too
 */
record PowerOfTwoCore(int count, int pairs) {

  static PowerOfTwoCore of(int ranks) {
    int count = Integer.highestOneBit(ranks);
    return new PowerOfTwoCore(count, ranks - count);
  }

  /** Returns the logarithm of {@link #count} to base 2. */
  int levels() {
    return Integer.numberOfTrailingZeros(count);
  }

  /** Returns the rank at a place. */
  int rank(int place) {
    return place + Math.min(place, pairs);
  }

  /**
   * Adds to the rounds of an all-reduce those in which upper neighbours send their data first and
   * receive the result last.
   */
  Rounds allReduce(int chunks, Rounds rounds) {
    return neighbours((lower, upper, s) -> s.transfer(upper, lower, 0, chunks, Effect.REDUCE))
        .then(rounds)
        .then(neighbours((lower, upper, s) -> s.transfer(lower, upper, 0, chunks, Effect.REPLACE)));
  }

  private Rounds neighbours(Pair pair) {
    return Rounds.of(
        pairs == 0 ? 0 : 1,
        (round, sink) -> {
          for (int lower = 0; lower < 2 * pairs; lower += 2) {
            pair.transfer(lower, lower + 1, sink);
          }
        });
  }
}
