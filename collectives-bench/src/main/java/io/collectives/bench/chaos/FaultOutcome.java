package io.collectives.bench.chaos;

import java.util.List;
import java.util.OptionalLong;

/**
 * What became of a job after a fault.
 *
 * @param knownMicros from the fault until the last survivor knew of it; empty if one never did
 * @param sumMicros from the fault until the last survivor held the first right sum of the group
 *     that was left; empty if one never did, or got a wrong one later
 * @param culprits how many ranks had to name a culprit
 * @param culpritsRight how many of them named the right one
 * @param sums how many ranks had to get right sums after they had shrunk
 * @param sumsRight how many of them did, to the end
 * @param falseAlarms how many ranks lost somebody before the fault
 * @param hangs how many ranks had not ended when time was up
 * @param complaints what was not as it must be, for people
 */
public record FaultOutcome(
    Fault fault,
    OptionalLong knownMicros,
    OptionalLong sumMicros,
    int culprits,
    int culpritsRight,
    int sums,
    int sumsRight,
    int falseAlarms,
    int hangs,
    List<String> complaints) {

  /** Keeps a copy of the list. */
  public FaultOutcome {
    complaints = List.copyOf(complaints);
  }
}
