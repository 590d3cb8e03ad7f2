package io.collectives.bench;

import java.util.Locale;

/** The formats in which figures are printed. */
enum Format {
  TABLE,
  TSV,
  JSON;

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
