package io.collectives.bench.digits;

import java.util.Arrays;

/**
 * The result of an epoch, and the times of its steps at the rank that says so.
 *
 * @param medianNanos half of the steps took no longer
 * @param slowestNanos the slowest step
 * @param imagesPerSecond of all ranks together, while they were training
 */
public record DigitsEpoch(
    DigitsResult result, long medianNanos, long slowestNanos, double imagesPerSecond) {

  static DigitsEpoch of(DigitsResult result, long[] stepNanos, long imagesOfStep) {
    long[] sorted = stepNanos.clone();
    Arrays.sort(sorted);
    double seconds = Arrays.stream(sorted).sum() / 1e9;
    return new DigitsEpoch(
        result,
        sorted[(sorted.length - 1) / 2],
        sorted[sorted.length - 1],
        imagesOfStep * sorted.length / seconds);
  }

  /** The epoch on one line, for another process. */
  public String line() {
    return medianNanos + " " + slowestNanos + " " + imagesPerSecond + " " + result.line();
  }

  /** The epoch of a {@link #line()}. */
  public static DigitsEpoch parse(String line) {
    String[] fields = line.split(" ", 4);
    return new DigitsEpoch(
        DigitsResult.parse(fields[3]),
        Long.parseLong(fields[0]),
        Long.parseLong(fields[1]),
        Double.parseDouble(fields[2]));
  }
}
