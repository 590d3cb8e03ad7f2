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
 * @param culprits how many ranks had to name a culprit
 * @param culpritsRight how many of them named the right one
 * @param sums how many ranks had to get right sums after they had shrunk
 * @param sumsRight how many of them did, to the end
 * @param wrongSums how many ranks got a wrong sum
 * @param falseAlarms how many ranks lost somebody before the fault
 * @param hangs how many ranks had not ended when time was up
 * @param complaints what was not as it must be, for people
 */
public record FaultOutcome(
    Site site,
    Fault fault,
    Stage stage,
    OptionalLong knownMicros,
    OptionalLong sumMicros,
    int culprits,
    int culpritsRight,
    int sums,
    int sumsRight,
    int wrongSums,
    int falseAlarms,
    int hangs,
    List<String> complaints) {

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
