package io.collectives.bench.report;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Says on standard error what is going on. On a terminal one line that is written over; elsewhere a
 * line for each new stage, and within a stage at most one in ten seconds.
 */
public final class Progress implements AutoCloseable {
  private static final long SPARSE_NANOS = 10_000_000_000L;

  private final PrintWriter err;
  private final boolean terminal;
  private long lastNanos = System.nanoTime();
  private int shown;

  /** Progress on {@code err}; {@code terminal} says whether that is one. */
  public Progress(PrintWriter err, boolean terminal) {
    this.err = err;
    this.terminal = terminal;
  }

  /** Returns whether standard error is a terminal; false where that cannot be told. */
  public static boolean onTerminal() {
    try {
      String target = Files.readSymbolicLink(Path.of("/proc/self/fd/2")).toString();
      return target.startsWith("/dev/pts/")
          || target.startsWith("/dev/tty")
          || target.equals("/dev/console");
    } catch (IOException | UnsupportedOperationException e) {
      return false;
    }
  }

  /** A new stage. */
  public void stage(String text) {
    show(text, true);
  }

  /** Returns how far the stage is. */
  public void step(String text) {
    show(text, false);
  }

  /** Something that stays on the screen. */
  public void say(String text) {
    clear();
    err.println(text);
    err.flush();
  }

  /** Clears what is on the terminal, so that others can write. */
  public void clear() {
    if (shown > 0) {
      err.print("\r" + " ".repeat(shown) + "\r");
      err.flush();
      shown = 0;
    }
  }

  @Override
  public void close() {
    clear();
  }

  private void show(String text, boolean always) {
    if (terminal) {
      err.print("\r" + text + " ".repeat(Math.max(0, shown - text.length())));
      shown = text.length();
    } else {
      long now = System.nanoTime();
      if (!always && now - lastNanos < SPARSE_NANOS) {
        return;
      }
      lastNanos = now;
      err.println(text);
    }
    err.flush();
  }
}
