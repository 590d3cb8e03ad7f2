package io.collectives.bench;

import java.util.Locale;

/** Where ranks run. */
enum Placement {
  PROCESSES,
  THREADS;

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
