package io.collectives.bench.perf;

import io.collectives.bench.report.Progress;
import java.util.List;
import java.util.Locale;

/**
 * Runs cases until the JIT compilers of all ranks have done most of their work. Where ranks
 * outnumber processors compilers take processors from ranks, and a call of some ranks takes as long
 * as a time slice of the system: 8 processes that shared 2 processors needed a minute.
 */
public final class WarmUp {
  /** The share of the time for which a compiler may still run. */
  private static final double QUIET = 0.02;

  /** A later pass takes this part of the first one. */
  private static final int PART = 5;

  /** All later passes take at most so many times as long as the first one. */
  private static final int MOST = 6;

  private final Ranks job;
  private final long nanos;
  private final Progress progress;

  /**
   * Makes a warm-up of a job.
   *
   * @param nanos how long cases that run the same code are to run at first
   */
  public WarmUp(Ranks job, long nanos, Progress progress) {
    this.job = job;
    this.nanos = nanos;
    this.progress = progress;
  }

  /**
   * Runs all cases, and again for a shorter time until no compiler has run for more than a fiftieth
   * of it; then tunes the job for those that want that.
   *
   * @param codes cases, together if they run the same code
   * @throws java.io.IOException if a rank has ended
   */
  public void run(List<List<PerfCase>> codes) throws Exception {
    long start = System.nanoTime();
    double share = pass(codes, nanos);
    long end = System.nanoTime() + MOST * (System.nanoTime() - start);
    while (share > QUIET && System.nanoTime() - end < 0) {
      progress.step(
          String.format(Locale.ROOT, "warming up on, as %.0f %% was compiling", 100 * share));
      share = pass(codes, nanos / PART);
    }
    for (List<PerfCase> cases : codes) {
      job.tune(cases.get(0));
    }
  }

  /** Returns the share of the time for which a compiler ran. */
  private double pass(List<List<PerfCase>> codes, long each) throws Exception {
    long start = System.nanoTime();
    long compiled = 0;
    for (List<PerfCase> cases : codes) {
      if (each == nanos) {
        PerfCase first = cases.get(0);
        progress.stage(
            String.format(
                Locale.ROOT,
                "%d ranks, %s, %s, %s: warming up for %.1f s",
                first.ranks(),
                first.title(),
                first.algorithm(),
                first.operand().op(),
                each * 1e-9));
      }
      compiled += once(job, cases, each);
    }
    return (double) compiled / (System.nanoTime() - start);
  }

  /**
   * Runs cases once, for some time together; returns for how many nanoseconds the JIT compiler of a
   * rank ran meanwhile, at most.
   *
   * @throws java.io.IOException if a rank has ended
   */
  public static long once(Ranks job, List<PerfCase> cases, long nanos) throws Exception {
    long compiled = 0;
    for (PerfCase work : cases) {
      compiled += job.warmUp(work, nanos / cases.size());
    }
    return compiled;
  }
}
