package io.collectives.ps.store;

import java.util.Locale;

/**
 * The bound on the distance of the workers of a {@link ParameterStore}, in steps. The
 * <em>clock</em> of a worker is the number of gradients that it has pushed. Servers send weights to
 * a worker at clock c only when every other worker has reached clock {@code c - bound}. So the
 * weights contain every gradient that any worker has pushed up to that clock, and no worker is ever
 * more than {@code bound + 1} pushes ahead of another one (<em>stale synchronous parallel</em>, Ho
 * et al. 2013, section 3).
 *
 * @param bound the bound in steps. 0 is <em>synchronous</em>: the gradients of a step are averaged
 *     over all workers and are one update, after which all workers get the same bits. With a larger
 *     bound each gradient is an update of its own when it arrives, and is not divided. {@link
 *     Integer#MAX_VALUE} is <em>asynchronous</em>: no worker ever waits for another one
 */
public record Staleness(int bound) {
  private static final String BOUNDED = "bounded:";

  /** Checks the bound. */
  public Staleness {
    if (bound < 0) {
      throw new IllegalArgumentException(
          "staleness bound " + bound + ": must be at least 0, which is synchronous");
    }
  }

  /** Returns the bound with which all workers are at the same step. */
  public static Staleness synchronous() {
    return new Staleness(0);
  }

  /**
   * Returns the bound with which workers may be some steps ahead of the slowest one.
   *
   * @param steps the number of steps, at least 1
   */
  public static Staleness bounded(int steps) {
    if (steps < 1) {
      throw new IllegalArgumentException(
          "staleness bound " + steps + ": must be at least 1; 0 is Staleness.synchronous()");
    }
    return new Staleness(steps);
  }

  /** Returns the bound with which workers never wait for each other. */
  public static Staleness asynchronous() {
    return new Staleness(Integer.MAX_VALUE);
  }

  /**
   * Parses the text that {@link #toString} writes.
   *
   * @param text {@code synchronous}, {@code bounded:3} or {@code asynchronous}
   */
  public static Staleness parse(String text) {
    String wanted = text.trim().toLowerCase(Locale.ROOT);
    if (wanted.equals("synchronous")) {
      return synchronous();
    } else if (wanted.equals("asynchronous")) {
      return asynchronous();
    } else if (wanted.matches(BOUNDED + "[1-9]\\d{0,8}")) {
      return bounded(Integer.parseInt(wanted.substring(BOUNDED.length())));
    }
    throw new IllegalArgumentException(
        "staleness '" + text + "': must be synchronous, bounded:STEPS or asynchronous");
  }

  /** Returns whether the gradients of a step are one update. */
  public boolean isSynchronous() {
    return bound == 0;
  }

  /** Returns whether no worker ever waits for another one. */
  public boolean isAsynchronous() {
    return bound == Integer.MAX_VALUE;
  }

  /** Returns a text such as {@code bounded:3}. */
  @Override
  public String toString() {
    return isSynchronous() ? "synchronous" : isAsynchronous() ? "asynchronous" : BOUNDED + bound;
  }
}
