package io.collectives.bench.perf;

import java.util.concurrent.locks.LockSupport;

/**
 * A backward pass that computes nothing: gradients become ready in it, the last tensor first, each
 * when as much of the time has passed as the elements up to it are of all.
 *
 * <p>Threads: to be used by one.
 */
final class BackwardPass {
  private final long[] readyAfterNanos;
  private long start;

  /**
   * Makes a backward pass of the given tensors.
   *
   * @param counts the elements of each tensor, in the order of the forward pass
   * @param nanos how long it takes; with 0 all are ready at once
   */
  BackwardPass(int[] counts, long nanos) {
    readyAfterNanos = new long[counts.length];
    double all = 0;
    for (int count : counts) {
      all += count;
    }
    double computed = 0;
    for (int tensor = counts.length - 1; tensor >= 0; tensor--) {
      computed += counts[tensor];
      readyAfterNanos[tensor] = (long) (nanos * (computed / all));
    }
  }

  /** Begins. */
  void start() {
    start = System.nanoTime();
  }

  /** Returns whether a tensor's gradients are there. */
  boolean isReady(int tensor) {
    return System.nanoTime() - start >= readyAfterNanos[tensor];
  }

  /** Waits until a tensor's gradients are there. */
  void awaitTensor(int tensor) {
    await(start + readyAfterNanos[tensor]);
  }

  /** Waits until all are there. */
  void awaitEnd() {
    awaitTensor(0);
  }

  /** Sleeps until {@link System#nanoTime} is at least {@code time}. */
  static void await(long time) {
    for (long left; (left = time - System.nanoTime()) > 0; ) {
      LockSupport.parkNanos(left);
    }
  }
}
