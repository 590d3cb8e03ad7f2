package io.collectives.plan;

/** What a transfer does to the receiver's chunks. */
public enum Effect {
  /** They are combined with what arrives. */
  REDUCE,
  /** They become what arrives. */
  REPLACE
}
