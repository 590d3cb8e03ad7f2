package io.collectives;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * The handle of a call that was started. As a {@link CompletionStage} it ends normally when this
 * rank has its result, or with a {@link CollectiveException}, or, if the call {@linkplain
 * Communicator#checkingFinite() checks} its numbers, with a {@link NonFiniteException}; dependent
 * actions that are not given an executor run in the thread that finishes the call, and must not
 * block: other calls of this rank stand still for some milliseconds before another thread moves
 * them on.
 *
 * <p>A call cannot be cancelled: its memory belongs to the library until the call has ended, and
 * other ranks take part in it. {@link Communicator#abort} ends the calls of a group on all ranks.
 */
public interface CollectiveHandle extends CompletionStage<Void> {

  /** Returns whether the call has ended, normally or with an error. */
  boolean isDone();

  /**
   * Waits until the call has ended; the waiting thread helps to move it on.
   *
   * @throws CollectiveException if the call failed
   * @throws NonFiniteException if its check has found a number that is not finite
   */
  void await();

  /**
   * Waits at most {@code timeout}. Giving up the wait does not end the call.
   *
   * @return whether the call has ended
   * @throws CollectiveException if the call failed
   * @throws NonFiniteException if its check has found a number that is not finite
   */
  boolean await(Duration timeout);

  /**
   * Returns a new future that ends as the call does. It belongs to the caller: completing or
   * cancelling it, or giving it a timeout, ends this future and nothing else. The call goes on, its
   * memory belongs to the library until {@link #await} has returned, and {@link #isDone} and other
   * futures are not affected.
   */
  @Override
  CompletableFuture<Void> toCompletableFuture();
}
