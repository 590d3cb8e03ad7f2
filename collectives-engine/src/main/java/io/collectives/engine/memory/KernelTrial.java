package io.collectives.engine.memory;

import io.collectives.internal.MemoryKernels;
import io.collectives.internal.MemoryKernels.Kernel;
import io.collectives.internal.MemoryKernels.Kind;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The trial of a kernel: it runs beside what stands in for it, until it takes a quarter less time.
 * Other sizes and places than those of the trial may change the order of two that are closer.
 *
 * <p>It begins when the JVM's compilers have little to do. In the first seconds of a job ranks have
 * to share the processors with them, and C2 takes longer for a loop over vectors than for the sums
 * that stand in for it.
 */
final class KernelTrial implements Runnable {
  private static final Executor THREAD =
      new ThreadPoolExecutor(
          0, 1, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), KernelTrial::thread);

  /** The kernels that are fast. */
  static final Kernels PASSED =
      Kernels.tried((kind, kernel, slot) -> THREAD.execute(new KernelTrial(kind, kernel, slot)));

  private static final Compilers COMPILERS = new Compilers();

  private static final int COUNT = 4096;
  private static final int CALLS = 16;

  /** So often in succession it has to be faster, by the best call of each round. */
  private static final int ROUNDS = 4;

  private static final long LONGEST_NANOS = 60_000_000_000L;

  private final Kind kind;
  private final Kernel kernel;
  private final Kernels.Slot slot;

  private KernelTrial(Kind kind, Kernel kernel, Kernels.Slot slot) {
    this.kind = kind;
    this.kernel = kernel;
    this.slot = slot;
  }

  private static Thread thread(Runnable trials) {
    Thread thread = new Thread(trials, "collectives-kernels");
    thread.setDaemon(true);
    return thread;
  }

  @Override
  public void run() {
    COMPILERS.awaitIdle();
    OrderedReduction without = new OrderedReduction(new Scratch(), Kernels.NONE);
    KernelCall with = new KernelCall();
    FlatMemory[] memories = new FlatMemory[kind.size() + kind.results()];
    int divisor =
        switch (kind.ending()) {
          case NONE -> 1;
          case POWER_OF_TWO -> 4;
          case DIVISION -> 3;
        };
    for (int i = 0; i < memories.length; i++) {
      int operand = i - kind.size();
      memories[i] =
          operand >= 0 && operand < kind.size() && isArray(operand) == isArray(i)
              ? memories[operand] // In place, as most sums are.
              : memory(isArray(i));
    }
    long begun = System.nanoTime();
    int faster = 0;
    for (long now = begun; faster < ROUNDS && now - begun < LONGEST_NANOS; ) {
      faster = isFaster(with, without, memories, divisor) ? faster + 1 : 0;
      long took = System.nanoTime() - now;
      if (faster == 0) {
        LockSupport.parkNanos(9 * took); // C2 may be late, so a tenth of a processor is enough.
      }
      now = System.nanoTime();
    }
    if (faster == ROUNDS) {
      slot.kernel = kernel;
    }
  }

  private boolean isFaster(
      KernelCall with, OrderedReduction without, FlatMemory[] memories, int divisor) {
    long best = Long.MAX_VALUE;
    long bestWithout = Long.MAX_VALUE;
    for (int i = 0; i < CALLS; i++) {
      long start = System.nanoTime();
      reduce(with, memories, divisor);
      long middle = System.nanoTime();
      reduce(without, memories, divisor);
      best = Math.min(best, middle - start);
      bestWithout = Math.min(bestWithout, System.nanoTime() - middle);
    }
    return 4 * best < 3 * bestWithout;
  }

  private boolean isArray(int memory) {
    return (kind.arrays() >> memory & 1) != 0;
  }

  private FlatMemory memory(boolean isArray) {
    return isArray
        ? ArrayMemory.ofZeros(kind.type(), COUNT + 2 * MemoryKernels.MOST)
        : new BufferMemory(
            ElementTypes.of(kind.type()),
            ByteBuffer.allocateDirect((COUNT + 2 * MemoryKernels.MOST) * kind.type().bytes())
                .order(ByteOrder.nativeOrder()));
  }

  /** Places differ, as those of arrays do for which a kernel is wanted. */
  private void reduce(KernelCall call, FlatMemory[] memories, int divisor) {
    call.begin(COUNT);
    for (int i = 0; i < memories.length; i++) {
      if (i < kind.size()) {
        call.add(memories[i], i);
      } else {
        call.addResult(memories[i], i - kind.size());
      }
    }
    call.run(kernel, divisor);
  }

  private void reduce(OrderedReduction reduction, FlatMemory[] memories, int divisor) {
    for (int i = 0; i < kind.size(); i++) {
      int target = kind.size() + 1 + i;
      if (target < memories.length) {
        reduction.add(memories[i], i, memories[target], i + 1);
      } else {
        reduction.add(memories[i], i);
      }
    }
    reduction.run(
        kind.op(),
        OrderedReduction.Manner.SEQUENTIAL,
        memories[kind.size()],
        0,
        COUNT,
        divisor,
        null);
  }

  /** The compilers of this JVM, as the thread of trials sees them. */
  private static final class Compilers {
    private static final long WINDOW_NANOS = 1_000_000_000L;

    private long millis;

    /**
     * Waits until they have taken less than a quarter of a second; they may never, so there is an
     * end to it.
     */
    void awaitIdle() {
      long begun = System.nanoTime();
      long took;
      do {
        long before = millis;
        LockSupport.parkNanos(WINDOW_NANOS);
        millis = millisSoFar();
        took = TimeUnit.MILLISECONDS.toNanos(millis - before);
      } while (4 * took > WINDOW_NANOS && System.nanoTime() - begun < LONGEST_NANOS);
    }

    /** Returns the time that they have taken so far; 0 if this JVM does not tell. */
    private static long millisSoFar() {
      CompilationMXBean compilers = ManagementFactory.getCompilationMXBean();
      return compilers == null || !compilers.isCompilationTimeMonitoringSupported()
          ? 0
          : compilers.getTotalCompilationTime();
    }
  }
}
