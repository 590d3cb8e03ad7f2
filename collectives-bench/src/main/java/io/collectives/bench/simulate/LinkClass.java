package io.collectives.bench.simulate;

import java.util.Locale;

/** Links that are alike. */
public enum LinkClass {
  /** Along a row of a mesh. */
  X,
  /** Along a column of a mesh. */
  Y,
  /** Of ranks that stand in no mesh. */
  OTHER;

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
