package io.collectives.bench.runreport;

import java.util.Arrays;
import java.util.Collection;

/** Medians of some numbers. */
final class Medians {
  private Medians() {}

  /** Returns the median, 0 of nothing. */
  static double of(Collection<? extends Number> numbers) {
    double[] sorted = numbers.stream().mapToDouble(Number::doubleValue).sorted().toArray();
    if (sorted.length == 0) {
      return 0;
    }
    int half = sorted.length / 2;
    return sorted.length % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  }

  /** Returns the median of a column. */
  static double of(double[] numbers) {
    return of(Arrays.stream(numbers).boxed().toList());
  }
}
