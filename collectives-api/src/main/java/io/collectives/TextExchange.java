package io.collectives;

import java.util.List;

/**
 * An all-gather of texts that the host of a job offers to its processes, by which they learn each
 * other's addresses: the barrier of Spark, an allgather of MPI, an actor of Ray, a key-value store.
 * Each rank listens first and tells its address then, so that no port has to be known beforehand.
 *
 * <p>{@link Collectives#join(JobSettings, TextExchange)} calls it once at each rank, on the thread
 * that joins.
 */
@FunctionalInterface
public interface TextExchange {

  /**
   * Gives a text to all ranks, and waits for theirs. The wait is the host's: it ends, with an
   * exception, when the host knows that a rank will not come, and should end when the thread is
   * interrupted.
   *
   * @param text the text of this rank: at most 4,096 bytes in UTF-8, in several lines
   * @return the texts of all ranks, unchanged and in the order of ranks, this rank's included
   * @throws Exception if the texts cannot be exchanged; joining fails with it as the cause
   */
  List<String> allGather(String text) throws Exception;
}
