package io.collectives.torus;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.collectives.Mesh;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.Transfer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntUnaryOperator;
import org.junit.jupiter.api.Test;

/** Who owns which chunk, in which order it is added up, and which links the lanes use. */
class OwnershipTest {
  private static final Mesh LINES = new Mesh(5, 3, false, false);

  /** The rank at which the last reduction of each chunk arrives. */
  private static Map<Integer, Integer> owners(Plan plan) {
    Map<Integer, Integer> owners = new HashMap<>();
    for (int lane = 0; lane < plan.lanes(); lane++) {
      for (int round = 0; round < plan.rounds(lane); round++) {
        for (Transfer t : plan.transfers(lane, round)) {
          for (int i = 0; t.effect() == Effect.REDUCE && i < t.chunkCount(); i++) {
            owners.put(t.firstChunk() + i, t.to());
          }
        }
      }
    }
    return owners;
  }

  private static void assertOwners(Plan plan, IntUnaryOperator ownerOfChunk) {
    Map<Integer, Integer> owners = owners(plan);
    for (int chunk = 0; chunk < plan.chunks(); chunk++) {
      assertEquals(ownerOfChunk.applyAsInt(chunk), owners.get(chunk), "chunk " + chunk);
    }
  }

  @Test
  void ranksOwnTheDocumentedChunks() {
    assertOwners(RingPlan.allReduce(7), chunk -> chunk);
    assertOwners(DirectPlan.allReduce(7), chunk -> chunk);
    assertOwners(BidirectionalRingPlan.allReduce(7), chunk -> chunk / 2);
    for (Mesh mesh : List.of(Mesh.torus(5, 3), new Mesh(5, 3, false, true), LINES)) {
      assertOwners(
          TorusPlan.allReduce(mesh),
          chunk -> chunk < 15 ? chunk : mesh.rankAt((chunk - 15) / 3, (chunk - 15) % 3));
    }
    assertOwners(ShortestWayRingPlan.allReduce(7), chunk -> chunk / 2);
    assertOwners(ShortestWayRingPlan.allReduce(8), chunk -> chunk / 2);
    assertOwners(HalvingDoublingPlan.allReduce(8), chunk -> chunk);
    assertOwners(HalvingDoublingPlan.allReduce(13), chunk -> chunk);
    assertOwners(DoubleBinaryTreePlan.allReduce(13), chunk -> chunk == 0 ? 7 : 8);
    assertOwners(DoubleBinaryTreePlan.allReduce(14), chunk -> chunk == 0 ? 7 : 6);
    assertOwners(DoubleBinaryTreePlan.allReduce(8), chunk -> chunk == 0 ? 7 : 0);
  }

  @Test
  void aRingAddsAChunkFromTheRankAfterItsOwnerRound() {
    Plan plan = RingPlan.allReduce(5);
    for (int round = 0; round < 4; round++) {
      for (Transfer t : plan.transfers(0, round)) {
        assertEquals((t.firstChunk() + 1 + round) % 5, t.from());
        assertEquals((t.from() + 1) % 5, t.to());
      }
    }
  }

  @Test
  void lanesShareNoLinkOfThreePlacesOrMore() {
    assertDisjointLinks(BidirectionalRingPlan.allReduce(3));
    assertDisjointLinks(BidirectionalRingPlan.allReduce(8));
    assertDisjointLinks(TorusPlan.allReduce(Mesh.torus(3, 3)));
    assertDisjointLinks(TorusPlan.allReduce(LINES));
    assertDisjointLinks(TorusPlan.allReduce(Mesh.torus(7, 4)));
    assertDisjointLinks(TorusPlan.allReduce(Mesh.torus(1, 9)));
  }

  @Test
  void ranksSpeakWithNeighboursOnly() {
    Mesh mesh = Mesh.torus(6, 4);
    Plan plan = TorusPlan.allReduce(mesh);
    for (int lane = 0; lane < 2; lane++) {
      for (int round = 0; round < plan.rounds(lane); round++) {
        for (Transfer t : plan.transfers(lane, round)) {
          int across = Math.floorMod(t.to() % 6 - t.from() % 6, 6);
          int down = Math.floorMod(t.to() / 6 - t.from() / 6, 4);
          assertTrue(
              across == 0 && (down == 1 || down == 3) || down == 0 && (across == 1 || across == 5),
              t::toString);
        }
      }
    }
  }

  /**
   * A dimension that wraps has links between neighbours, modulo its size; one that does not is a
   * line, whose rings are folded.
   */
  @Test
  void noTransferUsesALinkThatTheMeshLacks() {
    for (int x = 1; x <= 9; x++) {
      for (int y = 1; y <= 9; y++) {
        assertLinksExist(Mesh.torus(x, y));
        assertLinksExist(new Mesh(x, y, true, false));
        assertLinksExist(new Mesh(x, y, false, true));
        assertLinksExist(new Mesh(x, y, false, false));
      }
    }
    assertLinksExist(new Mesh(128, 32, false, true));
  }

