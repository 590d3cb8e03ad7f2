package io.collectives.bench.chaos;

import java.util.List;

/**
 * The times of the calls of a job with unauthenticated peers at its ports and without.
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

  /** The places that intruders connect to. */
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
   * @param intruders the number of unauthenticated peers that were made
   * @param connected how many of them got a connection
   */
  public record Slice(Arm arm, int round, int intruders, int connected, Times times) {}

  /**
   * The times of calls.
   *
   * @param calls the number of calls
   * @param nanos the time of all calls together
   * @param medianNanos the time that half of them took at most
   * @param p99Nanos the time that 99 % of them took at most
   * @param maxNanos the time of the slowest call
   */
  public record Times(long calls, long nanos, long medianNanos, long p99Nanos, long maxNanos) {

    /** Returns the mean time of a call. */
    public double meanNanos() {
      return (double) nanos / calls;
    }
  }

  /**
   * The growth of a rank's memory and descriptors since before the first intruder. A figure that
   * the system does not tell is 0.
   *
   * @param residentMost bytes of resident memory, at the most
   * @param residentLast bytes of resident memory when the last intruder had gone
   * @param directMost bytes of direct buffers, at the most
   * @param directLast bytes of direct buffers when the last intruder had gone
   * @param descriptorsMost open descriptors, at the most
   * @param descriptorsLast open descriptors when the last intruder had gone
   */
  public record Growth(
      long residentMost,
      long residentLast,
      long directMost,
      long directLast,
      long descriptorsMost,
      long descriptorsLast) {}
}
