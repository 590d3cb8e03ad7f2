package io.collectives.bench.chaos;

import java.util.List;

/**
 * The times of the calls of a job with strangers at its ports and without.
 *
 * @param slices in the order in which they were measured
 * @param growth the most by which any rank grew
 * @param complaints what was not as it must be, for people; a failed call is one
 */
public record PriceOutcome(List<Slice> slices, Growth growth, List<String> complaints) {

  /** Keeps copies of the lists. */
  public PriceOutcome {
    slices = List.copyOf(slices);
    complaints = List.copyOf(complaints);
  }

  /** The places of the strangers. */
  public enum Arm {
    /** There are none. */
    NONE("none"),
    /** At a process that is not of the job: what they cost because they run on this machine. */
    DUMMY("elsewhere"),
    /** At the ports of the ranks. */
    RANKS("at the ranks");

    private final String label;

    Arm(String label) {
      this.label = label;
    }

    /** Returns the name in tables. */
    @Override
    public String toString() {
      return label;
    }
  }

  /**
   * Some seconds of calls, as rank 0 saw them.
   *
   * @param round slices of one round follow each other
   * @param strangers how many were made
   * @param connected how many of them got a connection
   * @param calls how many calls there were
   * @param nanos what they took together
   * @param medianNanos what half of them took at most
   * @param p99Nanos what 99 % of them took at most
   * @param maxNanos what the slowest took
   */
  public record Slice(
      Arm arm,
      int round,
      int strangers,
      int connected,
      long calls,
      long nanos,
      long medianNanos,
      long p99Nanos,
      long maxNanos) {

    /** Returns what a call took on average. */
    public double meanNanos() {
      return (double) nanos / calls;
    }
  }

  /**
   * By how much what a rank holds grew, since before the first stranger. What the system does not
   * tell has not grown.
   *
   * @param residentMost bytes that the process had in memory, at the most
   * @param residentLast the same when the last stranger had gone
   * @param directMost bytes of direct buffers, at the most
   * @param directLast the same when the last stranger had gone
   * @param descriptorsMost open descriptors, at the most
   * @param descriptorsLast the same when the last stranger had gone
   */
  public record Growth(
      long residentMost,
      long residentLast,
      long directMost,
      long directLast,
      long descriptorsMost,
      long descriptorsLast) {}
}
