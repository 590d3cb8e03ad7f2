package io.collectives.engine;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * The pace of a rank's progress thread: when it sleeps, who wakes it and when it drives
 * asynchronous calls.
 *
 * <p>A call by frames takes long enough to be hidden behind what its program does, so it is moved
 * on at once where nobody waits. A call without frames is over as soon as all ranks have begun it
 * and a thread of this rank looks, which is usually the one that awaits it a moment later: a
 * progress thread that is woken for each of them costs more than the call, and takes a processor
 * from another rank where there are more ranks than processors. So where there are only such calls
 * the progress thread rests for some tens of microseconds, drives if nobody else has polled
 * meanwhile, and else rests for twice as long. Where threads wait it drives only if they have not
 * polled while it rested, as when one of them runs a completion that takes long.
 */
final class ProgressPace {
  private static final long IDLE_NANOS = 5_000_000;
  private static final long SHORTEST_NANOS = 50_000;
  private static final long LONGEST_NANOS = 200_000;

  private final Thread thread;
  private final long idleNanos;

  /** Calls with completions under way; changed under the lock of the driver. */
  private volatile int calls;

  /** The number of calls among them that go by frames; changed under the lock of the driver. */
  private volatile int callsByFrames;

  /** Threads that wait and drive, or would if another one did not. */
  private final AtomicInteger waiting = new AtomicInteger();

  /** The number of polls of this rank; changed under the lock of the driver. */
  private final AtomicLong polls = new AtomicLong();

  /** Of the progress thread: the number of polls when it began to rest. */
  private long pollsSeen;

  /** Of the progress thread: how long it rested from calls without frames; zero if it did not. */
  private long nanos;

  /** True while the progress thread sleeps until a call is left to it. */
  private volatile boolean isIdle;

  ProgressPace(Thread thread) {
    this(thread, IDLE_NANOS);
  }

  /** The pace of a thread that looks in so often while there is nothing to drive. */
  ProgressPace(Thread thread, long idleNanos) {
    this.thread = thread;
    this.idleNanos = idleNanos;
  }

  /** Counts a call with a completion. To be called with the lock of the driver. */
  void begun(boolean byFrames) {
    calls++;
    if (byFrames) {
      callsByFrames++;
    }
    wake();
  }

  /** Takes back {@link #begun}. To be called with the lock of the driver. */
  void ended(boolean byFrames) {
    calls--;
    if (byFrames) {
      callsByFrames--;
    }
  }

  boolean hasCalls() {
    return calls > 0;
  }

  /** Counts a thread that waits from now on. */
  void beginWaiting() {
    waiting.incrementAndGet();
  }

  /** Takes back {@link #beginWaiting}; the progress thread goes on with what is left. */
  void endWaiting() {
    waiting.decrementAndGet();
    wake();
  }

  /** Counts a poll. To be called with the lock of the driver. */
  void polled() {
    polls.setOpaque(polls.getPlain() + 1);
  }

  private void wake() {
    if (isLeft() && (callsByFrames > 0 || isIdle)) {
      isIdle = false;
      LockSupport.unpark(thread);
    }
  }

  /** Returns whether there are calls that no other thread waits for. */
  boolean isLeft() {
    return calls > 0 && waiting.get() == 0;
  }

  private boolean hasOnlyCallsWithoutFrames() {
    return calls > 0 && callsByFrames == 0;
  }

  /** Lets the progress thread, which calls this, sleep until it shall look again. */
  void rest() {
    pollsSeen = polls.getOpaque();
    if (!hasOnlyCallsWithoutFrames()) {
      nanos = 0;
      sleep();
    }
    if (hasOnlyCallsWithoutFrames()) {
      pollsSeen = polls.getOpaque();
      nanos = Math.min(Math.max(2 * nanos, SHORTEST_NANOS), LONGEST_NANOS);
      LockSupport.parkNanos(this, nanos);
    }
  }

  private void sleep() {
    if (isLeft()) {
      LockSupport.parkNanos(this, SHORTEST_NANOS);
      return;
    }
    isIdle = true;
    if (!isLeft()) {
      LockSupport.parkNanos(this, idleNanos);
    }
    isIdle = false;
  }

  /** Returns whether the progress thread, which asks this, shall drive. */
  boolean isItsTurn() {
    boolean leftAlone = polls.getOpaque() == pollsSeen;
    return leftAlone || (waiting.get() == 0 && !hasOnlyCallsWithoutFrames());
  }

  /** Tells that the progress thread has driven. To be called by it, with the driver's lock. */
  void drove() {
    nanos = 0;
    pollsSeen = polls.getPlain();
  }
}
