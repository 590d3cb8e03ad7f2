package io.collectives.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.EOFException;
import org.junit.jupiter.api.Test;

class LinkLifecycleTest {
  private final LinkLifecycle<String> lower = new LinkLifecycle<>(0, 1);
  private final LinkLifecycle<String> higher = new LinkLifecycle<>(1, 0);

  @Test
  void ofTwoConnectionsThatOfTheHigherRankCounts() {
    lower.begin("by 0");
    higher.begin("by 1");
    assertEquals(LinkLifecycle.Answer.OWN_COUNTS, higher.answer());
    assertEquals(LinkLifecycle.Answer.WELCOME, lower.answer());
    assertEquals("by 0", lower.admit("by 1"), "is to be closed");
    assertNull(higher.admit("by 1"));
    assertEquals(LinkLifecycle.Answer.USED, lower.answer());
    assertEquals(LinkLifecycle.Answer.USED, higher.answer());
    assertNull(lower.attempt());
    assertNull(higher.attempt());
  }

  @Test
  void whoDoesNotConnectTakesWhatComes() {
    assertEquals(LinkLifecycle.Answer.WELCOME, higher.answer());
    assertNull(higher.admit("by 0"));
    assertTrue(higher.isLinked());
    assertEquals("by 0", higher.connection());
  }

  @Test
  void isLostOnceAndForTheFirstCause() {
    EOFException first = new EOFException();
    assertTrue(lower.want());
    assertFalse(lower.want());
    assertTrue(lower.isWaiting());
    assertTrue(lower.lose(first));
    assertFalse(lower.lose(null));
    assertSame(first, lower.cause());
    assertFalse(lower.isWaiting());
    assertEquals(LinkLifecycle.Answer.USED, lower.answer());
  }
}
