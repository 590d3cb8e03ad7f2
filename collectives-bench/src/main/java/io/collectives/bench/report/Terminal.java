package io.collectives.bench.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The terminal of this process, if it has one that understands control sequences. */
public final class Terminal {
  private Terminal() {}

  /** Returns whether standard output is a terminal; false where that cannot be told. */
  public static boolean isOutput() {
    return is(1);
  }

  /** Returns whether standard error is a terminal; false where that cannot be told. */
  public static boolean isError() {
    return is(2);
  }

  private static boolean is(int descriptor) {
    String kind = System.getenv().getOrDefault("TERM", "dumb");
    if (kind.equals("dumb")) {
      return false;
    }
    try {
      String target = Files.readSymbolicLink(Path.of("/proc/self/fd/" + descriptor)).toString();
      return target.startsWith("/dev/pts/")
          || target.startsWith("/dev/tty")
          || target.equals("/dev/console");
    } catch (IOException | UnsupportedOperationException e) {
      return false;
    }
  }
}
