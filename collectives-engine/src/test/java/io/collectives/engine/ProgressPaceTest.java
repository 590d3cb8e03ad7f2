package io.collectives.engine;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ProgressPaceTest {
  private static final long FOR_EVER = TimeUnit.HOURS.toNanos(1);

  private final CompletableFuture<Boolean> turn = new CompletableFuture<>();
  private final Thread thread = new Thread(this::restOnce);
  private final ProgressPace pace = new ProgressPace(thread, FOR_EVER);

  private void restOnce() {
    pace.rest();
    turn.complete(pace.isItsTurn());
  }

  /** Starts the thread, which sleeps for an hour unless it is woken. */
  private void startAndSleep() {
    thread.start();
    while (thread.getState() != Thread.State.TIMED_WAITING) {
      Thread.onSpinWait();
    }
  }

  private boolean itsTurn() throws Exception {
    return turn.get(30, TimeUnit.SECONDS);
  }

  @AfterEach
  void endTheThread() throws InterruptedException {
    thread.interrupt();
    thread.join();
  }

  @Test
  void aCallByFramesWakesTheThreadThatDrivesAtOnce() throws Exception {
    startAndSleep();
    pace.polled();
    pace.begun(true);
    assertTrue(itsTurn());
  }

  @Test
  void aCallWithoutFramesWakesTheThreadThatDrivesIfNobodyPolls() throws Exception {
    pace.polled();
    startAndSleep();
    pace.begun(false);
    assertTrue(itsTurn());
  }

  @Test
  void whoeverHasWaitedWakesTheThreadForWhatIsLeft() throws Exception {
    pace.beginWaiting();
    pace.begun(true);
    startAndSleep();
    pace.endWaiting();
    assertTrue(itsTurn());
  }

  @Test
  void callsWithoutFramesAreLeftToThoseWhoPoll() {
    pace.begun(false);
    pace.rest();
    assertTrue(pace.isItsTurn());
    pace.polled();
    assertFalse(pace.isItsTurn());
    pace.rest();
    assertTrue(pace.isItsTurn());
  }

  @Test
  void aCallByFramesBesideThemIsNot() {
    pace.begun(false);
    pace.begun(true);
    pace.rest();
    pace.polled();
    assertTrue(pace.isItsTurn());
    pace.ended(true);
    assertFalse(pace.isItsTurn());
  }

  @Test
  void callsAreLeftToThoseWhoWaitAndPoll() {
    pace.beginWaiting();
    pace.begun(true);
    pace.polled();
    assertFalse(pace.isItsTurn());
    pace.drove();
    assertTrue(pace.isItsTurn());
    assertFalse(pace.isLeft());
    pace.endWaiting();
    assertTrue(pace.isLeft());
  }

  @Test
  void itsOwnPollsDoNotKeepItAway() {
    pace.begun(false);
    pace.polled();
    pace.drove();
    assertTrue(pace.isItsTurn());
  }
}
