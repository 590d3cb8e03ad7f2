package io.collectives;

/**
 * All-reduces of buffers that are reduced again and again, each under a number by which ranks that
 * {@linkplain Communicator#serve serve} know it: so they, too, keep what rounding takes from the
 * part of its sum that they complete, and add it in the next call of this number. What {@link
 * Communicator#async} returns is one if the communicator is the library's.
 */
public interface NumberedReduction extends Calls<CollectiveHandle> {

  /**
   * Starts {@link Communicator#allReduce(Payload, Payload, ReduceOp, Payload)}.
   *
   * @param input of one type
   * @param number at least 1, the same on all ranks; another one for each residual
   */
  CollectiveHandle allReduce(
      Payload input, Payload output, ReduceOp op, Payload residual, int number);
}
