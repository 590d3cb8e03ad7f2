package io.collectives.bench;

import java.util.Locale;

/** The transports that a command can choose. */
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
