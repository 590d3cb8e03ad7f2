package io.collectives.engine.join;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Tells which ranks still live by files that they keep changing. Times are this rank's own; what
 * the files say does not matter, only that it is something else each time.
 *
 * <p>A rank that was itself stopped must not blame the others for its own silence: if it has not
 * looked for half of the limit, all others get the whole limit anew.
 */
final class Watch {
  private final long limitNanos;
  private final @Nullable String[] signs;
  private final long[] heardNanos;
  private final boolean[] beating;
  private long now;

  /**
   * A watch over ranks.
   *
   * @param limitNanos how long a rank may be silent
   * @param now what time it is, as {@link System#nanoTime}
   */
  Watch(int ranks, long limitNanos, long now) {
    this.limitNanos = limitNanos;
    this.signs = new String[ranks];
    this.heardNanos = new long[ranks];
    this.beating = new boolean[ranks];
    this.now = now;
  }

  /**
   * Sets the time, which holds until this is called again.
   *
   * @return whether this rank has looked away for too long to judge others
   */
  boolean begin(long time) {
    boolean slept = time - now > limitNanos / 2;
    if (slept) {
      Arrays.fill(heardNanos, time);
    }
    now = time;
    return slept;
  }

  /**
   * Begins to watch a rank, or begins anew.
   *
   * @param sign what its file says now, which may be as old as you like
   */
  void meet(int rank, @Nullable String sign) {
    signs[rank] = sign;
    heardNanos[rank] = now;
    beating[rank] = false;
  }

  /**
   * Looks at the file of a rank.
   *
   * @param sign what it says; nothing if it is not there, which is no sign
   */
  void look(int rank, @Nullable String sign) {
    if (sign != null && !sign.equals(signs[rank])) {
      // What is seen for the first time may be old: a file server may have hidden it till now.
      beating[rank] = signs[rank] != null;
      signs[rank] = sign;
      heardNanos[rank] = now;
    }
  }

  /**
   * Returns whether a rank has given a sign since it is watched, so that it was alive in this time.
   */
  boolean isBeating(int rank) {
    return beating[rank];
  }

  /** Returns whether a rank has given no sign for half of the limit. */
  boolean isQuiet(int rank) {
    return now - heardNanos[rank] >= limitNanos / 2;
  }

  /** Returns whether a rank has given no sign for the limit. */
  boolean isLost(int rank) {
    return now - heardNanos[rank] >= limitNanos;
  }
}
