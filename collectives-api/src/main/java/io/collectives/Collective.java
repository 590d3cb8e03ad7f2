package io.collectives;

/** The calls in which all ranks of a group take part. */
public enum Collective {
  /** Every rank ends with the reduction of all ranks' payloads. */
  ALL_REDUCE("all-reduce"),
  /** No rank leaves before every rank has entered. */
  BARRIER("barrier");

  private final String label;

  Collective(String label) {
    this.label = label;
  }

  /** The name in tables, on the command line and in errors, as {@code all-reduce}. */
  @Override
  public String toString() {
    return label;
  }
}
