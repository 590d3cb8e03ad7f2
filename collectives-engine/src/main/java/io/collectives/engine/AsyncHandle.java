package io.collectives.engine;

import io.collectives.CollectiveHandle;
import io.collectives.engine.run.Group;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/** The user's end of an asynchronous call. */
final class AsyncHandle extends CompletableFuture<Void> implements CollectiveHandle, Handle {
  private final Driver driver;
  private final Group group;

  AsyncHandle(Driver driver, Group group) {
    this.driver = driver;
    this.group = group;
  }

  @Override
  public void ended(@Nullable RuntimeException error) {
    if (error == null) {
      complete(null);
    } else {
      completeExceptionally(error);
    }
  }

  @Override
  public void await() {
    driver.await(group, this::isDone, null);
    check();
  }

  @Override
  public boolean await(Duration timeout) {
    boolean ended = driver.await(group, this::isDone, System.nanoTime() + timeout.toNanos());
    if (ended) {
      check();
    }
    return ended;
  }

  private void check() {
    try {
      join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof RuntimeException error) {
        throw error;
      }
      throw e;
    }
  }
}
