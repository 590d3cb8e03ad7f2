package io.collectives.engine.run;

import java.util.Arrays;

/**
 * Faults of the engine that the simulation has found and that are not mended yet. Each switch keeps
 * it away from one, so that it looks for others; who mends the fault deletes the switch. {@code
 * -Dcollectives.simulation.unmask=A1,A7} turns some of them off.
 */
final class KnownFaults {
  /** A1: a rank that leaves when its own calls are over breaks calls of others that are not. */
  static final boolean EARLY_LEAVERS_BREAK_OTHERS = isMasked("A1");

  /** A7: groups that were closed stay in the books for ever. */
  static final boolean CLOSED_GROUPS_STAY = isMasked("A7");

  /**
   * A5, A6, A15: frames that cannot be are held without limit, thrown at the receiver, swallowed,
   * or blamed on nobody or another rank.
   */
  static final boolean NONSENSE_IS_NOT_REFUSED = isMasked("A5");

  /**
   * A10: survivors of one fault name different ranks, as one that has left after an error of its
   * own; and so do those of several faults.
   */
  static final boolean SURVIVORS_NAME_DIFFERENT_RANKS = isMasked("A10");

  private KnownFaults() {}

  private static boolean isMasked(String fault) {
    String unmasked = System.getProperty("collectives.simulation.unmask", "");
    return !Arrays.asList(unmasked.split(",")).contains(fault);
  }
}
