package io.collectives.bench;

import java.util.Locale;

/** How ranks talk. */
enum Transport {
  AUTO,
  TCP,
  UNIX,
  SHM,
  INPROCESS;

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
