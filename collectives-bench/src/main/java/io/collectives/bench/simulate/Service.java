package io.collectives.bench.simulate;

import java.util.Locale;

/** The order in which links, NICs and adders serve what is waiting for them. */
public enum Service {
  /** The order of the plan, though the next one may not be there yet: see {@link Simulation}. */
  PLAN("links serve in the plan's order"),

  /** The order in which they come: see {@link ServedByArrival}. */
  ARRIVAL("links serve what comes first");

  private final String words;

  Service(String words) {
    this.words = words;
  }

  /** Returns a clause for people. */
  public String words() {
    return words;
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
