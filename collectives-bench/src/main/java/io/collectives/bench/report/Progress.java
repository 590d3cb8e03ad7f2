package io.collectives.bench.report;

import java.io.PrintWriter;
import java.util.Optional;
import java.util.Timer;
import java.util.TimerTask;
import java.util.function.LongSupplier;

/**
 * Says on standard error what is going on, and about how long it will take: the time so far,
 * divided by the share of the work that is done. On a terminal it is one line, written over every
 * second; elsewhere it is one line in ten seconds, and none of what takes less. Methods may be
 * called by any thread.
 */
public final class Progress implements AutoCloseable {
  private static final long SECOND = 1_000_000_000L;

  /** The time between two lines where they stay. */
  private static final long SPARSE = 10 * SECOND;

  /** The time before which nothing is said of how long it will take, as the beginning is slow. */
  private static final long EARLY = 3 * SECOND;

  /** Back to the beginning of the line, which is cleared. */
  private static final String CLEAR = "\r\033[K";

  /** A line that is too long ends at the edge, so that it can be cleared. */
  private static final String NO_WRAP = "\033[?7l";

  private static final String WRAP = "\033[?7h";

  private final PrintWriter err;
  private final boolean terminal;
  private final LongSupplier clock;
  private final Optional<Timer> timer;
  private final long begin;
  private String text = "";
  private double all;
  private double done;
  private long doneAt;
  private long lastLine;
  private boolean shown;

  /** Progress on {@code err}, which is standard error. */
  public Progress(PrintWriter err) {
    this(err, Terminal.isError(), System::nanoTime, Optional.of(new Timer("progress", true)));
  }

  /** Progress that is shown by {@link #tick} only, unless there is a timer. */
  Progress(PrintWriter err, boolean terminal, LongSupplier clock, Optional<Timer> timer) {
    this.err = err;
    this.terminal = terminal;
    this.clock = clock;
    this.timer = timer;
    begin = clock.getAsLong();
    doneAt = begin;
    lastLine = begin;
    timer.ifPresent(
        each ->
            each.schedule(
                new TimerTask() {
                  @Override
                  public void run() {
                    tick();
                  }
                },
                1000,
                1000));
  }

  /**
   * Says how much work there is in all, done and to do.
   *
   * @param work the sum of what {@link #done} will be told, in any measure that grows with the time
   *     it takes; it may be corrected later
   */
  public synchronized void expect(double work) {
    all = work;
  }

  /** Says what is done from now on. */
  public synchronized void step(String what) {
    text = what;
    if (terminal) {
      show();
    }
  }

  /** Says that a part of the work is done. */
  public synchronized void done(double work) {
    done += work;
    doneAt = clock.getAsLong();
  }

  /** Says something that stays. */
  public synchronized void say(String what) {
    wipe();
    err.println(what);
    err.flush();
  }

  /** Clears the line on the terminal, so that others can write, until the next step begins. */
  public synchronized void clear() {
    wipe();
    text = "";
  }

  /** Shows how far the work is, if it is time. */
  synchronized void tick() {
    if (text.isEmpty()) {
      return;
    }
    if (terminal) {
      show();
    } else if (clock.getAsLong() - lastLine >= SPARSE) {
      lastLine = clock.getAsLong();
      err.println(line());
      err.flush();
    }
  }

  @Override
  public void close() {
    timer.ifPresent(Timer::cancel);
    clear();
  }

  private void show() {
    err.print(CLEAR + NO_WRAP + line() + WRAP);
    err.flush();
    shown = true;
  }

  private void wipe() {
    if (shown) {
      err.print(CLEAR);
      err.flush();
      shown = false;
    }
  }

  private String line() {
    long now = clock.getAsLong();
    if (done <= 0 || done >= all || now - begin < EARLY) {
      return text;
    }
    double share = done / all;
    // Of the part under way nothing is known but how long it has taken.
    double left = (doneAt - begin) * (1 / share - 1) - (now - doneAt);
    return String.format("%2.0f %%, %s: %s", Math.floor(100 * share), left(left), text);
  }

  /** A time that is left, no more exact than it can be known; below 0 the guess was wrong. */
  static String left(double nanos) {
    double seconds = nanos / SECOND;
    if (seconds < 0) {
      return "longer than expected";
    }
    if (seconds < 10) {
      return "some seconds left";
    }
    if (seconds < 95) {
      return "about " + 10 * Math.round(seconds / 10) + " s left";
    }
    long minutes = Math.round(seconds / 60);
    return minutes < 100
        ? "about " + minutes + " min left"
        : "about " + Math.round(minutes / 60.0) + " h left";
  }
}
