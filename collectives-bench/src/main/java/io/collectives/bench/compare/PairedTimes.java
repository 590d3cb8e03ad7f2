package io.collectives.bench.compare;

import java.util.ArrayList;
import java.util.List;

/**
 * Times of this library and of a peer that were taken in pairs, one right after the other, so that
 * what the machine did meanwhile met both.
 */
public final class PairedTimes {
  private final List<Double> ours = new ArrayList<>();
  private final List<Double> theirs = new ArrayList<>();
  private final List<Double> ratios = new ArrayList<>();

  /** Another pair. */
  public void add(double oursNanos, double theirsNanos) {
    ours.add(oursNanos);
    theirs.add(theirsNanos);
    ratios.add(theirsNanos / Math.max(1, oursNanos));
  }

  /** The number of pairs. */
  public int rounds() {
    return ratios.size();
  }

  /** The median of this library's times. */
  public double ours() {
    return median(ours);
  }

  /** The median of the peer's times. */
  public double theirs() {
    return median(theirs);
  }

  /** The median of the pairs' ratios, the peer's time over ours. */
  public double ratio() {
    return median(ratios);
  }

  /** The least ratio of a pair. */
  public double leastRatio() {
    return ratios.stream().mapToDouble(Double::doubleValue).min().orElse(Double.NaN);
  }

  /** The greatest ratio of a pair. */
  public double greatestRatio() {
    return ratios.stream().mapToDouble(Double::doubleValue).max().orElse(Double.NaN);
  }

  /** The middle one, or the mean of the two in the middle; NaN of none. */
  private static double median(List<Double> values) {
    List<Double> sorted = values.stream().sorted().toList();
    int count = sorted.size();
    return count == 0 ? Double.NaN : (sorted.get((count - 1) / 2) + sorted.get(count / 2)) / 2;
  }
}
