package io.collectives.internal;

import io.collectives.CollectiveHandle;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A handle that ends when the library says so, whatever its user does with it: {@link
 * #toCompletableFuture} gives a future of its own to each who asks, and the methods by which a
 * future can be ended do nothing here, for users who cast.
 */
public abstract class StageHandle extends CompletableFuture<Void> implements CollectiveHandle {

  /**
   * Ends the handle; the first time counts.
   *
   * @param error why the call has failed; nothing if it has not
   */
  protected final void end(@Nullable Throwable error) {
    if (error == null) {
      super.complete(null);
    } else {
      super.completeExceptionally(error);
    }
  }

  /**
   * Returns the time, by {@link System#nanoTime}, at which a wait of so long ends; a wait of
   * centuries counts as one century.
   */
  public static long deadline(Duration timeout) {
    long most = TimeUnit.DAYS.toNanos(365 * 100);
    boolean isShort = timeout.compareTo(Duration.ofNanos(most)) < 0;
    return System.nanoTime() + (!isShort ? most : timeout.isNegative() ? 0 : timeout.toNanos());
  }

  /** Throws the error of a handle that has ended, or is about to, if there is one. */
  protected final void check() {
    try {
      join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof RuntimeException error) {
        throw error;
      }
      throw e;
    }
  }

  @Override
  public final CompletableFuture<Void> toCompletableFuture() {
    CompletableFuture<Void> copy = new CompletableFuture<>();
    whenComplete(
        (nothing, error) -> {
          if (error == null) {
            copy.complete(null);
          } else {
            copy.completeExceptionally(error);
          }
        });
    return copy;
  }

  /** Stages that depend on this one are plain futures, which their users may end. */
  @Override
  public final <U> CompletableFuture<U> newIncompleteFuture() {
    return new CompletableFuture<>();
  }

  @Override
  public final boolean complete(@Nullable Void value) {
    return false;
  }

  @Override
  public final boolean completeExceptionally(Throwable error) {
    return false;
  }

  @Override
  public final boolean cancel(boolean mayInterruptIfRunning) {
    return false;
  }

  @Override
  public final CompletableFuture<Void> completeAsync(
      Supplier<? extends Void> supplier, Executor executor) {
    return this;
  }

  @Override
  public final CompletableFuture<Void> completeOnTimeout(
      @Nullable Void value, long timeout, TimeUnit unit) {
    return this;
  }

  @Override
  public final CompletableFuture<Void> orTimeout(long timeout, TimeUnit unit) {
    return this;
  }

  @Override
  public final void obtrudeValue(@Nullable Void value) {}

  @Override
  public final void obtrudeException(Throwable error) {}
}
