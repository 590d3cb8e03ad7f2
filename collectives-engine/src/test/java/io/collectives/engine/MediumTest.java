package io.collectives.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.CallSettings;
import io.collectives.Collective;
import io.collectives.internal.FrameCodec;
import java.util.List;
import org.junit.jupiter.api.Test;

class MediumTest {
  private static final long MIB = 1 << 20;

  @Test
  void framesAreAsTheSettingsSayOrAsSuitsTheTransport() {
    CallSettings open = CallSettings.defaults();
    for (Medium medium : Medium.values()) {
      int suits = medium.resolved(open).frameLength();
      assertTrue(suits >= 128 << 10 && suits <= open.frameLimit(), medium + ": " + suits);
      assertEquals(1000, medium.resolved(open.withFrameLength(1000)).frameLength());
    }
    // With its header, three full segments of loopback but for less than a cache line.
    int length = Medium.SOCKETS.resolved(open).frameLength() + FrameCodec.HEADER_LENGTH;
    assertTrue(length <= 3 * 65_483 && length + 64 > 3 * 65_483, "a frame of " + length);
    assertEquals(1000, open.withFrameLength(1000).frameLimit());
  }

  /** Whoever else there is must lead. */
  @Test
  void ringsOfProcessesThatShareMemoryAreBeatenByFarOnly() {
    for (int ranks : new int[] {4, 6}) {
      assertEquals(1, lead(Medium.SHARED_MEMORY, Chooser.RING, ranks, MIB));
      assertEquals(1, lead(Medium.SHARED_MEMORY, Chooser.RING, ranks, 8));
      assertTrue(lead(Medium.SHARED_MEMORY, Chooser.HALVING_DOUBLING, ranks, MIB) > 1);
      assertEquals(1, lead(Medium.SHARED_MEMORY, Chooser.HALVING_DOUBLING, ranks, MIB / 2));
    }
  }

  /** Up to the middle of the octaves between 64 and 256 KiB; of more than 4 ranks, to 1 MiB. */
  @Test
  void treesOverSocketsAreBeatenByFarOnlyWhereMessagesCount() {
    for (int ranks : new int[] {3, 6, 8}) {
      assertEquals(1, lead(Medium.SOCKETS, Chooser.BINOMIAL_TREE, ranks, 8));
      assertTrue(lead(Medium.SOCKETS, Chooser.EXCHANGE, ranks, 8) > 1);
      assertTrue(lead(Medium.SOCKETS, Chooser.HALVING_DOUBLING, ranks, MIB / 16) > 1);
    }
    assertEquals(1, lead(Medium.SOCKETS, Chooser.RING, 3, MIB / 4));
    assertTrue(lead(Medium.SOCKETS, Chooser.HALVING_DOUBLING, 8, MIB) > 1);
  }

  /** Where bytes count, if it hands nothing over. */
  @Test
  void halvingAndDoublingOverSocketsIsBeatenByFarOnly() {
    assertEquals(1, lead(Medium.SOCKETS, Chooser.HALVING_DOUBLING, 4, MIB));
    assertTrue(lead(Medium.SOCKETS, Chooser.RING, 4, MIB) > 1);
    assertTrue(lead(Medium.SOCKETS, Chooser.DIRECT, 4, MIB / 4) > 1);
    assertTrue(lead(Medium.SOCKETS, Chooser.BINOMIAL_TREE, 4, MIB / 4) > 1);
    assertTrue(lead(Medium.SOCKETS, Chooser.BINOMIAL_TREE, 8, 4 * MIB) > 1);
    assertEquals(1, lead(Medium.SOCKETS, Chooser.RING, 6, 4 * MIB));
  }

  /** Of any size; threads may choose them freely. */
  @Test
  void twoServersOfProcessesMustLeadOrAreNone() {
    for (long bytes : new long[] {8, MIB}) {
      assertEquals(1, lead(Medium.THREADS, Chooser.TWO_SERVERS, 8, bytes));
      assertEquals(1.5, lead(Medium.SHARED_MEMORY, Chooser.TWO_SERVERS, 8, bytes));
    }
    assertTrue(Medium.THREADS.isCandidate(Chooser.TWO_SERVERS));
    assertTrue(Medium.SHARED_MEMORY.isCandidate(Chooser.TWO_SERVERS));
    assertFalse(Medium.SOCKETS.isCandidate(Chooser.TWO_SERVERS));
    assertTrue(Medium.SOCKETS.isCandidate(Chooser.EXCHANGE));
  }

  @Test
  void onlyMoreThanTwoThreadsReduceDirectlyWhateverWasMeasured() {
    assertEquals(MIB, Medium.THREADS.directFrom(3));
    assertEquals(Long.MAX_VALUE, Medium.THREADS.directFrom(2));
    assertEquals(Long.MAX_VALUE, Medium.SHARED_MEMORY.directFrom(8));
    assertEquals(Long.MAX_VALUE, Medium.SOCKETS.directFrom(8));
    assertTrue(Medium.SHARED_MEMORY.broadcastsByTree(100 * MIB));
    assertTrue(Medium.SOCKETS.broadcastsByTree(MIB / 16));
    assertFalse(Medium.SOCKETS.broadcastsByTree(MIB / 4));
    assertFalse(Medium.THREADS.broadcastsByTree(8));
  }

  private static double lead(Medium medium, int candidate, int ranks, long bytes) {
    return medium.lead(Collective.ALL_REDUCE, candidate, ranks, bytes);
  }

  /** A tree has none. */
  @Test
  void partsOfAllReducesAreThoseOfHalvingAndDoubling() {
    for (Collective part : List.of(Collective.REDUCE_SCATTER, Collective.ALL_GATHER)) {
      assertEquals(1, Medium.SOCKETS.lead(part, Chooser.HALVING_DOUBLING, 8, MIB));
      assertTrue(Medium.SOCKETS.lead(part, Chooser.RING, 8, MIB) > 1);
      assertEquals(1, Medium.SOCKETS.lead(part, Chooser.RING, 8, 8));
    }
  }
}
