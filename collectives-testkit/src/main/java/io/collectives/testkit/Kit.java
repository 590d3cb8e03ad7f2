package io.collectives.testkit;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.plan.Additions;
import io.collectives.spi.Algorithms;
import java.util.List;
import java.util.Objects;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The extent of the contract tests. With {@code -Dcollectives.kit=short} they try fewer numbers of
 * ranks, for where somebody waits, or where the same tests have been run in full on another JDK.
 */
final class Kit {
  private static final boolean SHORT = "short".equals(System.getProperty("collectives.kit"));

  private Kit() {}

  /** Returns the message of an error, which must have one. */
  static String message(Throwable error) {
    return Objects.requireNonNull(error.getMessage(), () -> error + " says nothing");
  }

  /** Returns the cases to try: all, or the first so many of them in the short kit. */
  static <T> Stream<T> cases(int some, List<T> all) {
    return all.stream().limit(SHORT ? some : all.size());
  }

  /** Returns the numbers of ranks to try: all, or one of them in the short kit. */
  static IntStream ranks(int one, int... all) {
    return SHORT ? IntStream.of(one) : IntStream.of(all);
  }

  /** Returns all numbers of ranks up to one, or in the short kit the first half and the last. */
  static IntStream ranksUpTo(int most) {
    return IntStream.rangeClosed(1, most)
        .filter(ranks -> !SHORT || ranks <= most / 2 + 1 || ranks == most);
  }

  /**
   * Returns the algorithms that modules plan for a number of ranks.
   *
   * @param atOnce true for those that can add in the order of ranks, false for those that cannot
   */
  static List<Algorithm> algorithms(int ranks, boolean atOnce) {
    Algorithms algorithms = Algorithms.onClassPath();
    return algorithms.all().stream()
        .filter(spec -> spec.suits(ranks))
        .map(spec -> algorithms.forRanks(Algorithm.named(spec.name()), ranks))
        .filter(
            algorithm ->
                Additions.areAtOnce(algorithms.plan(algorithm, Collective.ALL_REDUCE, ranks))
                    == atOnce)
        .toList();
  }

  /** Returns the least number of ranks, from a given one on, that an algorithm supports. */
  static int suiting(IntFunction<Algorithm> algorithm, int wanted) {
    Algorithms algorithms = Algorithms.onClassPath();
    int ranks = wanted;
    while (!(algorithm.apply(ranks) instanceof Algorithm.Auto)
        && !algorithms.suits(algorithm.apply(ranks), ranks)) {
      ranks++;
    }
    return ranks;
  }
}
