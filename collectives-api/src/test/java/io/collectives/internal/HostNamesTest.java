package io.collectives.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
final class HostNamesTest {
  private static final Duration LONG = Duration.ofSeconds(20);

  @Test
  void findsAddressesByTheirNumbers() throws Exception {
    assertEquals("127.0.0.1", HostNames.lookUp("127.0.0.1", LONG).getHostAddress());
  }

  @Test
  void givesUpOnAResolverThatDoesNotAnswer() throws Exception {
    CountDownLatch answers = new CountDownLatch(1);
    CompletableFuture<InetAddress> asked =
        HostNames.lookUp(
            "host.example",
            host -> {
              try {
                answers.await();
              } catch (InterruptedException e) {
                throw new UnknownHostException(host);
              }
              return InetAddress.getLoopbackAddress();
            });
    UnknownHostException late =
        assertThrows(
            UnknownHostException.class,
            () -> HostNames.await("host.example", asked, Duration.ofMillis(20)));
    assertTrue(late.getMessage().contains("no answer within 20 ms"), late::getMessage);
    Thread.currentThread().interrupt();
    assertThrows(UnknownHostException.class, () -> HostNames.await("host.example", asked, LONG));
    assertTrue(Thread.interrupted(), "still interrupted");
    assertFalse(asked.isDone());
    answers.countDown();
    assertEquals(InetAddress.getLoopbackAddress(), HostNames.await("host.example", asked, LONG));
  }

  @Test
  void saysWhyAHostIsUnknown() {
    UnknownHostException why = new UnknownHostException("host.example");
    CompletableFuture<InetAddress> asked =
        HostNames.lookUp(
            "host.example",
            host -> {
              throw why;
            });
    assertSame(
        why,
        assertThrows(
            UnknownHostException.class, () -> HostNames.await("host.example", asked, LONG)));
  }
}
