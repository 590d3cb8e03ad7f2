package io.collectives.testkit;

import java.util.stream.IntStream;

/**
 * How much the contract tests try. With {@code -Dcollectives.kit=short} they try fewer numbers of
 * ranks, where the same tests have been run in full before, as on another JDK.
 */
final class Kit {
  private static final boolean SHORT = "short".equals(System.getProperty("collectives.kit"));

  private Kit() {}

  /** The numbers of ranks, or one of them. */
  static IntStream ranks(int one, int... all) {
    return SHORT ? IntStream.of(one) : IntStream.of(all);
  }
}
