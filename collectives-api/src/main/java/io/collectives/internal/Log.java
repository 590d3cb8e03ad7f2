package io.collectives.internal;

import java.io.PrintStream;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.helpers.FormattingTuple;
import org.slf4j.helpers.MessageFormatter;
import org.slf4j.spi.SLF4JServiceProvider;

/**
 * The log of the library, which goes to SLF4J if that has a provider. If not, warnings and errors
 * go to standard error, a line each, because a user who is told nothing of a rank that lags looks
 * for it in vain; and all else goes nowhere:
 *
 * <pre>
 * 2026-11-23T10:15:30.123Z WARN collectives [main]: rank 0: rank 2 lags: ...
 * </pre>
 *
 * <p>Texts have {@code {}} for each fact, as SLF4J's, and name the rank that speaks; a {@link
 * Throwable} may follow the facts. Usable by any thread.
 */
public final class Log {
  private static final boolean HAS_PROVIDER = hasProvider();

  /** The logger; null if there is no provider. */
  private final @Nullable Logger logger;

  private Log(@Nullable Logger logger) {
    this.logger = logger;
  }

  /** A text with its facts in place. */
  static String format(String text, @Nullable Object... facts) {
    return MessageFormatter.arrayFormat(text, facts).getMessage();
  }

  /** Returns a log that goes to a given logger, such as one of a test. */
  public static Log to(Logger logger) {
    return new Log(logger);
  }

  /** Returns the log of a class. */
  public static Log of(Class<?> speaker) {
    return new Log(HAS_PROVIDER ? LoggerFactory.getLogger(speaker) : null);
  }

  /**
   * Returns whether SLF4J will find a provider, without asking SLF4J, which prints lines of its own
   * if it does not.
   */
  private static boolean hasProvider() {
    try {
      // As it looks for them.
      return System.getProperty("slf4j.provider") != null
          || ServiceLoader.load(SLF4JServiceProvider.class, LoggerFactory.class.getClassLoader())
              .stream()
              .findAny()
              .isPresent();
    } catch (ServiceConfigurationError | LinkageError e) {
      return true; // One that cannot be had, or an SLF4J of before 2.0: it says what is wrong.
    }
  }

  /** For those who look for a fault in the library. */
  public void debug(String text, @Nullable Object... facts) {
    if (logger != null) {
      logger.debug(text, facts);
    }
  }

  /** Logs an event that is as it should be. */
  public void info(String text, @Nullable Object... facts) {
    if (logger != null) {
      logger.info(text, facts);
    }
  }

  /** Logs a warning: somebody may have to do something about it. */
  public void warn(String text, @Nullable Object... facts) {
    if (logger != null) {
      logger.warn(text, facts);
    } else {
      print(System.err, "WARN", text, facts);
    }
  }

  /** Logs an error: it must not happen. */
  public void error(String text, @Nullable Object... facts) {
    if (logger != null) {
      logger.error(text, facts);
    } else {
      print(System.err, "ERROR", text, facts);
    }
  }

  private static void print(
      PrintStream target, String level, String text, @Nullable Object... facts) {
    FormattingTuple said = MessageFormatter.arrayFormat(text, facts);
    Throwable cause = said.getThrowable();
    String line = said.getMessage() + (cause == null ? "" : ": " + cause);
    Instant now = Instant.now().truncatedTo(ChronoUnit.MILLIS);
    // The text stays on one line, whatever an unauthenticated peer has put into it.
    String thread = Thread.currentThread().getName();
    String all = now + " " + level + " collectives [" + thread + "]: " + line;
    target.println(all.replaceAll("\\p{Cntrl}+", " "));
  }
}
