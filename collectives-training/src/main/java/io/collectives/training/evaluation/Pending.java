package io.collectives.training.evaluation;

import io.collectives.CollectiveException;
import io.collectives.CollectiveHandle;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;

/**
 * A result that ranks are still adding up. Several may be under way, and a program may wait for
 * them in any order. Any thread may use it.
 *
 * @param <T> the type of the result
 */
public final class Pending<T> {
  private final CompletableFuture<T> future;
  private final Runnable wait;

  private Pending(CompletableFuture<T> future, Runnable wait) {
    this.future = future;
    this.wait = wait;
  }

  static <T> Pending<T> of(CollectiveHandle handle, Supplier<T> result) {
    return new Pending<>(
        handle.thenApply(nothing -> result.get()).toCompletableFuture(), handle::await);
  }

  static <T> Pending<T> of(CompletableFuture<T> future) {
    return new Pending<>(future, () -> {});
  }

  /** Returns whether the result, or an error, is available. */
  public boolean isDone() {
    return future.isDone();
  }

  /**
   * Waits for the result.
   *
   * @throws CollectiveException if a rank is lost or late
   * @throws io.collectives.training.TrainingException on all ranks, if one of them had data that
   *     cannot be evaluated
   */
  public T await() {
    wait.run();
    try {
      return future.join();
    } catch (CompletionException e) {
      throw e.getCause() instanceof RuntimeException cause ? cause : e;
    }
  }
}
