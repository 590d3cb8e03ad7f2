package io.collectives.bench;

import java.util.Locale;

/** The places where ranks run: processes or threads of this one. */
enum Placement {
  PROCESSES,
  THREADS;

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
