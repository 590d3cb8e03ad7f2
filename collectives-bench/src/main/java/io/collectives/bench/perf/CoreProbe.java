package io.collectives.bench.perf;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;

/**
 * Measures the time that a cache line takes from one core to another: two threads answer each other
 * through two lines, 128 bytes apart, and the median of batches counts. Java cannot pin threads;
 * two threads that are busy at once are put on two cores by any scheduler that has two free, and
 * when that fails the answer takes a time slice and reads as disturbed.
 *
 * <p>Threads: to be used by one thread at a time, while nothing else of the benchmark runs.
 */
public final class CoreProbe {
  private static final VarHandle CELL = MethodHandles.arrayElementVarHandle(long[].class);
  private static final int PING = 16; // 128 bytes from the array's header
  private static final int PONG = 48;
  private static final int BATCHES = 40;
  private static final int ROUND_TRIPS = 150;
  private static final int WARM_UPS = 20;
  private static final int SPINS = 20_000;
  private static final long LIMIT_NANOS = 100_000_000;
  private static final long PAUSE_MILLIS = 40;

  /** The loops are compiled once in a JVM. */
  private static volatile boolean warm;

  private final boolean possible = Runtime.getRuntime().availableProcessors() > 1;
  private double last;
  private long lastUntil = System.nanoTime();

  /** Compiles the loops, so that the first figure counts. */
  public void warmUp() {
    long start = System.nanoTime();
    for (int i = 0; i < WARM_UPS && !warm && System.nanoTime() - start < 5 * LIMIT_NANOS; i++) {
      nanos();
    }
    warm = true;
  }

  /** The time that was measured last, if that was at most 0.1 s ago; else that of now. */
  public double recent() {
    return System.nanoTime() - lastUntil < 0 ? last : nanos();
  }

  /**
   * The median time one way of the batches that ended within 0.1 s, in nanoseconds; NaN if none did
   * or there is one processor only.
   */
  public double nanos() {
    last = possible ? measured() : Double.NaN;
    lastUntil = System.nanoTime() + LIMIT_NANOS;
    return last;
  }

  private static double measured() {
    long[] lines = new long[64];
    long deadline = System.nanoTime() + LIMIT_NANOS;
    Thread peer = new Thread(() -> answer(lines, deadline), "core-probe");
    peer.setDaemon(true);
    peer.start();
    double[] batches = new double[BATCHES];
    int ended = 0;
    long turn = 1;
    boolean answered = true;
    while (ended < BATCHES && answered) {
      long start = System.nanoTime();
      for (int i = 0; i < ROUND_TRIPS && answered; i++, turn++) {
        CELL.setRelease(lines, PING, turn);
        answered = await(lines, PONG, turn, deadline);
      }
      if (answered) {
        batches[ended++] = (System.nanoTime() - start) / (2.0 * ROUND_TRIPS);
      }
    }
    join(peer);
    Arrays.sort(batches, 0, ended);
    return ended == 0 ? Double.NaN : batches[ended / 2];
  }

  /**
   * Measures until the cores are so far apart.
   *
   * @return the last time measured, which is of another class when {@code limitNanos} have passed
   */
  public double await(CoreDistance wanted, long limitNanos) throws InterruptedException {
    long start = System.nanoTime();
    double nanos = recent();
    while (possible && CoreDistance.of(nanos) != wanted && System.nanoTime() - start < limitNanos) {
      Thread.sleep(PAUSE_MILLIS);
      nanos = nanos();
    }
    return nanos;
  }

  private static void answer(long[] lines, long deadline) {
    for (long turn = 1;
        turn <= (long) BATCHES * ROUND_TRIPS && await(lines, PING, turn, deadline);
        turn++) {
      CELL.setRelease(lines, PONG, turn);
    }
  }

  private static boolean await(long[] lines, int cell, long turn, long deadline) {
    for (int spins = 1; (long) CELL.getAcquire(lines, cell) != turn; spins++) {
      if (spins % SPINS == 0) {
        if (System.nanoTime() - deadline > 0) {
          return false;
        }
        Thread.yield(); // both may be on one core
      }
    }
    return true;
  }

  private static void join(Thread thread) {
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
