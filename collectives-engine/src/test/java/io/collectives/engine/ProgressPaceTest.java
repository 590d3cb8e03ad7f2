package io.collectives.engine;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class ProgressPaceTest {
  private static final long FOR_EVER = TimeUnit.HOURS.toNanos(1);

  @Test
  void aCallThatNobodyWaitsForIsLeftToTheThread() {
    ProgressPace pace = new ProgressPace(FOR_EVER);
    pace.begun();
    assertTrue(pace.rest());
  }

  @Test
  void aCallWakesTheThreadWhileItIsIdle() throws Exception {
    ProgressPace pace = new ProgressPace(FOR_EVER);
    CompletableFuture<Boolean> rest = new CompletableFuture<>();
    Thread thread = new Thread(() -> rest.complete(pace.rest()));
    thread.start();
    while (thread.getState() != Thread.State.TIMED_WAITING) {
      Thread.onSpinWait();
    }
    pace.polled(); // By a call that is over.
    pace.begun();
    assertTrue(rest.get(10, TimeUnit.SECONDS));
    thread.join();
  }

  @Test
  void nothingIsLeftToTheThreadWhileOthersPoll() {
    ProgressPace pace = new ProgressPace(FOR_EVER);
    pace.begun();
    assertTrue(pace.rest());
    pace.polled();
    assertFalse(pace.rest());
    assertTrue(pace.rest());
  }

  @Test
  void itsOwnPollsDoNotKeepItAway() {
    ProgressPace pace = new ProgressPace(FOR_EVER);
    pace.begun();
    pace.polled();
    pace.drove();
    assertTrue(pace.rest());
  }

  @Test
  void itLooksInIfNobodyDoesWithoutCalls() {
    ProgressPace pace = new ProgressPace(1);
    assertTrue(pace.rest());
    pace.polled();
    assertFalse(pace.rest());
    assertTrue(pace.rest());
  }
}
