package io.collectives;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * A call under way. As a {@link CompletionStage} it ends normally when this rank's result is there,
 * or with a {@link CollectiveException}, or, if the call {@linkplain Communicator#checkingFinite()
 * checks} its numbers, with a {@link NonFiniteException}; dependent actions that are not given an
 * executor run in the thread that finishes the call, and must not block.
 *
 * <p>A call cannot be cancelled: memory belongs to the library until the call has ended, and other
 * ranks have their part in it. {@link Communicator#abort} ends the calls of a group on all ranks.
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

  /**
   * A new future that ends as the call does. It is the caller's: to complete it, to cancel it, or
   * to give it a timeout ends this future and nothing else. The call goes on, its memory belongs to
   * the library until {@link #await} has returned, and {@link #isDone} and other futures do not
   * know of it.
   */
  @Override
  CompletableFuture<Void> toCompletableFuture();
}
