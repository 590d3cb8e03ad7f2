package io.collectives.engine.run;

/** In which order a rank takes the contributions to a chunk that a plan brings in one round. */
public enum AddOrder {
  /** The order of arrival: no contribution waits for another, and bits depend on which is first. */
  OF_ARRIVAL,
  /** The order in which the plan names the contributions. */
  OF_PLAN,
  /** All at once, in the order of ranks. */
  OF_RANKS
}
