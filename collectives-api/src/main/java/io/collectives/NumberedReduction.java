package io.collectives;

/**
 * All-reduces of buffers that are reduced again and again, each with a number by which ranks that
 * {@linkplain Communicator#serve serve} recognise the buffer. These ranks, too, keep the rounding
 * error of the part of the sum that they complete, and add it in the next call of this number. The
 * object that {@link Communicator#async} returns implements this interface if the communicator is
 * one of the library.
 */
public interface NumberedReduction extends Calls<CollectiveHandle> {

  /**
   * Starts {@link Communicator#allReduce(Payload, Payload, ReduceOp, Payload)}.
   *
   * @param input the payload to read, of one type
   * @param number the number of the buffer, at least 1 and the same on all ranks; each residual has
   *     another one
   */
  CollectiveHandle allReduce(
      Payload input, Payload output, ReduceOp op, Payload residual, int number);
}
