package io.collectives.engine;

import io.collectives.engine.run.Group;
import io.collectives.internal.StageHandle;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The user's end of an asynchronous call, or of the calls that a payload of several types takes.
 */
final class AsyncHandle extends StageHandle implements Handle {
  private final Driver driver;
  private final Group group;
  private int open;
  private @Nullable RuntimeException gravest;

  /** A handle that ends with the last of so many calls. */
  AsyncHandle(Driver driver, Group group, int calls) {
    this.driver = driver;
    this.group = group;
    this.open = calls;
  }

  @Override
  public void ended(@Nullable RuntimeException error) {
    RuntimeException failure;
    synchronized (this) {
      gravest = error == null ? gravest : Batch.graver(gravest, error);
      open--;
      if (open > 0) {
        return;
      }
      failure = gravest;
    }
    end(failure);
  }

  @Override
  public void await() {
    driver.await(group, this::isDone, null);
    check();
  }

  @Override
  public boolean await(Duration timeout) {
    boolean ended = driver.await(group, this::isDone, deadline(timeout));
    if (ended) {
      check();
    }
    return ended;
  }
}
