package io.collectives.engine.run;

/**
 * Faults of the engine that the simulation has found and that are not mended yet. Each switch keeps
 * it away from one, so that it looks for others; who mends the fault deletes the switch.
 */
final class KnownFaults {
  /** A rank that leaves when its own calls are over breaks calls of others that are not. */
  static final boolean EARLY_LEAVERS_BREAK_OTHERS =
      Boolean.getBoolean("collectives.simulation.maskA1");

  /** Groups that were closed stay in the books for ever. */
  static final boolean CLOSED_GROUPS_STAY = Boolean.getBoolean("collectives.simulation.maskA7");

  /** Frames that cannot be are applied, held without limit, swallowed, or blamed on another. */
  static final boolean NONSENSE_IS_NOT_REFUSED =
      Boolean.getBoolean("collectives.simulation.maskA5A6A15");

  private KnownFaults() {}
}
