package io.collectives.engine;

import io.collectives.CollectiveException;
import io.collectives.Payload;
import io.collectives.PersistentCall;
import io.collectives.engine.run.Call;
import io.collectives.engine.run.Group;
import io.collectives.internal.StageHandle;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The user's end of a persistent call, and of each of its starts.
 *
 * <p>What the user may do next is in {@code state}, which the user's thread changes; whether the
 * driver is done with a start is in {@code ended}, which is written after the error. The driver
 * does not touch the call once it has said so, because that may be started again by then.
 */
final class PreparedCall implements PersistentCall, Handle {
  private enum State {
    READY,
    STARTED,
    CLOSED
  }

  private final Driver driver;
  private final Group group;
  private final long timeoutNanos;

  /** The buffers that must not be closed when the call is started. */
  private final List<EngineBuffer> buffers = new ArrayList<>();

  private final BooleanSupplier hasEnded;
  private @Nullable Call call;
  private volatile State state = State.READY;
  private volatile boolean ended;
  private @Nullable RuntimeException error;

  /**
   * Makes a call that is yet to be {@linkplain #describedBy described}.
   *
   * @param group that of the call
   * @param payloads of the call, and nothing
   */
  PreparedCall(Driver driver, Group group, long timeoutNanos, @Nullable Payload... payloads) {
    this.driver = driver;
    this.group = group;
    this.timeoutNanos = timeoutNanos;
    this.hasEnded = () -> ended;
    for (Payload payload : payloads) {
      if (payload != null) {
        find(payload);
      }
    }
  }

  private void find(Payload payload) {
    if (payload instanceof Payload.OfParts several) {
      several.parts().forEach(this::find);
    } else if (payload instanceof Payload.OfStrided strided) {
      find(strided.base());
    } else if (payload instanceof Payload.OfCollectiveBuffer range
        && range.buffer() instanceof EngineBuffer buffer) {
      buffers.add(buffer);
    }
  }

  void describedBy(Call described) {
    call = described;
  }

  @Override
  public void start() {
    driver.lock();
    try {
      begin(this);
      driver.submittedAsynchronous(!Objects.requireNonNull(call).isInline());
    } finally {
      driver.unlock();
    }
  }

  /** To be called with the lock held. */
  private void begin(Call.@Nullable Completion completion) {
    if (state != State.READY) {
      throw new IllegalStateException(
          call
              + (state == State.CLOSED
                  ? ": start of a persistent call that is closed"
                  : ": start of a persistent call that is started already; await() it first"));
    }
    for (int i = 0; i < buffers.size(); i++) {
      if (buffers.get(i).isClosed()) {
        throw new IllegalStateException(
            call + " needs " + buffers.get(i) + " that is closed: prepare it with another");
      }
    }
    Call described = Objects.requireNonNull(call);
    CollectiveException failed = described.error();
    if (failed != null) {
      throw failed; // The group is broken for good, and peers may still look at what this has sent.
    }
    ended = false;
    state = State.STARTED;
    driver.engine().start(described, timeoutNanos, completion);
  }

  @Override
  public void ended(@Nullable RuntimeException why) {
    error = why;
    ended = true;
  }

  @Override
  public boolean isDone() {
    return state != State.STARTED || ended;
  }

  @Override
  public void await() {
    checkStarted();
    driver.await(group, hasEnded, null);
    finish();
  }

  @Override
  public boolean await(Duration timeout) {
    checkStarted();
    if (!driver.await(group, hasEnded, StageHandle.deadline(timeout))) {
      return false;
    }
    finish();
    return true;
  }

  private void checkStarted() {
    if (state != State.STARTED) {
      throw new IllegalStateException(
          call + ": await of a persistent call that was not started; start() it first");
    }
  }

  private void finish() {
    RuntimeException why = error;
    error = null;
    state = State.READY;
    if (why != null) {
      throw why;
    }
  }

  @Override
  public void run() {
    Call described = Objects.requireNonNull(call);
    boolean isBegun = false;
    try {
      boolean isOver;
      driver.lock();
      try {
        begin(null);
        isBegun = true;
        isOver = driver.runAtOnce(described);
      } finally {
        driver.unlock();
      }
      if (!isOver) {
        driver.finish(described);
      }
    } finally {
      if (isBegun) {
        state = State.READY;
      }
    }
  }

  @Override
  public void close() {
    if (state == State.CLOSED) {
      return;
    }
    if (state == State.STARTED) {
      driver.await(group, hasEnded, null);
    }
    state = State.CLOSED;
    driver.lock();
    try {
      driver.engine().forget(Objects.requireNonNull(call));
    } finally {
      driver.unlock();
    }
  }

  @Override
  public String toString() {
    return "persistent " + call;
  }
}
