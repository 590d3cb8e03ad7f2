package io.collectives.internal;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Logs what unauthenticated peers do, no more often than people can read: a warning in each second,
 * which says how many were left out since the one before. Those that were left out are logged at
 * level DEBUG.
 *
 * <p>Threads: any.
 */
public final class RefusalLog {
  private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final Log log;
  private final LongSupplier clock;
  private boolean warned;
  private long warnedNanos;
  private long leftOut;

  /** Creates a log that has warned of nothing yet. */
  public RefusalLog(Log log) {
    this(log, System::nanoTime);
  }

  /** Creates a log with another clock, in nanoseconds. */
  RefusalLog(Log log, LongSupplier clock) {
    this.log = log;
    this.clock = clock;
  }

  /**
   * * Logs at level WARN if the last warning is a second old, else at level DEBUG.
   *
   * @param format as slf4j has it
   * @param facts of them, texts that an unauthenticated peer chose should be {@link #printable}
   */
  public synchronized void warn(String format, Object... facts) {
    long now = clock.getAsLong();
    if (warned && now - warnedNanos < PAUSE_NANOS) {
      leftOut++;
      log.debug(format, facts);
      return;
    }
    warned = true;
    warnedNanos = now;
    String text = Log.format(format, facts);
    if (leftOut == 0) {
      log.warn("{}", text);
    } else {
      log.warn("{} (and {} warnings of this kind were left out since the last one)", text, leftOut);
      leftOut = 0;
    }
  }

  /** Says how many were left out since the last warning, if any were, as no more will come. */
  public synchronized void end() {
    if (leftOut > 0) {
      log.warn(
          "{} more warnings about connections of unauthenticated peers were left out", leftOut);
      leftOut = 0;
    }
  }

  /**
   * Returns a text that an unauthenticated peer chose, as it may stand in a line for people: on one
   * line, in printable ASCII, and no longer than {@code most} characters.
   */
  public static String printable(String text, int most) {
    String cut = text.length() > most ? text.substring(0, most) + "..." : text;
    return cut.replaceAll("[^ -~]", "?");
  }
}
