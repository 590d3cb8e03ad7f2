package io.collectives;

import java.time.Duration;
import java.util.concurrent.CompletionStage;

/**
 * A call under way. As a {@link CompletionStage} it ends normally when this rank's result is there,
 * or with a {@link CollectiveException}, or, if the call {@linkplain Communicator#checkingFinite()
 * checks} its numbers, with a {@link NonFiniteException}; dependent actions that are not given an
 * executor run in the thread that finishes the call, and must not block.
 */
public interface CollectiveHandle extends CompletionStage<Void> {

  /** Whether the call has ended, well or not. */
  boolean isDone();

  /**
   * Waits until the call has ended; the waiting thread helps to move it on.
   *
   * @throws CollectiveException if the call failed
   * @throws NonFiniteException if its check has found something
   */
  void await();

  /**
   * Waits at most {@code timeout}. Giving up the wait does not end the call.
   *
   * @return whether the call has ended
   * @throws CollectiveException if the call failed
   * @throws NonFiniteException if its check has found something
   */
  boolean await(Duration timeout);
}
