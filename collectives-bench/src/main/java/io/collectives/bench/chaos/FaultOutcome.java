package io.collectives.bench.chaos;

import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;

/**
 * The result of a job after a fault.
 *
 * @param site where the job was
 * @param stage how far the victim had come
 * @param knownMicros from the fault until the last survivor knew of it, or from when the last
 *     survivor had joined if that was later; empty if one never did
 * @param sumMicros from the same moment until the last survivor held the first right sum of the
 *     group that was left; empty if one never did, or got a wrong one later, or there is no group
 * @param counts the numbers of ranks that did what they had to, and of those that did not
 * @param complaints what was not as it must be, for people
 */
public record FaultOutcome(
    Site site,
    Fault fault,
    Stage stage,
    OptionalLong knownMicros,
    OptionalLong sumMicros,
    Counts counts,
    List<String> complaints) {

  /**
   * The numbers of ranks that did what they had to after a fault, and of those that did not.
   *
   * @param culprits the number of ranks that had to name a culprit
   * @param culpritsRight the number of them that named the right one
   * @param sums the number of ranks that had to get right sums after they had shrunk
   * @param sumsRight the number of them that did, to the end
   * @param wrongSums the number of ranks that got a wrong sum
   * @param falseAlarms the number of ranks that lost another before the fault
   * @param hangs the number of ranks that had not ended when time was up
   */
  public record Counts(
      int culprits,
      int culpritsRight,
      int sums,
      int sumsRight,
      int wrongSums,
      int falseAlarms,
      int hangs) {}

  /** The stages that the victim had reached, as far as the others could know. */
  public enum Stage {
    /**
     * It never came to the rendezvous, or it was rank 0 and froze before it answered: the others
     * can only wait until their join timeout is over.
     */
    AWAITED,
    /** It had come to the rendezvous while others were missing; its connection ended. */
    ANNOUNCED,
    /** It had met the others, and was hit before or in the first calls. */
    MET,
    /** It had taken part in calls. */
    WORKING;

    /** Returns the name in tables. */
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** Keeps a copy of the list. */
  public FaultOutcome {
    complaints = List.copyOf(complaints);
  }
}
