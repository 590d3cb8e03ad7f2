package io.collectives.ps.store;

import java.util.Locale;

/**
 * How far the workers of a {@link ParameterStore} may be apart, in steps. The <em>clock</em> of a
 * worker is the number of gradients that it has pushed. A worker at clock c gets weights only when
 * every other worker has come to clock {@code c - bound}; servers see to that. So the weights have
 * every gradient in them that any worker has pushed up to that clock, and nobody is ever more than
 * {@code bound + 1} pushes ahead of anybody (<em>stale synchronous parallel</em>, Ho et al. 2013,
 * section 3).
 *
 * @param bound 0: <em>synchronous</em>, the gradients of a step are averaged over all workers and
 *     are one update, after which all workers get the same bits. More: each gradient is an update
 *     of its own, as it comes, and not divided by anything. {@link Integer#MAX_VALUE}:
 *     <em>asynchronous</em>, nobody ever waits for another worker
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

  /** All workers are at the same step. */
  public static Staleness synchronous() {
    return new Staleness(0);
  }

  /**
   * Workers may be so many steps ahead of the slowest one.
   *
   * @param steps at least 1
   */
  public static Staleness bounded(int steps) {
    if (steps < 1) {
      throw new IllegalArgumentException(
          "staleness bound " + steps + ": must be at least 1; 0 is Staleness.synchronous()");
    }
    return new Staleness(steps);
  }

  /** Workers may be as far apart as they like. */
  public static Staleness asynchronous() {
    return new Staleness(Integer.MAX_VALUE);
  }

  /**
   * The staleness that {@link #toString} writes.
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

  /** Whether the gradients of a step are one update. */
  public boolean isSynchronous() {
    return bound == 0;
  }

  /** Whether nobody ever waits. */
  public boolean isAsynchronous() {
    return bound == Integer.MAX_VALUE;
  }

  /** As {@code bounded:3}. */
  @Override
  public String toString() {
    return isSynchronous() ? "synchronous" : isAsynchronous() ? "asynchronous" : BOUNDED + bound;
  }
}
