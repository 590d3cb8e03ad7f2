package io.collectives.bench.perf;

import java.util.Arrays;

/**
 * What a case took. The time of an iteration is that of the slowest rank.
 *
 * @param iterations how many were timed
 * @param medianNanos half of them took no longer
 * @param minNanos the fastest
 * @param p99Nanos 99 of 100 took no longer; the slowest when there were fewer than 100
 * @param wrong the number of wrong elements on all ranks, in the first and the last result; -1 if
 *     they were not checked
 * @param chosen the name of the algorithm that was chosen for it, {@link #NOTHING} if none was
 */
public record CaseResult(
    int iterations, long medianNanos, long minNanos, long p99Nanos, long wrong, String chosen) {
  /** Stands for no choice. */
  public static final String NOTHING = "-";

  /** From the times of all iterations, in any order. */
  public static CaseResult of(long[] nanos, long wrong, String chosen) {
    long[] sorted = nanos.clone();
    Arrays.sort(sorted);
    return new CaseResult(
        sorted.length, percentile(sorted, 50), sorted[0], percentile(sorted, 99), wrong, chosen);
  }

  /** The result on one line, for another process. */
  public String line() {
    return String.join(
        " ",
        Integer.toString(iterations),
        Long.toString(medianNanos),
        Long.toString(minNanos),
        Long.toString(p99Nanos),
        Long.toString(wrong),
        chosen);
  }

  /** The result of a {@link #line()}. */
  public static CaseResult parse(String line) {
    String[] fields = line.split(" ", 6);
    return new CaseResult(
        Integer.parseInt(fields[0]),
        Long.parseLong(fields[1]),
        Long.parseLong(fields[2]),
        Long.parseLong(fields[3]),
        Long.parseLong(fields[4]),
        fields[5]);
  }

  /** The least value that is not exceeded by {@code percent} of all. */
  private static long percentile(long[] sorted, int percent) {
    return sorted[(int) Math.max(0, ((long) sorted.length * percent + 99) / 100 - 1)];
  }
}
