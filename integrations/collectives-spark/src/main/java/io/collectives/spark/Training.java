package io.collectives.spark;

import io.collectives.Communicator;
import java.io.Serializable;
import java.util.Iterator;

/**
 * The work of one task, as {@link SparkCollectives#train} runs it at each rank. It is serialised
 * and sent to the executors, so it must capture only what can be.
 *
 * @param <T> the rows of the data set
 * @param <R> the result, which is serialised and sent back
 */
@FunctionalInterface
public interface Training<T, R> extends Serializable {

  /**
   * Trains. Every rank must make the same collective calls in the same order, however many rows its
   * partition has.
   *
   * @param world all tasks of the stage; closed by the caller
   * @param rows the rows of this task's partition, read once, while they are computed; a program
   *     that goes over them again keeps a copy
   * @return the result of this rank; null stands for none
   * @throws Exception if it fails, which fails the stage at all ranks
   */
  R train(Communicator world, Iterator<T> rows) throws Exception;
}
