package io.collectives.bench.perf;

import io.collectives.spi.Algorithms;
import org.jspecify.annotations.Nullable;

/**
 * The algorithms of all modules on the class path, which are looked for once: that takes a
 * millisecond, and a table of simulations needs them thousands of times. For any thread.
 */
public final class KnownAlgorithms {
  private static volatile Found found = new Found(null, Algorithms.of());

  private KnownAlgorithms() {}

  /** The algorithms that a class loader sees. */
  private record Found(@Nullable ClassLoader loader, Algorithms algorithms) {}

  /** Returns those that the class loader of the thread sees. */
  public static Algorithms onClassPath() {
    ClassLoader loader = Thread.currentThread().getContextClassLoader();
    Found last = found;
    if (last.loader == null || last.loader != loader) {
      last = new Found(loader, Algorithms.onClassPath());
      found = last;
    }
    return last.algorithms;
  }
}
