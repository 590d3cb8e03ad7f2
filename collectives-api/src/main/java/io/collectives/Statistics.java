package io.collectives;

import java.util.List;
import java.util.Locale;

/**
 * A copy of the counters of a rank since it joined its job: how often it made which calls, of how
 * many bytes, how long they took, and how many failed. A copy does not change; a later one of the
 * same communicator has counters that are as large or larger.
 *
 * @param rows in the order of group, collective, algorithm and size; what no call was made of has
 *     no row
 * @param brokenGroups the number of groups that have broken by a failure, as opposed to having been
 *     closed
 * @param libraryBytes the most memory that the library takes for frames and links of the whole job
 *     at this rank, in bytes; see {@link Explanation.Cost}
 * @since 0.2.0
 */
public record Statistics(List<Row> rows, int brokenGroups, long libraryBytes) {
  /** The group of rows of groups that this rank has left. */
  public static final String CLOSED_GROUPS = "closed";

  /** Keeps a copy of the list. */
  public Statistics {
    rows = List.copyOf(rows);
  }

  /**
   * The calls of one kind, of payloads of about the same size.
   *
   * @param kind the calls that are counted
   * @param totals the counters
   */
  public record Row(Kind kind, Totals totals) {}

  /**
   * The calls that a row counts.
   *
   * @param collective the collective, or {@code send/receive} for messages between two ranks
   * @param algorithm the name of the algorithm, without parameters
   * @param group {@code world}; or the number of the group, as the {@linkplain
   *     Communicator#flightRecord() flight record} has it; or {@link #CLOSED_GROUPS} for all groups
   *     that this rank has left
   * @param mostBytes the largest payload that is counted here, a power of 4; the row has the
   *     payloads that are longer than a quarter of it. 0 for calls without a payload
   */
  public record Kind(String collective, String algorithm, String group, long mostBytes) {}

  /**
   * Counters of calls that have ended.
   *
   * @param calls the number of calls, the failed ones included
   * @param failedCalls the number of calls that ended with a {@link CollectiveException}
   * @param bytes the bytes of this rank's payloads in memory, those of failed calls included; the
   *     bytes that crossed the network are others, as the algorithm and the wire type have it
   * @param nanos the time of all calls from their start to their end, waiting for other ranks
   *     included, in nanoseconds. Calls that were under way at once count each by itself. The end
   *     is known as precisely as the driver of the calls looks at the clock: once before it looks
   *     for what has arrived
   * @param longestNanos the time of the longest call
   */
  public record Totals(long calls, long failedCalls, long bytes, long nanos, long longestNanos) {
    /** Counters of nothing. */
    public static final Totals NONE = new Totals(0, 0, 0, 0, 0);

    /** Returns the counters of the calls of both. */
    public Totals plus(Totals other) {
      return new Totals(
          calls + other.calls,
          failedCalls + other.failedCalls,
          bytes + other.bytes,
          nanos + other.nanos,
          Math.max(longestNanos, other.longestNanos));
    }
  }

  /** Returns the sum of all rows. */
  public Totals total() {
    return rows.stream().map(Row::totals).reduce(Totals.NONE, Totals::plus);
  }

  /** Returns a table for people, with a line for each row. */
  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    String line = "%-16s %-16s %-18s %13s %10s %7s %17s %11s %11s%n";
    text.append(
        String.format(
            line,
            "group",
            "collective",
            "algorithm",
            "up to bytes",
            "calls",
            "failed",
            "bytes",
            "mean ms",
            "longest ms"));
    for (Row row : rows) {
      Totals totals = row.totals;
      text.append(
          String.format(
              Locale.ROOT,
              line,
              row.kind.group,
              row.kind.collective,
              row.kind.algorithm,
              String.format(Locale.ROOT, "%,d", row.kind.mostBytes),
              totals.calls,
              totals.failedCalls,
              String.format(Locale.ROOT, "%,d", totals.bytes),
              String.format(Locale.ROOT, "%.3f", totals.nanos / 1e6 / totals.calls),
              String.format(Locale.ROOT, "%.3f", totals.longestNanos / 1e6)));
    }
    return text.append(
            String.format(
                Locale.ROOT,
                "%d groups broke; memory of the library: at most %,d bytes%n",
                brokenGroups,
                libraryBytes))
        .toString();
  }
}
