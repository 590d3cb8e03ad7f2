package io.collectives.netty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.JobSettings;
import io.collectives.JoinException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.URI;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The address for "auto" on one host; with several hosts it is tested in collectives-bench. */
@Tag("once")
@Timeout(30)
class ListenAddressTest {

  @Test
  void whereRanksMeetOnLoopbackTheyListenThere() {
    assertEquals("127.0.0.1", auto("tcp://127.0.0.1:29500").getHostAddress());
    assertTrue(auto("tcp://localhost:29500").isLoopbackAddress());
  }

  @Test
  void whereRanksMeetAtAnAddressOfThisHostTheyListenThere() throws Exception {
    List<InetAddress> addresses =
        Collections.list(NetworkInterface.getNetworkInterfaces()).stream()
            .flatMap(NetworkInterface::inetAddresses)
            .filter(address -> !address.isLinkLocalAddress())
            .collect(Collectors.toList());
    assertTrue(!addresses.isEmpty());
    for (InetAddress address : addresses) {
      assertEquals(address, auto("tcp://" + HostPort.format(address, 29500)));
    }
  }

  @Test
  void anAddressThatIsGivenIsTaken() throws Exception {
    JobSettings settings = settings("tcp://localhost:1").withListen("127.0.0.3", 0);
    assertEquals(InetAddress.getByName("127.0.0.3"), ListenAddress.of(settings));
  }

  @Test
  void aPlaceThatDoesNotSayWhereRankZeroIsIsRefused() {
    String message =
        assertThrows(JoinException.class, () -> auto("file:///shared/jobs")).getMessage();
    assertTrue(message.contains("file:///shared/jobs does not say where rank 0 is"), message);
    assertTrue(message.contains("set COLLECTIVES_LISTEN"), message);
  }

  @Test
  void aNameIsWaitedForAsLongAsRanksAre() {
    Duration wait = Duration.ofMillis(500);
    long start = System.nanoTime();
    String message =
        assertThrows(
                JoinException.class,
                () -> ListenAddress.of(auto("tcp://no-such-host.invalid:1", wait)))
            .getMessage();
    assertTrue(message.contains("no-such-host.invalid"), message);
    assertTrue(System.nanoTime() - start >= wait.toNanos(), "at once");
  }

  private static InetAddress auto(String place) {
    return ListenAddress.of(auto(place, Duration.ofSeconds(20)));
  }

  private static JobSettings auto(String place, Duration wait) {
    return settings(place).withListen("auto", 0).withJoinTimeout(wait);
  }

  private static JobSettings settings(String place) {
    return JobSettings.of(1, 2, URI.create(place));
  }
}
