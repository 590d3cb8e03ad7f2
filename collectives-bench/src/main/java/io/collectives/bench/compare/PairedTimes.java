package io.collectives.bench.compare;

import io.collectives.bench.report.Spread;
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
    return spread(ours).median();
  }

  /** The median of the peer's times. */
  public double theirs() {
    return spread(theirs).median();
  }

  /** The pairs' ratios, the peer's time over ours. */
  public Spread ratios() {
    return spread(ratios);
  }

  private static Spread spread(List<Double> values) {
    return Spread.of(values.stream().mapToDouble(Double::doubleValue));
  }
}
