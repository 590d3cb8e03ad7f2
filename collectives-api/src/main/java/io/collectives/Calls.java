package io.collectives;

import org.jspecify.annotations.Nullable;

/**
 * The calls of a group in a form that does not wait: those of {@link Communicator#async} start a
 * call, those of {@link Communicator#prepared} prepare it. Each method has the name and the
 * arguments of a method of {@link Communicator}, which documents them.
 *
 * <p>Memory belongs to the library until the returned object says that the call has ended.
 *
 * <p>It may be used by any thread, like the communicator that it is a view of.
 *
 * @param <R> the type that each method returns: a {@link CollectiveHandle} or a {@link
 *     PersistentCall}
 */
public interface Calls<R> {

  /** See {@link Communicator#allReduce(float[], ReduceOp)}. */
  default R allReduce(float[] buffer, ReduceOp op) {
    return allReduce(Payload.of(buffer), op);
  }

  /** See {@link Communicator#allReduce(Payload, ReduceOp)}. */
  default R allReduce(Payload buffer, ReduceOp op) {
    return allReduce(buffer, buffer, op);
  }

  /** See {@link Communicator#allReduce(Payload, Payload, ReduceOp)}. */
  R allReduce(Payload input, Payload output, ReduceOp op);

  /** See {@link Communicator#allReduce(Payload, Payload, ReduceOp, Payload)}. */
  R allReduce(Payload input, Payload output, ReduceOp op, Payload residual);

  /** See {@link Communicator#broadcast(Payload, int)}. */
  R broadcast(Payload buffer, int root);

  /** See {@link Communicator#reduce(Payload, Payload, ReduceOp, int)}. */
  R reduce(Payload input, @Nullable Payload output, ReduceOp op, int root);

  /** See {@link Communicator#reduce(Payload, Payload, ReduceOp, int, Payload)}. */
  R reduce(Payload input, @Nullable Payload output, ReduceOp op, int root, Payload residual);

  /** See {@link Communicator#reduceScatter(Payload, Payload, ReduceOp)}. */
  R reduceScatter(Payload input, Payload output, ReduceOp op);

  /** See {@link Communicator#reduceScatter(Payload, Payload, ReduceOp, Payload)}. */
  R reduceScatter(Payload input, Payload output, ReduceOp op, Payload residual);

  /** See {@link Communicator#reduceScatter(Payload, Payload, long[], ReduceOp)}. */
  R reduceScatter(Payload input, Payload output, long[] counts, ReduceOp op);

  /** See {@link Communicator#allGather(Payload, Payload)}. */
  R allGather(Payload part, Payload all);

  /** See {@link Communicator#allGather(Payload, Payload, long[])}. */
  R allGather(Payload part, Payload all, long[] counts);

  /** See {@link Communicator#gather(Payload, Payload, int)}. */
  R gather(Payload part, @Nullable Payload all, int root);

  /** See {@link Communicator#gather(Payload, Payload, long[], int)}. */
  R gather(Payload part, @Nullable Payload all, long[] counts, int root);

  /** See {@link Communicator#scatter(Payload, Payload, int)}. */
  R scatter(@Nullable Payload all, Payload part, int root);

  /** See {@link Communicator#scatter(Payload, Payload, long[], int)}. */
  R scatter(@Nullable Payload all, Payload part, long[] counts, int root);

  /** See {@link Communicator#allToAll(Payload, Payload)}. */
  R allToAll(Payload input, Payload output);

  /** See {@link Communicator#allToAll(Payload, long[], Payload, long[])}. */
  R allToAll(Payload input, long[] sendCounts, Payload output, long[] receiveCounts);

  /** See {@link Communicator#send}. */
  R send(Payload payload, int to);

  /** See {@link Communicator#receive}. */
  R receive(Payload payload, int from);

  /** See {@link Communicator#barrier()}. */
  R barrier();
}
