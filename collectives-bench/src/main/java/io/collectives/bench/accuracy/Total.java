package io.collectives.bench.accuracy;

import io.collectives.bench.model.Values;

/**
 * A sum of numbers for each element, taken in {@code double} together with what each addition
 * loses: exact for all that is compared with it, sums of {@code double} included.
 */
final class Total {
  private final double[] sums;
  private final double[] lost;

  Total(int count) {
    sums = new double[count];
    lost = new double[count];
  }

  void add(Values values) {
    for (int i = 0; i < sums.length; i++) {
      double value = values.get(i);
      double sum = sums[i] + value;
      double added = sum - sums[i];
      // What neither part of the sum has taken over (Knuth).
      lost[i] += sums[i] - (sum - added) + (value - added);
      sums[i] = sum;
    }
  }

  int count() {
    return sums.length;
  }

  double sum(int index) {
    return sums[index] + lost[index];
  }

  /** Returns how much more this is at an element. */
  double minus(Total other, int index) {
    return sums[index] - other.sums[index] + (lost[index] - other.lost[index]);
  }
}
