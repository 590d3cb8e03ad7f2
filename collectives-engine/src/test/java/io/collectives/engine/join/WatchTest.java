package io.collectives.engine.join;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

final class WatchTest {
  private static final long LIMIT = 1000;

  private final Watch watch = new Watch(3, LIMIT, 0);
  private long now;

  @Test
  void whoGivesNoSignIsQuietAtHalfOfTheLimitAndLostAtTheLimit() {
    watch.meet(1, "1");
    pass(499);
    assertFalse(watch.isQuiet(1));
    pass(1);
    assertTrue(watch.isQuiet(1));
    pass(499);
    assertFalse(watch.isLost(1));
    pass(1);
    assertTrue(watch.isLost(1));
  }

  @Test
  void onlyAnotherTextIsASign() {
    watch.meet(1, "1");
    watch.meet(2, "1");
    for (int beat = 2; beat < 20; beat++) {
      pass(100);
      watch.look(1, "" + beat);
      watch.look(2, beat % 2 == 0 ? "1" : null);
    }
    assertFalse(watch.isQuiet(1));
    assertTrue(watch.isBeating(1));
    assertTrue(watch.isLost(2));
    assertFalse(watch.isBeating(2));
  }

  @Test
  void whatIsSeenFirstMayBeOld() {
    watch.meet(1, null);
    watch.look(1, "7");
    assertFalse(watch.isBeating(1));
    watch.look(1, "8");
    assertTrue(watch.isBeating(1));
    watch.meet(1, "8");
    assertFalse(watch.isBeating(1));
  }

  @Test
  void whoWasItselfStoppedBlamesNobody() {
    watch.meet(1, "1");
    pass(400);
    now += 5000;
    assertTrue(watch.begin(now));
    assertFalse(watch.isQuiet(1));
    pass(999);
    assertFalse(watch.isLost(1));
    pass(1);
    assertTrue(watch.isLost(1));
  }

  @Test
  void clocksMayBeNegativeAndOverflow() {
    Watch old = new Watch(2, LIMIT, Long.MAX_VALUE - 100);
    old.meet(1, "1");
    for (int i = 1; i <= 5; i++) {
      assertFalse(old.begin(Long.MAX_VALUE - 100 + i * 100L));
    }
    assertTrue(old.isQuiet(1));
    assertFalse(old.isLost(1));
  }

  /** In steps in which a rank that runs looks. */
  private void pass(long nanos) {
    long end = now + nanos;
    while (now < end) {
      now = Math.min(end, now + 100);
      assertFalse(watch.begin(now));
    }
    assertEquals(end, now);
  }
}
