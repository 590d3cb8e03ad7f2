package io.collectives.bench.perf;

import java.util.List;
import java.util.Locale;

/**
 * The distance of two busy cores, by the time that a cache line takes from one to the other. A host
 * moves its virtual processors every few seconds; the time of an exchange between cores then
 * changes by a factor of two to nine, so a figure without this distance beside it means little.
 */
public enum CoreDistance {
  /** Two threads of one core: below 35 ns. */
  SMT,
  /** Cores that share a cache: below 100 ns. */
  NEAR,
  /** Cores that do not: below 400 ns. */
  FAR,
  /** Something else wanted the cores, their distance changed meanwhile, or there is one only. */
  DISTURBED;

  /** The class of a time one way; NaN is disturbed. */
  public static CoreDistance of(double nanos) {
    return nanos < 35 ? SMT : nanos < 100 ? NEAR : nanos < 400 ? FAR : DISTURBED;
  }

  /** The class of times before and after something was measured. */
  public static CoreDistance of(double beforeNanos, double afterNanos) {
    return of(List.of(of(beforeNanos), of(afterNanos)));
  }

  /** The one of all; disturbed if they differ. */
  public static CoreDistance of(List<CoreDistance> all) {
    return all.stream().distinct().count() == 1 ? all.get(0) : DISTURBED;
  }

  /** Returns the name in tables. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
