package io.collectives.bench.perf;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.WireType;
import java.time.Duration;

/**
 * One rank's part in a case. All ranks call the same method with the same case; whatever depends on
 * a clock is decided by rank 0 and told to the others by an all-reduce, so that all make the same
 * calls.
 *
 * <p>A barrier precedes each iteration and is not timed. Each rank times its own call; afterwards
 * the times of an iteration are combined by their maximum.
 */
public final class CaseRun implements AutoCloseable {
  /** So that a large payload has a median. */
  private static final int LEAST_ITERATIONS = 9;

  /** So that the times themselves stay small. */
  private static final int MOST_ITERATIONS = 100_000;

  private static final int FIRST_ITERATIONS = 3;

  /**
   * Ranks that share few processors wait long for the one that is checked last; a dead one is
   * noticed anyway.
   */
  private static final Duration LIMIT = Duration.ofMinutes(10);

  private final Communicator world;
  private final Operation operation;
  private final PerfCase work;

  private CaseRun(Communicator world, PerfCase work) {
    this.world = world.within(LIMIT);
    Communicator view = this.world.using(work.algorithm().forRanks(world.size()));
    this.operation = Operation.of(view, work);
    this.work = work;
  }

  /**
   * Repeats a case for {@code nanos} and at least three times; the job is tuned then if that
   * matters.
   */
  public static void warmUp(Communicator world, PerfCase work, long nanos) {
    try (CaseRun run = new CaseRun(world, work)) {
      run.operation.fill();
      long start = System.nanoTime();
      int batch = FIRST_ITERATIONS;
      do {
        run.timed(batch);
        batch = Math.min(2 * batch, 1_000);
      } while (run.rankZeroSays(System.nanoTime() - start < nanos ? 1 : 0) == 1);
    }
    if (isAuto(world, work)) {
      world.tune();
    }
  }

  private static boolean isAuto(Communicator world, PerfCase work) {
    return work.algorithm().forRanks(world.size()) instanceof Algorithm.Auto;
  }

  private static String chosen(Communicator world, PerfCase work) {
    return isAuto(world, work)
            && work.collective() == Collective.ALL_REDUCE
            && work.tensors().isEmpty()
        ? (work.type() == ElementType.FLOAT32 ? world : world.using(WireType.AS_IN_MEMORY))
            .explain(work.bytes())
            .chosen()
            .name()
        : CaseResult.NOTHING;
  }

  /** Measures a case. */
  public static CaseResult measure(Communicator world, PerfCase work) {
    try (CaseRun run = new CaseRun(world, work)) {
      return run.measured();
    }
  }

  private CaseResult measured() {
    long wrong = checked();
    long start = System.nanoTime();
    int first = work.count() < 100_000 ? 10 * FIRST_ITERATIONS : FIRST_ITERATIONS;
    timed(first);
    long each = Math.max(1, (System.nanoTime() - start) / first);
    long wanted =
        work.iterations() > 0
            ? work.iterations()
            : Math.max(LEAST_ITERATIONS, Math.min(MOST_ITERATIONS, work.minNanos() / each));
    long[] nanos = timed((int) rankZeroSays(wanted));
    world.allReduce(nanos, ReduceOp.MAX);
    wrong += checked();
    return CaseResult.of(nanos, work.check() ? wrong : -1, chosen(world, work));
  }

  /** Gives back the memory of the payloads. */
  @Override
  public void close() {
    operation.close();
  }

  private long[] timed(int iterations) {
    long[] nanos = new long[iterations];
    for (int i = 0; i < iterations; i++) {
      world.barrier();
      long start = System.nanoTime();
      operation.run();
      nanos[i] = System.nanoTime() - start;
    }
    return nanos;
  }

  /**
   * Fills in the values, makes the call, and returns the number of wrong elements on all ranks; 0
   * if nobody checks.
   */
  private long checked() {
    operation.fill();
    if (!work.check()) {
      return 0;
    }
    operation.run();
    long[] wrong = {operation.wrong()};
    world.allReduce(wrong, ReduceOp.SUM);
    operation.fill();
    return wrong[0];
  }

  private long rankZeroSays(long value) {
    long[] message = {world.rank() == 0 ? value : 0};
    world.allReduce(message, ReduceOp.SUM);
    return message[0];
  }
}
