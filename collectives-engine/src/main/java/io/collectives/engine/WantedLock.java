package io.collectives.engine;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A fair lock whose holder can ask whether another thread wants it.
 *
 * <p>A holder that drives an engine lets go within microseconds. So a thread that wants the lock
 * looks for as long before it queues: each place in the queue is an object, and calls shall
 * allocate nothing.
 */
final class WantedLock {
  /** The looks before a thread queues, which take some ten microseconds. */
  private static final int SPINS = 300;

  private final ReentrantLock lock = new ReentrantLock(true);
  private final AtomicInteger wanting = new AtomicInteger();
  private final Runnable wakeHolder;

  /**
   * A lock that nobody holds.
   *
   * @param wakeHolder is run by a thread that wants the lock while another holds it, which may
   *     sleep
   */
  WantedLock(Runnable wakeHolder) {
    this.wakeHolder = wakeHolder;
  }

  /** Returns whether a thread wants the lock that somebody holds. */
  boolean isWanted() {
    return wanting.get() > 0;
  }

  boolean tryLock() {
    return lock.tryLock();
  }

  boolean tryLock(long nanos) throws InterruptedException {
    wanting.incrementAndGet();
    try {
      wakeHolder.run();
      return lock.tryLock(nanos, TimeUnit.NANOSECONDS);
    } finally {
      wanting.decrementAndGet();
    }
  }

  void lock() {
    if (lock.tryLock()) {
      return;
    }
    wanting.incrementAndGet();
    try {
      wakeHolder.run();
      if (!tryForAWhile()) {
        lock.lock();
      }
    } finally {
      wanting.decrementAndGet();
    }
  }

  private boolean tryForAWhile() {
    for (int i = 0; i < SPINS; i++) {
      if (lock.tryLock()) {
        return true;
      }
      Thread.onSpinWait();
    }
    return false;
  }

  void unlock() {
    lock.unlock();
  }
}
