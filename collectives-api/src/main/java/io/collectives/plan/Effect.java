package io.collectives.plan;

/** The effect of a transfer on the receiver's chunks. */
public enum Effect {
  /** The chunks are combined with the chunks that arrive. */
  REDUCE,
  /** The chunks are replaced by the chunks that arrive. */
  REPLACE
}
