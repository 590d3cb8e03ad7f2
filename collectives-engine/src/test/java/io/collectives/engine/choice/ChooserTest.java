package io.collectives.engine.choice;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.engine.choice.AlgorithmTable.Row;
import io.collectives.plan.Additions;
import io.collectives.plan.PlanRequest;
import io.collectives.spi.Algorithms;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Tests the look-up in tables, without the module of parameter servers. */
class ChooserTest {
  private static final Algorithms ALGORITHMS = Algorithms.onClassPath();
  private static final long MIB = 1 << 20;

  private static Chooser chooser(Placement placement, int ranks, List<Row> rows, Locality... more) {
    Set<Locality> traits = EnumSet.of(placement.locality());
    traits.addAll(List.of(more));
    return new Chooser(ALGORITHMS, placement, traits, ranks, BufferRows.ALL, rows);
  }

  private static Chooser shipped(Locality locality, int ranks, Locality... more) {
    List<Row> rows = AlgorithmTable.inOrder(List.of(), List.of());
    return chooser(new Placement(locality, ""), ranks, rows, more);
  }

  private static List<Row> rows(String rows) {
    return AlgorithmTable.parse(new Algorithm.Auto(rows, "here"), ALGORITHMS).rows();
  }

  private static String name(Chooser chooser, long bytes) {
    return chooser.choose(Collective.ALL_REDUCE, bytes, false).algorithm().name();
  }

  private static String nameInOrder(Chooser chooser, long bytes) {
    return chooser.choose(Collective.ALL_REDUCE, bytes, true).algorithm().name();
  }

  @Test
  void theFirstRowThatFitsCountsUpToBothItsEnds() {
    List<Row> rows =
        rows(
            "threads all-reduce:0-inf:swing; all-reduce 5-8:0-inf:swing; reduce:0-inf:swing;"
                + "all-reduce 4: 0-4K: exchange; all-reduce: 1K-64K: recursive-doubling,"
                + " 64K-1M: ring");
    Chooser chooser = chooser(new Placement(Locality.SOCKETS, ""), 4, rows);
    assertEquals("exchange", name(chooser, 0));
    assertEquals("exchange", name(chooser, 4096));
    assertEquals("recursive-doubling", name(chooser, 4097));
    assertEquals("recursive-doubling", name(chooser, 65_536));
    assertEquals("ring", name(chooser, 65_537));
    assertEquals("ring", name(chooser, MIB));
    assertEquals("direct", name(chooser, MIB + 1));
    assertNull(chooser.choose(Collective.ALL_REDUCE, MIB + 1, false).row());
    assertEquals(
        "all-reduce: 64K-1M: ring",
        String.valueOf(chooser.choose(Collective.ALL_REDUCE, MIB, false).row()));
    assertEquals("exchange", chooser.choose(Collective.BARRIER, 1 << 30, false).algorithm().name());
  }

  /** By all ranks alike: of an algorithm that is not for them, or that nobody plans. */
  @Test
  void whatCannotBeIsPassedOver() {
    List<Row> rows = AlgorithmTable.inOrder(rows("all-reduce: 0-inf: torus:4x2"), List.of());
    Placement sockets = new Placement(Locality.SOCKETS, "");
    assertEquals("torus:4x2", name(chooser(sockets, 8, rows), MIB));
    assertEquals("halving-doubling", name(chooser(sockets, 4, rows), MIB));
    // Without its module two servers are none.
    assertEquals("direct", name(shipped(Locality.THREADS, 8), 256 << 10));
    assertTrue(
        AlgorithmTable.SHIPPED.toString().contains("threads all-reduce 3-16: 6K-1536K: parameter"));
  }

  @Test
  void rowsOfTheUserGoBeforeMeasuredOnesAndTheseBeforeShippedOnes() {
    List<Row> users = rows("all-reduce: 0-16K: ring");
    List<Row> tuned = rows("sockets all-reduce 8: 0-64K: swing; threads all-reduce: 0-inf: swing");
    Placement sockets = new Placement(Locality.SOCKETS, "");
    Chooser chooser = chooser(sockets, 8, AlgorithmTable.inOrder(users, tuned));
    assertEquals("ring", name(chooser, 16 << 10));
    assertEquals("swing", name(chooser, 64 << 10));
    assertEquals("binomial-tree", name(chooser, 256 << 10));
    // What measuring tells nothing of.
    Chooser slots = chooser(sockets, 8, AlgorithmTable.inOrder(List.of(), tuned), Locality.SLOTS);
    assertEquals("exchange", name(slots, 2048));
    assertEquals("swing", name(slots, 2049));
  }

  @Test
  void whatMustMeetMeets() {
    for (Locality locality : Locality.values()) {
      for (int ranks : new int[] {2, 3, 4, 8, 9, 64, 65, 300}) {
        Chooser chooser = shipped(locality, ranks);
        for (Collective collective : List.of(Collective.ALL_REDUCE, Collective.REDUCE)) {
          for (long bytes : new long[] {0, 8, 3000, 64 << 10, MIB, 100 * MIB, Long.MAX_VALUE}) {
            Algorithm chosen = chooser.choose(collective, bytes, true).algorithm();
            assertTrue(
                ranks > 64
                    ? chosen.equals(Algorithm.direct())
                    : Additions.areAtOnce(
                        ALGORITHMS.plan(chosen, new PlanRequest(collective, ranks, 0))));
          }
        }
      }
    }
    assertEquals("exchange", nameInOrder(shipped(Locality.SOCKETS, 8), 8));
    assertEquals("direct", nameInOrder(shipped(Locality.SOCKETS, 8), MIB));
  }

