package io.collectives.engine.choice;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.CallSettings;
import io.collectives.engine.inprocess.InProcessFabric;
import io.collectives.internal.FrameCodec;
import io.collectives.spi.Transport;
import java.util.List;
import org.junit.jupiter.api.Test;

class LocalityTest {

  @Test
  void framesAreAsTheSettingsSayOrAsSuitsTheTransport() {
    CallSettings open = CallSettings.defaults();
    for (Locality locality : Locality.values()) {
      int suits = locality.resolved(open).frameLength();
      assertTrue(suits >= 128 << 10, locality + ": " + suits);
      assertTrue(
          locality == Locality.THREADS || suits <= open.frameLimit(), locality + ": " + suits);
      assertEquals(1000, locality.resolved(open.withFrameLength(1000)).frameLength());
    }
    assertEquals(512 << 10, Locality.THREADS.resolved(open).frameLength());
    // With its header, three full segments of loopback but for less than a cache line.
    int length = Locality.SOCKETS.resolved(open).frameLength() + FrameCodec.HEADER_LENGTH;
    assertTrue(length <= 3 * 65_483 && length + 64 > 3 * 65_483, "a frame of " + length);
    assertEquals(1000, open.withFrameLength(1000).frameLimit());
  }

  @Test
  void hostsCountOnlyIfSomeHaveSeveralRanks() {
    Transport transport = new InProcessFabric(6).transport(0);
    int[] hosts = {0, 0, 0, 1, 1, 1};
    int[] all = {0, 1, 2, 3, 4, 5};
    assertEquals(new Placement(Locality.HOSTS, "3x2"), Placement.of(transport, hosts, all));
    assertEquals(new Placement(Locality.THREADS, ""), Placement.of(transport, new int[6], all));
    assertEquals(new Placement(Locality.THREADS, ""), Placement.of(transport, new int[0], all));
    assertEquals(
        new Placement(Locality.SHARED_MEMORY, ""),
        Placement.of(transport, hosts, new int[] {0, 2}));
    assertEquals(
        new Placement(Locality.SOCKETS, ""), Placement.of(transport, hosts, new int[] {0, 5}));
    assertEquals(
        new Placement(Locality.HOSTS, "2x2"),
        Placement.of(transport, hosts, new int[] {5, 4, 0, 1}));
    for (int[] uneven : List.of(new int[] {0, 1, 3}, new int[] {0, 3, 1, 4})) {
      assertEquals(new Placement(Locality.HOSTS, ""), Placement.of(transport, hosts, uneven));
    }
  }
}
