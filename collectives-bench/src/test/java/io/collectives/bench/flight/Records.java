package io.collectives.bench.flight;

import java.util.List;
import java.util.stream.Collectors;

/** The text of flight records, made by hand. */
final class Records {
  static final String COLUMNS =
      "rank\tgroup\tmembers\tsequence\tcollective\talgorithm\top\ttype\tcount\tbytes\tstate\tbegun"
          + "\tended\tdetail";

  private Records() {}

  /** The record of a rank of a job of 4 that was written at 100 seconds since 1970. */
  static FlightRecord of(int rank, long made, String... lines) {
    return FlightRecord.parse(text(rank, made, lines));
  }

  static String text(int rank, long made, String... lines) {
    return "# flight record of rank "
        + rank
        + " of 4 at 1970-01-01T00:01:40Z, the last "
        + lines.length
        + " of "
        + made
        + " calls\n"
        + COLUMNS
        + "\n"
        + List.of(lines).stream().map(line -> line + "\n").collect(Collectors.joining());
  }

  /** A call of group a1 that took 5 ms. */
  static String done(int rank, long sequence) {
    return line(rank, "a1", "0,1,2,3", sequence, 1000, "done", 90_000 + sequence, "");
  }

  static String line(
      int rank,
      String group,
      String members,
      long sequence,
      long count,
      String state,
      long begun,
      String detail) {
    boolean over = state.equals("done") || state.equals("failed");
    return rank
        + "\t"
        + group
        + "\t"
        + members
        + "\t"
        + sequence
        + "\tall-reduce\tring\tsum\tfloat32\t"
        + count
        + "\t"
        + 4 * count
        + "\t"
        + state
        + "\t"
        + begun
        + "\t"
        + (over ? "" + (begun + 5) : "")
        + "\t"
        + detail;
  }
}
