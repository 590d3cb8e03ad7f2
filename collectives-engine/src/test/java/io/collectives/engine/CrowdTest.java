package io.collectives.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** On a clock of its own. */
class CrowdTest {
  private final Crowd crowd = new Crowd();
  private long now = Long.MAX_VALUE - 1_000_000;

  /** Gives way for a time, each time for so long, with something else to do in between. */
  private void giveWay(long nanos, long each, long between) {
    for (long until = now + nanos; now - until < 0; now += between) {
      crowd.gaveWay(now, now + each);
      now += each;
    }
  }

  @Test
  void whoGetsTheProcessorBackSoonHasNoCrowd() {
    assertFalse(crowd.isHere(now));
    giveWay(10 * Crowd.WINDOW_NANOS, 2_000, 500);
    giveWay(10 * Crowd.WINDOW_NANOS, Crowd.SLICE_NANOS, 0);
    assertFalse(crowd.isHere(now));
  }

  @Test
  void mostOfTheTimeMakesACrowd() {
    giveWay(2 * Crowd.WINDOW_NANOS, 3_000_000, 4_000_000);
    assertFalse(crowd.isHere(now), "less than half");
    giveWay(2 * Crowd.WINDOW_NANOS, 4_000_000, 3_000_000);
    assertTrue(crowd.isHere(now));
  }

  @Test
  void aCrowdThatStaysIsLookedForLessOften() {
    long measured = 0;
    long start = now;
    while (now - start < 20 * Crowd.LONGEST_NANOS) {
      if (crowd.isHere(now)) {
        now += 200_000;
      } else {
        crowd.gaveWay(now, now + 4_000_000);
        now += 4_000_000;
        measured += 4_000_000;
      }
    }
    assertTrue(measured < (now - start) / 5, measured + " of " + (now - start));
    while (crowd.isHere(now)) {
      now += 200_000;
    }
    giveWay(2 * Crowd.WINDOW_NANOS, 2_000, 500);
    assertFalse(crowd.isHere(now), "it has gone");
    long calm = now;
    while (!crowd.isHere(now)) {
      giveWay(1, 4_000_000, 0);
      assertTrue(now - calm < 3 * Crowd.WINDOW_NANOS, "it comes again");
    }
    assertFalse(crowd.isHere(now + Crowd.SHORTEST_NANOS), "and is looked for soon again");
  }

  /** A rank that computes for long, between calls, says nothing of others. */
  @Test
  void whatARankDoesItselfIsNoCrowd() {
    for (int i = 0; i < 20; i++) {
      giveWay(1, 4_000_000, 0);
      now += 3 * Crowd.WINDOW_NANOS;
    }
    assertFalse(crowd.isHere(now));
    assertEquals(false, crowd.isHere(now + 1));
  }
}
