package io.collectives.engine.memory;

import io.collectives.ElementType;
import io.collectives.WireType;
import io.collectives.internal.MemoryKernels;
import io.collectives.internal.MemoryKernels.Kernel;
import io.collectives.internal.MemoryKernels.Kind;
import io.collectives.internal.MemoryKernels.Packing;
import io.collectives.spi.FrameBytes;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The trial of a kernel: it runs beside what stands in for it, until it takes a quarter less time.
 * Other sizes and places than those of the trial may change the order of two that are closer.
 *
 * <p>The first begins when the JVM's compilers have little to do. In the first seconds of a job
 * ranks have to share the processors with them, and C2 takes longer for a loop over vectors than
 * for the sums that stand in for it.
 */
final class KernelTrial implements Runnable {
  private static final Executor THREAD =
      new ThreadPoolExecutor(
          0, 1, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), KernelTrial::thread);

  /** The kernels that are fast. */
  static final Kernels PASSED =
      Kernels.tried(
          new Kernels.Trials() {
            @Override
            public void begin(Kind kind, Kernel kernel, Kernels.Slot<Kernel> slot) {
              execute(() -> reductions(kind, kernel), () -> slot.kernel = kernel);
            }

            @Override
            public void begin(WireType wire, Packing packing, Kernels.Slot<Packing> slot) {
              execute(() -> conversions(wire, packing), () -> slot.kernel = packing);
            }
          });

  private static final Compilers COMPILERS = new Compilers();

  private static final int COUNT = 4096;
  private static final int CALLS = 16;

  /**
   * A round ends after so long: until C2 has compiled them, few calls take that, and while the
   * thread sleeps after them C1 and C2 catch up.
   */
  private static final long ROUND_NANOS = 2_000_000;

  /** So often in succession it has to be faster, by the best call of each round. */
  private static final int ROUNDS = 4;

  /** So long others wait for a trial; then they go first. */
  private static final long TURN_NANOS = 15_000_000_000L;

  private static final long LONGEST_NANOS = 60_000_000_000L;

  private final Supplier<Contest> contestants;
  private final Runnable passed;
  private long spentNanos;

  private KernelTrial(Supplier<Contest> contestants, Runnable passed) {
    this.contestants = contestants;
    this.passed = passed;
  }

  private static void execute(Supplier<Contest> contestants, Runnable passed) {
    THREAD.execute(new KernelTrial(contestants, passed));
  }

  /** Work that is done with a kernel, and without. */
  private record Contest(Runnable with, Runnable without) {}

  private static Thread thread(Runnable trials) {
    Thread thread = new Thread(trials, "collectives-kernels");
    thread.setDaemon(true);
    return thread;
  }

  @Override
  public void run() {
    COMPILERS.awaitIdle();
    Contest contest = contestants.get();
    long begun = System.nanoTime();
    int faster = 0;
    for (long now = begun; faster < ROUNDS && now - begun < TURN_NANOS; ) {
      faster = isFaster(contest) ? faster + 1 : 0;
      long took = System.nanoTime() - now;
      if (faster == 0) {
        LockSupport.parkNanos(9 * took); // C2 may be late, so a tenth of a processor is enough.
      }
      now = System.nanoTime();
    }
    spentNanos += System.nanoTime() - begun;
    if (faster == ROUNDS) {
      passed.run();
    } else if (spentNanos < LONGEST_NANOS) {
      THREAD.execute(this);
    }
  }

  private static boolean isFaster(Contest contest) {
    long best = Long.MAX_VALUE;
    long bestWithout = Long.MAX_VALUE;
    long begun = System.nanoTime();
    int calls = 0;
    do {
      long start = System.nanoTime();
      contest.with.run();
      long middle = System.nanoTime();
      contest.without.run();
      best = Math.min(best, middle - start);
      bestWithout = Math.min(bestWithout, System.nanoTime() - middle);
    } while (++calls < CALLS && System.nanoTime() - begun < ROUND_NANOS);
    return 4 * best < 3 * bestWithout;
  }

  private static FlatMemory memory(ElementType type, boolean isArray) {
    return isArray
        ? ArrayMemory.ofZeros(type, COUNT + 2 * MemoryKernels.MOST)
        : new BufferMemory(ElementTypes.of(type), bytes(type));
  }

  private static ByteBuffer bytes(ElementType type) {
    return ByteBuffer.allocateDirect((COUNT + 2 * MemoryKernels.MOST) * type.bytes())
        .order(ByteOrder.nativeOrder());
  }

  private static Contest reductions(Kind kind, Kernel kernel) {
    OrderedReduction reduction = new OrderedReduction(new Scratch(), Kernels.NONE);
    KernelCall call = new KernelCall();
    FlatMemory[] memories = new FlatMemory[kind.size() + kind.results()];
    int divisor =
        switch (kind.ending()) {
          case NONE -> 1;
          case POWER_OF_TWO -> 4;
          case DIVISION -> 3;
        };
    for (int i = 0; i < memories.length; i++) {
      boolean isArray = (kind.arrays() >> i & 1) != 0;
      int operand = i - kind.size();
      memories[i] =
          operand >= 0 && operand < kind.size() && isArray == (memories[operand].array() != null)
              ? memories[operand] // In place, as most sums are.
              : memory(kind.type(), isArray);
    }
    return new Contest(
        () -> reduce(call, kernel, kind, memories, divisor),
        () -> reduce(reduction, kind, memories, divisor));
  }

  /** Places differ, as those of arrays do for which a kernel is wanted. */
  private static void reduce(
      KernelCall call, Kernel kernel, Kind kind, FlatMemory[] memories, int divisor) {
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

  private static void reduce(
      OrderedReduction reduction, Kind kind, FlatMemory[] memories, int divisor) {
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

  private static Contest conversions(WireType type, Packing packing) {
    Scratch scratch = new Scratch();
    FlatMemory memory = memory(ElementType.FLOAT32, true);
    FrameBytes frame = new FrameBytes(bytes(ElementType.FLOAT32));
    return new Contest(
        conversion(type, packing, memory, frame, scratch),
        conversion(type, null, memory, frame, scratch));
  }

  private static Runnable conversion(
      WireType type, @Nullable Packing packing, Memory memory, FrameBytes frame, Scratch scratch) {
    NarrowWire wire = Objects.requireNonNull(NarrowWire.of(type, () -> packing));
    return () -> {
      wire.store(memory, 1, COUNT, frame, 0, null, scratch);
      wire.replace(memory, 1, COUNT, frame, 0, scratch);
    };
  }

  /** The compilers of this JVM, as the thread of trials sees them. */
  private static final class Compilers {
    private static final long WINDOW_NANOS = 1_000_000_000L;

    /** A compilation of C2 is counted when it ends, so it may look like an idle second. */
    private static final int WINDOWS = 3;

    private boolean haveBeenIdle;

    /**
     * Waits, once for all trials, until they have taken less than a quarter of each of a few
     * seconds; they may never, so there is an end to it.
     */
    void awaitIdle() {
      long begun = System.nanoTime();
      long before = millisSoFar();
      for (int idle = 0; !haveBeenIdle && idle < WINDOWS; ) {
        LockSupport.parkNanos(WINDOW_NANOS);
        long now = millisSoFar();
        idle = 4 * TimeUnit.MILLISECONDS.toNanos(now - before) > WINDOW_NANOS ? 0 : idle + 1;
        before = now;
        haveBeenIdle = System.nanoTime() - begun > LONGEST_NANOS;
      }
      haveBeenIdle = true;
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
