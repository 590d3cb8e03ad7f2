package io.collectives.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class MediumTest {
  private static final long MIB = 1 << 20;

  /** Whoever else there is must lead. */
  @Test
  void ringsOfProcessesThatShareMemoryAreBeatenByFarOnly() {
    for (int ranks : new int[] {4, 6}) {
      assertEquals(1, Medium.SHARED_MEMORY.lead(Chooser.RING, ranks, MIB));
      assertEquals(1, Medium.SHARED_MEMORY.lead(Chooser.RING, ranks, 8));
      assertTrue(Medium.SHARED_MEMORY.lead(Chooser.HALVING_DOUBLING, ranks, MIB) > 1);
      assertEquals(1, Medium.SHARED_MEMORY.lead(Chooser.HALVING_DOUBLING, ranks, MIB / 2));
    }
  }

  /** Up to the middle of the octaves between 64 and 256 KiB. */
  @Test
  void treesOverSocketsAreBeatenByFarOnlyWhereMessagesCount() {
    for (int ranks : new int[] {3, 6, 8}) {
      assertEquals(1, Medium.SOCKETS.lead(Chooser.BINOMIAL_TREE, ranks, 8));
      assertTrue(Medium.SOCKETS.lead(Chooser.EXCHANGE, ranks, 8) > 1);
      assertTrue(Medium.SOCKETS.lead(Chooser.HALVING_DOUBLING, ranks, MIB / 16) > 1);
    }
    assertEquals(1, Medium.SOCKETS.lead(Chooser.RING, 6, MIB / 4));
  }

  /** Where bytes count, if it hands nothing over. */
  @Test
  void halvingAndDoublingOverSocketsIsBeatenByFarOnly() {
    assertEquals(1, Medium.SOCKETS.lead(Chooser.HALVING_DOUBLING, 8, MIB));
    assertTrue(Medium.SOCKETS.lead(Chooser.RING, 8, MIB) > 1);
    assertTrue(Medium.SOCKETS.lead(Chooser.DIRECT, 8, MIB / 4) > 1);
    assertTrue(Medium.SOCKETS.lead(Chooser.BINOMIAL_TREE, 8, MIB / 4) > 1);
    assertEquals(1, Medium.SOCKETS.lead(Chooser.RING, 6, MIB));
  }

  /** Of any size; threads may choose them freely. */
  @Test
  void twoServersOfProcessesMustLeadOrAreNone() {
    for (long bytes : new long[] {8, MIB}) {
      assertEquals(1, Medium.THREADS.lead(Chooser.TWO_SERVERS, 8, bytes));
      assertEquals(1.5, Medium.SHARED_MEMORY.lead(Chooser.TWO_SERVERS, 8, bytes));
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
}