  private static void assertLinksExist(Mesh mesh) {
    Plan plan = TorusPlan.allReduce(mesh);
    for (int lane = 0; lane < plan.lanes(); lane++) {
      for (int round = 0; round < plan.rounds(lane); round++) {
        plan.transfers(
            lane,
            round,
            (from, to, first, count, effect) -> {
              int across = to % mesh.x() - from % mesh.x();
              int down = to / mesh.x() - from / mesh.x();
              if (!(across == 0 && reaches(down, mesh.y(), mesh.wrapY())
                  || down == 0 && reaches(across, mesh.x(), mesh.wrapX()))) {
                fail("on " + mesh + " rank " + from + " sends to rank " + to);
              }
            });
      }
    }
  }

  private static boolean reaches(int distance, int places, boolean wraps) {
    int ahead = Math.floorMod(distance, places);
    return wraps ? ahead == 1 || ahead == places - 1 : distance != 0 && Math.abs(distance) <= 2;
  }

  /** A frame to a place two away passes both links between. */
  @Test
  void aFoldedRingCrossesEachLinkOfItsLineOnceEachWayInARound() {
    for (int places = 2; places <= 9; places++) {
      Plan plan = TorusPlan.allReduce(new Mesh(places, 1, false, true));
      for (int lane = 0; lane < 2; lane++) {
        for (int round = 0; round < plan.rounds(lane); round++) {
          int[] up = new int[places - 1];
          int[] down = new int[places - 1];
          for (Transfer t : plan.transfers(lane, round)) {
            for (int link = Math.min(t.from(), t.to()); link < Math.max(t.from(), t.to()); link++) {
              (t.from() < t.to() ? up : down)[link]++;
            }
          }
          int[] once = new int[places - 1];
          Arrays.fill(once, 1);
          assertArrayEquals(once, up);
          assertArrayEquals(once, down);
        }
      }
    }
  }

  /** An inner node is one that others send their sums to. */
  @Test
  void everyRankIsALeafOfOneOfTwoTrees() {
    for (int n = 2; n <= 64; n++) {
      Plan plan = DoubleBinaryTreePlan.allReduce(n);
      int[] inner = new int[n];
      for (int lane = 0; lane < 2; lane++) {
        int[] children = new int[n];
        for (int round = 0; round < plan.rounds(lane); round++) {
          for (Transfer t : plan.transfers(lane, round)) {
            if (t.effect() == Effect.REDUCE) {
              children[t.to()]++;
            }
          }
        }
        for (int rank = 0; rank < n; rank++) {
          assertTrue(children[rank] <= 2, "the trees are binary");
          inner[rank] += children[rank] > 0 ? 1 : 0;
        }
      }
      for (int rank = 0; rank < n; rank++) {
        assertEquals(n % 2 == 1 && rank == 0 ? 0 : 1, inner[rank], "rank " + rank + " of " + n);
      }
    }
  }

  /** Each goes the shorter way: no contribution is on the way for more than half of the ring. */
  @Test
  void contributionsToAShortestWayRingComeFromBothSides() {
    for (int n = 3; n <= 12; n++) {
      Plan plan = ShortestWayRingPlan.allReduce(n);
      int[] hops = new int[2 * n];
      for (int round = 0; round < plan.rounds(0); round++) {
        for (Transfer t : plan.transfers(0, round)) {
          int owner = t.firstChunk() / 2;
          int rank = t.effect() == Effect.REDUCE ? t.from() : t.to();
          int inner = t.effect() == Effect.REDUCE ? t.to() : t.from();
          assertEquals(away(rank, owner, n), away(inner, owner, n) + 1, t::toString);
          for (int i = 0; i < t.chunkCount(); i++) {
            hops[t.firstChunk() + i]++;
          }
        }
      }
      for (int chunk = 0; chunk < 2 * n; chunk++) {
        assertEquals(2 * (n - 1), hops[chunk]);
      }
    }
  }

  private static int away(int rank, int owner, int ranks) {
    int ahead = Math.floorMod(rank - owner, ranks);
    return Math.min(ahead, ranks - ahead);
  }

  private static void assertDisjointLinks(Plan plan) {
    Set<List<Integer>> links = new HashSet<>();
    for (int lane = 0; lane < plan.lanes(); lane++) {
      Set<List<Integer>> ofLane = new HashSet<>();
      for (int round = 0; round < plan.rounds(lane); round++) {
        plan.transfers(lane, round).forEach(t -> ofLane.add(List.of(t.from(), t.to())));
      }
      for (List<Integer> link : ofLane) {
        assertTrue(links.add(link), () -> "two lanes use the link " + link);
      }
    }
  }
}
