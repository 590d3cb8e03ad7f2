package io.collectives.bench.perf;

import java.util.List;

/**
 * The ranks of a job, waiting for cases. Between two calls none of them uses a processor. To be
 * used by one thread.
 */
public interface Ranks extends AutoCloseable {
  /** The number of turns in which cases are warmed up. */
  int TURNS = 2;

  /** The names of the transports that rank 0 uses. */
  List<String> transports();

  /**
   * Repeats a case on all ranks, so that it is compiled when it counts.
   *
   * @param nanos how long
   * @throws java.io.IOException if a rank has ended
   */
  void warmUp(PerfCase work, long nanos) throws Exception;

  /**
   * Repeats cases in two turns, so that the first one is compiled with what the last one needs.
   *
   * @param nanos how long, all of them together
   * @throws java.io.IOException if a rank has ended
   */
  default void warmUp(List<PerfCase> cases, long nanos) throws Exception {
    for (int turn = 0; turn < TURNS; turn++) {
      for (PerfCase work : cases) {
        warmUp(work, nanos / TURNS / cases.size());
      }
    }
  }

  /**
   * Measures a case on all ranks.
   *
   * @throws java.io.IOException if a rank has ended
   */
  CaseResult measure(PerfCase work) throws Exception;

  @Override
  void close();
}
