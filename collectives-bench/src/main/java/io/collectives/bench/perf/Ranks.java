package io.collectives.bench.perf;

import java.util.List;

/**
 * The ranks of a job, waiting for cases. Between two calls none of them uses a processor. To be
 * used by one thread.
 */
public interface Ranks extends AutoCloseable {

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
   * Measures a case on all ranks.
   *
   * @throws java.io.IOException if a rank has ended
   */
  CaseResult measure(PerfCase work) throws Exception;

  @Override
  void close();
}
