package io.collectives.bench.perf;

import java.util.Locale;

/** The memory in which the payload of a case lies. */
public enum Memory {
  /** In Java arrays. */
  ARRAY,
  /** In direct buffers. */
  DIRECT,
  /** In buffers that the communicator allocates. */
  COMMUNICATOR;

  /** The name on the command line. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
