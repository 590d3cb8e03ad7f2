package io.collectives.all;

import io.collectives.spi.AlgorithmSpec;
import io.collectives.spi.Algorithms;
import java.util.Set;
import java.util.stream.Stream;

/** The algorithms whose numbers are tested. */
final class NumberedAlgorithms {
  /** An algorithm of each kind: neighbours, all with all, lanes, trees, pairs, and servers. */
  private static final Set<String> KINDS =
      Set.of("ring", "direct", "torus", "double-binary-tree", "swing", "parameter-server");

  private NumberedAlgorithms() {}

  /**
   * Returns the names of all, or in the short kit of one of each kind: every plan is proven by
   * {@link EveryAlgorithmPlanTest}, and run by {@link LinkBytesTest}.
   */
  static Stream<String> names() {
    return Algorithms.onClassPath().all().stream()
        .map(AlgorithmSpec::name)
        .filter(name -> !ShortKit.isOn() || KINDS.contains(name));
  }
}
