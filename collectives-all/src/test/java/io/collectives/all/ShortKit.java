package io.collectives.all;

import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;

/** The extent of these tests, which is that of the contract tests: {@code -Dcollectives.kit}. */
final class ShortKit {
  private ShortKit() {}

  /** Returns whether the kit is short. */
  static boolean isOn() {
    return "short".equals(System.getProperty("collectives.kit"));
  }

  /**
   * Returns the transports to try, each with an algorithm, as in {@code "tcp, ring"}: all, or the
   * first so many of them in the short kit.
   */
  static Stream<Arguments> rows(int some, String... all) {
    return Arrays.stream(all)
        .limit(isOn() ? some : all.length)
        .map(row -> Arguments.of((Object[]) row.split(", ")));
  }
}
