package io.collectives.engine;

import java.io.IOException;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The trace of a rank for which another process has asked. It ends by itself, so that who asked may
 * die meanwhile, and is kept for a minute until it is taken.
 */
final class RequestedTrace {
  private static final long KEPT_NANOS = 60_000_000_000L;

  private final Driver driver;
  private @Nullable Thread running;
  private Tracing.@Nullable Traced ended;

  RequestedTrace(Driver driver) {
    this.driver = driver;
  }

  /**
   * Begins.
   *
   * @param nanos when it ends
   * @throws IllegalStateException if this rank is traced already
   */
  synchronized void begin(long nanos) {
    driver.beginTracing(null);
    ended = null;
    Thread thread =
        new Thread(
            () -> {
              sleep(nanos);
              end(Thread.currentThread());
              sleep(KEPT_NANOS);
              forget(Thread.currentThread());
            },
            "collectives-rank" + driver.rank() + "-trace");
    thread.setDaemon(true);
    running = thread;
    thread.start();
  }

  private void sleep(long nanos) {
    long end = System.nanoTime() + nanos;
    for (long left = nanos; left > 0 && isWanted(Thread.currentThread()); ) {
      LockSupport.parkNanos(this, left);
      left = end - System.nanoTime();
    }
  }

  private synchronized boolean isWanted(Thread by) {
    return running == by;
  }

  private synchronized void end(Thread by) {
    if (running == by) {
      ended = driver.endTrace();
    }
  }

  private synchronized void forget(Thread by) {
    if (running == by) {
      running = null;
      ended = null;
    }
  }

  /** Ends it, if it has not ended, and returns it as text; nothing if none was asked for. */
  synchronized @Nullable String take() {
    Thread by = running;
    if (by == null) {
      return null;
    }
    if (ended == null) {
      end(by);
    }
    Tracing.Traced traced = ended;
    running = null;
    ended = null;
    LockSupport.unpark(by);
    if (traced == null) {
      return null; // The world was closed meanwhile.
    }
    StringBuilder text = new StringBuilder();
    try {
      traced.record().writeTo(text);
    } catch (IOException e) {
      throw new IllegalStateException(e); // Memory takes all.
    }
    return text.toString();
  }
}
