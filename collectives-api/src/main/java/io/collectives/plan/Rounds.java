package io.collectives.plan;

import java.util.Objects;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/**
 * A sequence of rounds, of which lanes are made.
 *
 * <p>Three ways of building are enough for the plans of this library: {@link #of} for rounds that a
 * function of the round's number lists, {@link #then} for phases one after the other, {@link
 * #sideBySide} for groups of ranks that do the same at once. A {@link Plan} runs several of them
 * side by side as lanes, which do not wait for each other.
 *
 * <p>Like a plan, it is a pure function: immutable, usable by any thread, and generated when asked
 * for and never held.
 */
public interface Rounds {

  /** Returns the number of rounds, which may be 0. */
  int count();

  /**
   * Passes the transfers of a round to a sink, in the same order each time.
   *
   * @param round the number of the round, from 0 to {@code count() - 1}
   */
  void transfers(int round, Transfer.Sink sink);

  /**
   * Returns these rounds followed by those of the next phase: {@code count() + next.count()} of
   * them.
   */
  default Rounds then(Rounds next) {
    Rounds first = this;
    int turn = first.count();
    return of(
        Math.addExact(turn, next.count()),
        (round, sink) -> {
          if (round < turn) {
            first.transfers(round, sink);
          } else {
            next.transfers(round - turn, sink);
          }
        });
  }

  /**
   * Makes rounds whose transfers a function lists.
   *
   * @param count the number of rounds, which may be 0
   */
  static Rounds of(int count, Round round) {
    if (count < 0) {
      throw new IllegalArgumentException(count + " rounds: at least 0 are needed");
    }
    return new Rounds() {
      @Override
      public int count() {
        return count;
      }

      @Override
      public void transfers(int number, Transfer.Sink sink) {
        round.transfers(Objects.checkIndex(number, count), sink);
      }
    };
  }

  /**
   * Makes rounds of parts that run side by side: round i holds round i of part 0, then of part 1,
   * and so on; a part that has ended is left out. There are as many rounds as the longest part has.
   */
  static Rounds sideBySide(int parts, IntFunction<Rounds> part) {
    Rounds[] all = IntStream.range(0, parts).mapToObj(part).toArray(Rounds[]::new);
    int longest = 0;
    for (Rounds one : all) {
      longest = Math.max(longest, one.count());
    }
    return of(
        longest,
        (round, sink) -> {
          for (Rounds one : all) {
            if (round < one.count()) {
              one.transfers(round, sink);
            }
          }
        });
  }

  /** A function that lists the transfers of a round, given its number. */
  @FunctionalInterface
  interface Round {
    /** See {@link Rounds#transfers}. */
    void transfers(int round, Transfer.Sink sink);
  }
}
