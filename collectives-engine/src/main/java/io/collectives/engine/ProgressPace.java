package io.collectives.engine;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The pace at which the progress thread of a rank looks after asynchronous calls: soon if they are
 * left to it, and seldom while other threads of the rank poll.
 *
 * <p>Two threads of a rank that take turns cost more than one, and a thread too many takes a core
 * from another rank. Whether a program will wait for its calls or compute meanwhile is only seen
 * afterwards. So the thread rests for some ten microseconds after the first asynchronous call, and
 * drives if nobody else has polled meanwhile; else it rests for twice as long the next time. While
 * there are such calls nobody wakes it. Without them it looks in every few milliseconds, so that
 * peers that connect or die are noticed.
 */
final class ProgressPace {
  private static final long IDLE_NANOS = 5_000_000;
  private static final long SHORTEST_NANOS = 50_000;
  private static final long LONGEST_NANOS = 200_000;

  private final long idleNanos;

  /** Changed under the lock of the driver. */
  private final AtomicLong polls = new AtomicLong();

  /** Asynchronous calls under way; changed under the lock of the driver. */
  private volatile int calls;

  /** The progress thread while only a call shall wake it. */
  private volatile @Nullable Thread idle;

  /** Of the progress thread. */
  private long pollsSeen;

  /** Of the progress thread: how long it rested last. Zero if it has driven or was idle since. */
  private long nanos;

  ProgressPace() {
    this(IDLE_NANOS);
  }

  /** A pace with so much time between two looks while there are no asynchronous calls. */
  ProgressPace(long idleNanos) {
    this.idleNanos = idleNanos;
  }

  /** Counts a poll, or a look. To be called with the lock of the driver. */
  void polled() {
    polls.setOpaque(polls.getPlain() + 1);
  }

  /** Counts an asynchronous call that begins. To be called with the lock of the driver. */
  void begun() {
    calls++;
    Thread sleeper = idle;
    if (sleeper != null) {
      idle = null;
      LockSupport.unpark(sleeper);
    }
  }

  /** Takes back {@link #begun}. To be called with the lock of the driver. */
  void ended() {
    calls--;
  }

  boolean hasCalls() {
    return calls > 0;
  }

  /**
   * Lets the progress thread, which calls this, sleep until it shall look again.
   *
   * @return whether calls are left to it, as nobody else has polled meanwhile
   */
  boolean rest() {
    if (!hasCalls()) {
      nanos = 0;
      idle = Thread.currentThread();
      if (!hasCalls()) {
        LockSupport.parkNanos(this, idleNanos);
      }
      idle = null;
      if (!hasCalls()) {
        return !othersPolled();
      }
      othersPolled(); // What was before the call does not count.
    }
    nanos = Math.min(Math.max(2 * nanos, SHORTEST_NANOS), LONGEST_NANOS);
    LockSupport.parkNanos(this, nanos);
    return !othersPolled();
  }

  private boolean othersPolled() {
    long now = polls.getOpaque();
    boolean polled = now != pollsSeen;
    pollsSeen = now;
    return polled;
  }

  /** Tells that the progress thread has driven. To be called by it, with the driver's lock. */
  void drove() {
    nanos = 0;
    pollsSeen = polls.getPlain();
  }
}
