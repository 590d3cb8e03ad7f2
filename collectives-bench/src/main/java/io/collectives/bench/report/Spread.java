package io.collectives.bench.report;

import java.util.stream.DoubleStream;

/**
 * Figures of several rounds in short: the middle one, and how far the others are from it.
 *
 * @param median the middle one, or the mean of the two in the middle
 * @param least no figure is less
 * @param greatest no figure is greater
 */
public record Spread(double median, double least, double greatest) {

  /** Returns the spread of figures in any order; NaN if there are none. */
  public static Spread of(DoubleStream figures) {
    double[] sorted = figures.sorted().toArray();
    int count = sorted.length;
    return count == 0
        ? new Spread(Double.NaN, Double.NaN, Double.NaN)
        : new Spread(
            (sorted[(count - 1) / 2] + sorted[count / 2]) / 2, sorted[0], sorted[count - 1]);
  }
}
