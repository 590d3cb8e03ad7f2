package io.collectives.bench.chaos;

import java.util.stream.LongStream;

/** The order of some figures: a quantile is a figure that was measured, by the nearest rank. */
public final class Quantiles {
  private final long[] sorted;

  /** Of those figures. */
  public Quantiles(LongStream figures) {
    sorted = figures.sorted().toArray();
  }

  /** Returns whether there is no figure. */
  public boolean isEmpty() {
    return sorted.length == 0;
  }

  /**
   * The least figure that is not exceeded by {@code part} of all.
   *
   * @param part more than 0, at most 1
   */
  public long at(double part) {
    return sorted[Math.max(0, (int) Math.ceil(part * sorted.length) - 1)];
  }
}
