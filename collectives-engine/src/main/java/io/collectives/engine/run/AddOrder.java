package io.collectives.engine.run;

/** In which order a rank takes the contributions to a chunk that a plan brings in one round. */
public enum AddOrder {
  /** As they come: none waits for another, and bits depend on which is first. */
  OF_ARRIVAL,
  /** As the plan names them. */
  OF_PLAN,
  /** All at once, in the order of ranks. */
  OF_RANKS
}