  /** A hierarchy for hosts that have as many ranks; else what is best without one. */
  @Test
  void hostsHaveAMeshIfTheyAreAlike() {
    List<Row> rows = AlgorithmTable.inOrder(List.of(), List.of());
    Chooser even = chooser(new Placement(Locality.HOSTS, "4x2"), 8, rows);
    Chooser uneven = chooser(new Placement(Locality.HOSTS, ""), 7, rows);
    assertEquals("binomial-tree", name(even, 8));
    assertEquals("hierarchical:4x2", name(even, MIB));
    assertEquals("ring", name(uneven, MIB));
    assertEquals("binomial-tree", name(uneven, 8));
    for (Collective half : List.of(Collective.REDUCE_SCATTER, Collective.ALL_GATHER)) {
      assertEquals("hierarchical:4x2", even.choose(half, MIB, false).algorithm().name());
      assertEquals("ring", uneven.choose(half, MIB, false).algorithm().name());
    }
    List<Row> own = rows("hosts all-reduce: 0-1M: torus, 1M-inf: torus:2x4");
    Chooser torus = chooser(new Placement(Locality.HOSTS, "4x2"), 8, own);
    assertEquals("torus:4x2", name(torus, 8));
    assertEquals("torus:2x4", name(torus, 2 * MIB));
    assertTrue(even.candidates().contains(Optional.of(Algorithm.named("hierarchical:4x2"))));
    assertFalse(uneven.candidates().stream().anyMatch(one -> one.toString().contains("hierar")));
  }

  @Test
  void slotsBuffersAndLeasesHaveRowsOfTheirOwn() {
    Chooser slots = shipped(Locality.SHARED_MEMORY, 4, Locality.SLOTS);
    assertEquals("exchange", name(slots, 2048));
    assertEquals("direct", name(slots, MIB));
    assertEquals("direct", name(slots, 16 * MIB));
    Chooser leases = shipped(Locality.SHARED_MEMORY, 4, Locality.SLOTS, Locality.LEASES);
    assertEquals("exchange", name(leases, 2048));
    assertEquals("direct", name(leases, 4096));
    assertEquals("direct", name(leases, 100 * MIB));
    assertEquals("ring", name(shipped(Locality.SHARED_MEMORY, 65, Locality.LEASES), MIB));
    Chooser buffers = shipped(Locality.SHARED_MEMORY, 8, Locality.SLOTS, Locality.BUFFERS);
    assertEquals("exchange", name(buffers, 24 << 10));
    assertEquals("direct", name(buffers, 64 << 10));
    assertEquals("ring", name(buffers, 8 * MIB));
    assertEquals("direct", name(shipped(Locality.SHARED_MEMORY, 3, Locality.BUFFERS), 4 << 10));
    Chooser both =
        shipped(Locality.SHARED_MEMORY, 4, Locality.SLOTS, Locality.BUFFERS, Locality.LEASES);
    assertEquals("exchange", name(both, 12 << 10));
    assertEquals("direct", name(both, 16 << 10));
  }

  /** A rank of a large group has few peers. */
  @Test
  void theShippedTableHasARowForEveryCall() {
    List<String> few =
        List.of("recursive-doubling", "binomial-tree", "halving-doubling", "ring", "hierarchical");
    for (Locality locality : Locality.values()) {
      for (int ranks : new int[] {1, 2, 3, 7, 8, 9, 16, 33, 64, 65, 4096}) {
        Chooser chooser = shipped(locality, ranks);
        for (Collective collective : Collective.values()) {
          for (long bytes = 1; bytes < 1L << 40; bytes *= 3) {
            Chooser.Choice choice = chooser.choose(collective, bytes, false);
            assertNotNull(choice.row());
            assertTrue(choice.index() < chooser.choices());
            boolean dealt =
                Set.of(Collective.GATHER, Collective.SCATTER, Collective.ALL_TO_ALL)
                    .contains(collective);
            assertTrue(ranks <= 64 || dealt || few.contains(choice.algorithm().family()));
          }
        }
      }
    }
  }

  /** The shipped rows say what tables of all algorithms told. */
  @Test
  void shippedRowsAreWhatTablesTold() {
    for (int ranks : new int[] {4, 8}) {
      Chooser sockets = shipped(Locality.SOCKETS, ranks);
      for (long bytes : new long[] {8, 1 << 10, 16 << 10, 64 << 10}) {
        assertEquals("binomial-tree", name(sockets, bytes));
      }
      assertEquals(ranks == 4 ? "halving-doubling" : "binomial-tree", name(sockets, MIB));
      assertEquals("halving-doubling", name(sockets, 16 * MIB));
      String large = ranks == 4 ? "direct" : "ring";
      assertEquals(large, name(shipped(Locality.SHARED_MEMORY, ranks), 100 * MIB));
      assertEquals("direct", name(shipped(Locality.THREADS, ranks), MIB));
    }
  }

  /** A look-up allocates nothing; SteadyStateAllocationTest tries the same in a job. */
  @Test
  void aChoiceIsTheSameObjectEachTime() {
    Chooser chooser = shipped(Locality.SOCKETS, 8);
    Chooser.Choice first = chooser.choose(Collective.ALL_REDUCE, 100, false);
    assertTrue(first == chooser.choose(Collective.ALL_REDUCE, 200, false));
  }
}
