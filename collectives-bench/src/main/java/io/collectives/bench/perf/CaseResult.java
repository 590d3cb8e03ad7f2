package io.collectives.bench.perf;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * The result of a case.
 *
 * @param times the times of its iterations
 * @param wrong the number of wrong elements on all ranks, in the first and the last result; -1 if
 *     they were not checked
 * @param messages what all ranks sent in an iteration to agree on what is ready; 0 if they did not
 * @param traffic what hosts sent and received in an iteration, if it was counted
 * @param linkBytes what each link of a mesh carried in an iteration, by its number; empty if that
 *     was not counted
 * @param chosen the name of the algorithm that was chosen for it, {@link #NOTHING} if none was
 */
public record CaseResult(
    Times times,
    long wrong,
    long messages,
    Optional<HostTraffic> traffic,
    List<Long> linkBytes,
    String chosen) {
  /** Its own list. */
  public CaseResult {
    linkBytes = List.copyOf(linkBytes);
  }

  /** A result of ranks on no mesh. */
  public CaseResult(
      Times times, long wrong, long messages, Optional<HostTraffic> traffic, String chosen) {
    this(times, wrong, messages, traffic, List.of(), chosen);
  }

  /**
   * The times of all iterations, each of which is that of the slowest rank.
   *
   * @param iterations how many were timed
   * @param medianNanos half of them took no longer
   * @param minNanos the fastest
   * @param p99Nanos 99 of 100 took no longer; the slowest when there were fewer than 100
   */
  public record Times(int iterations, long medianNanos, long minNanos, long p99Nanos) {
    /** Returns the times of iterations that are given in any order. */
    public static Times of(long[] nanos) {
      long[] sorted = nanos.clone();
      Arrays.sort(sorted);
      return new Times(sorted.length, percentile(sorted, 50), sorted[0], percentile(sorted, 99));
    }

    /** Returns the least value that is not exceeded by {@code percent} of all. */
    private static long percentile(long[] sorted, int percent) {
      return sorted[(int) Math.max(0, ((long) sorted.length * percent + 99) / 100 - 1)];
    }
  }

  /** Stands for no choice. */
  public static final String NOTHING = "-";

  private static final String BETWEEN = "\t";

  /** The result on one line, for another process. */
  public String line() {
    return String.join(
            " ",
            Integer.toString(times.iterations),
            Long.toString(times.medianNanos),
            Long.toString(times.minNanos),
            Long.toString(times.p99Nanos),
            Long.toString(wrong),
            chosen)
        + BETWEEN
        + messages
        + BETWEEN
        + traffic.map(CaseResult::word).orElse(NOTHING)
        + BETWEEN
        + (linkBytes.isEmpty()
            ? NOTHING
            : linkBytes.stream().map(String::valueOf).collect(Collectors.joining(",")));
  }

  /**
   * The result of a {@link #line()}, or of its part before the tab, which other libraries write.
   */
  public static CaseResult parse(String line) {
    String[] parts = line.split(BETWEEN);
    String[] fields = parts[0].split(" ", 6);
    return new CaseResult(
        new Times(
            Integer.parseInt(fields[0]),
            Long.parseLong(fields[1]),
            Long.parseLong(fields[2]),
            Long.parseLong(fields[3])),
        Long.parseLong(fields[4]),
        parts.length > 1 ? Long.parseLong(parts[1]) : 0,
        has(parts, 2) ? Optional.of(traffic(parts[2])) : Optional.empty(),
        has(parts, 3) ? Arrays.stream(parts[3].split(",")).map(Long::valueOf).toList() : List.of(),
        fields[5]);
  }

  private static boolean has(String[] parts, int number) {
    return parts.length > number && !parts[number].equals(NOTHING);
  }

  private static String word(HostTraffic traffic) {
    return traffic.mostSent()
        + ","
        + traffic.leastSent()
        + ","
        + traffic.mostReceived()
        + ","
        + traffic.leastReceived();
  }

  private static HostTraffic traffic(String word) {
    long[] bytes = Arrays.stream(word.split(",")).mapToLong(Long::parseLong).toArray();
    return new HostTraffic(bytes[0], bytes[1], bytes[2], bytes[3]);
  }
}
