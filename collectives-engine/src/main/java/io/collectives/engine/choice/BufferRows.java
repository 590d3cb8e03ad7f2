package io.collectives.engine.choice;

import io.collectives.Algorithm;
import io.collectives.engine.choice.AlgorithmTable.Row;

/** Which rows of {@link Locality#BUFFERS} count for a call. */
public enum BufferRows {
  /** All rows. */
  ALL,

  /** Rows of algorithms that reduce each number once, and not at each rank. */
  REDUCING_ONCE,

  /** No row, because what the call does needs frames. */
  NONE;

  /** Returns whether a row counts; one that is not about buffers does. */
  boolean contain(Row row) {
    return row.where() != Locality.BUFFERS
        || this == ALL
        || this == REDUCING_ONCE && !row.algorithm().equals(Algorithm.exchange());
  }
}
