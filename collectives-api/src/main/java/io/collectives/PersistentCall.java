package io.collectives;

import java.time.Duration;

/**
 * A call that was prepared once and can be made any number of times, on the same memory: its
 * arguments are checked, its plan is chosen and its tables are laid out, so that making it looks
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
 * <p><b>Same calls everywhere.</b> To prepare is a matter of this rank alone; nothing is sent, and
 * other ranks may make the same call in the usual way. Each start is a call of the group like any
 * other: all ranks start the same calls in the same order. One difference is left to the caller:
 * {@link Algorithm#auto} chooses when a call is prepared, so prepare it on all ranks before, or on
 * all after, a {@link Communicator#tune}.
 *
 * <p><b>Types.</b> A persistent call is of one type; for a {@linkplain Payload.OfTensors payload of
 * several} prepare a call for each of {@code byType()}, and start them one after the other.
 *
 * <p><b>Memory.</b> The payloads belong to the library from {@link #start} to {@link #await}, and
 * to the caller in between. A call keeps its tables, and memory for what passes through this rank,
 * to itself until it is closed; that of a reduce-scatter is described with {@link Communicator}.
 *
 * <p><b>Threads.</b> One thread at a time; not always the same. {@link #isDone} may be asked by
 * any. Different calls, of one group or several, may be made by different threads at the same time,
 * under the rules for the order of a group's calls. What is started is carried on by a daemon
 * thread, or by the thread that awaits it; {@link #run} needs no other thread.
 *
 * <p>The idea is that of MPI 4's persistent collectives ({@code MPI_Allreduce_init}).
 */
public interface PersistentCall extends AutoCloseable {

  /**
   * Starts the call and returns at once; the deadline runs from now.
   *
   * @throws IllegalStateException if it was started and not awaited, was closed, or needs a {@link
   *     CollectiveBuffer} that is closed
   * @throws CollectiveException if an earlier start has failed, for the reason for which the group
   *     is broken; all else arrives by {@link #await}
   */
  void start();

  /** Whether nothing is under way: the call has not been started, or what was started has ended. */
  boolean isDone();

  /**
   * Waits until what was started has ended; the waiting thread helps to move it on. Then the call
   * may be started again.
   *
   * @throws IllegalStateException if it was not started since it was last awaited
   * @throws CollectiveException if the call failed
   * @throws NonFiniteException if its check has found something
   */
  void await();

  /**
   * Waits at most {@code timeout}. Giving up the wait does not end the call.
   *
   * @return whether the call has ended, so that it may be started again
   * @throws IllegalStateException if it was not started since it was last awaited
   * @throws CollectiveException if the call failed
   * @throws NonFiniteException if its check has found something
   */
  boolean await(Duration timeout);

  /**
   * Makes the call and waits for it: {@link #start} and {@link #await}, but all by this thread,
   * which is faster.
   */
  void run();

  /**
   * Lets go of the payloads and all else. Waits for what was started and not awaited, whose outcome
   * is lost; that has a deadline. Closing again does nothing.
   */
  @Override
  void close();
}
