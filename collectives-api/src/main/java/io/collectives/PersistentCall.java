package io.collectives;

import java.time.Duration;

/**
 * A call that was prepared once and can be made any number of times, on the same memory: its
 * arguments are checked, its plan is chosen and its tables are laid out, so that a start looks
 * nothing up and allocates nothing.
 *
 * <pre>{@code
 * try (PersistentCall sum = group.prepared().allReduce(gradients, gradients, ReduceOp.SUM)) {
 *   for (...) {
 *     ...                 // compute gradients
 *     sum.start();
 *     ...                 // compute something else
 *     sum.await();        // gradients hold the sum
 *   }
 * }
 * }</pre>
 *
 * <p><b>Same calls everywhere.</b> A rank prepares a call on its own: nothing is sent, and other
 * ranks may make the same call in the usual way. Each start is a call of the group like any other:
 * all ranks start the same calls in the same order. The caller must avoid one difference: {@link
 * Algorithm#auto} chooses when a call is prepared, so all ranks must prepare it before, or all
 * after, a {@link Communicator#tune}.
 *
 * <p><b>Types.</b> A persistent call is of one type; for a {@linkplain Payload.OfTensors payload of
 * several} prepare a call for each of {@code byType()}, and start them one after the other.
 *
 * <p><b>Memory.</b> The payloads belong to the library from {@link #start} to {@link #await}, and
 * to the caller in between. A call keeps its tables and its work memory until it is closed; {@link
 * Communicator} describes the work memory of a reduce-scatter.
 *
 * <p><b>Threads.</b> One thread at a time may use a call; it need not always be the same thread.
 * Any thread may call {@link #isDone}. Different calls, of one group or several, may be made by
 * different threads at the same time, under the rules for the order of a group's calls. A daemon
 * thread, or the thread that awaits it, carries on a call that was started; {@link #run} needs no
 * other thread.
 *
 * <p>The idea is that of MPI 4's persistent collectives ({@code MPI_Allreduce_init}).
 */
public interface PersistentCall extends AutoCloseable {

  /**
   * Starts the call and returns at once; the deadline counts from this moment.
   *
   * @throws IllegalStateException if it was started and not awaited, was closed, or needs a {@link
   *     CollectiveBuffer} that is closed
   * @throws CollectiveException if an earlier start has failed, for the reason for which the group
   *     is broken; {@link #await} throws all other errors
   */
  void start();

  /**
   * Returns whether nothing is under way: the call has not been started, or its last start has
   * ended.
   */
  boolean isDone();

  /**
   * Waits until the started call has ended; the waiting thread helps to move it on. Then the call
   * may be started again.
   *
   * @throws IllegalStateException if it was not started since it was last awaited
   * @throws CollectiveException if the call failed
   * @throws NonFiniteException if its check has found a number that is not finite
   */
  void await();

  /**
   * Waits at most {@code timeout}. Giving up the wait does not end the call.
   *
   * @return whether the call has ended, so that it may be started again
   * @throws IllegalStateException if it was not started since it was last awaited
   * @throws CollectiveException if the call failed
   * @throws NonFiniteException if its check has found a number that is not finite
   */
  boolean await(Duration timeout);

  /**
   * Makes the call and waits for it, as {@link #start} and {@link #await} do, but in this thread
   * alone, which is faster.
   */
  void run();

  /**
   * Frees all resources and drops the payloads. Waits for a call that was started and not awaited,
   * at most until its deadline; its outcome is lost. Closing again does nothing.
   */
  @Override
  void close();
}
