package io.collectives.torus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.collectives.Collective;
import io.collectives.Mesh;
import io.collectives.plan.DirectPlans;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.PlanVerifier;
import io.collectives.plan.Transfer;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.IntUnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Plans say which rank owns which chunk, in which order it is added up, and which links lanes use.
 */
@Tag("once")
class OwnershipTest {
  private static final Mesh LINES = new Mesh(5, 3, false, false);

  /**
   * The collectives that a torus plans for its links; the others go straight between any two ranks.
   */
  private static final Set<Collective> ON_MESHES =
      EnumSet.complementOf(
          EnumSet.of(Collective.GATHER, Collective.SCATTER, Collective.ALL_TO_ALL));

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

  private static PlanRequest allReduce(int ranks) {
    return PlanRequest.of(Collective.ALL_REDUCE, ranks);
  }

  private static Plan torus(Mesh mesh) {
    return TorusPlan.of(mesh, allReduce(mesh.ranks()));
  }

  private static void assertOwners(Plan plan, IntUnaryOperator ownerOfChunk) {
    Map<Integer, Integer> owners = owners(plan);
    for (int chunk = 0; chunk < plan.chunks(); chunk++) {
      assertEquals(ownerOfChunk.applyAsInt(chunk), owners.get(chunk), "chunk " + chunk);
    }
  }

  @Test
  void ranksOwnTheDocumentedChunks() {
    assertOwners(RingPlan.of(allReduce(7)), chunk -> chunk);
    assertOwners(DirectPlans.of(allReduce(7)), chunk -> chunk);
    assertOwners(BidirectionalRingPlan.of(allReduce(7)), chunk -> chunk / 2);
    for (Mesh mesh : List.of(Mesh.torus(5, 3), new Mesh(5, 3, false, true), LINES)) {
      Plan scatter = TorusPlan.of(mesh, PlanRequest.of(Collective.REDUCE_SCATTER, 15));
      assertOwners(scatter, mesh.equals(LINES) ? chunk -> chunk : chunk -> chunk / 2);
      Plan sum = torus(mesh);
      assertOwners(
          sum,
          chunk ->
              chunk < sum.chunks() / 2 ? chunk % 15 : mesh.rankAt(chunk % 15 / 3, chunk % 15 % 3));
    }
    assertOwners(ShortestWayRingPlan.of(allReduce(7)), chunk -> chunk / 2);
    assertOwners(ShortestWayRingPlan.of(allReduce(8)), chunk -> chunk / 2);
    assertOwners(HalvingDoublingPlan.of(allReduce(8)), chunk -> chunk);
    assertOwners(HalvingDoublingPlan.of(allReduce(13)), chunk -> chunk);
    assertOwners(DoubleBinaryTreePlan.of(allReduce(13)), chunk -> chunk == 0 ? 7 : 8);
    assertOwners(DoubleBinaryTreePlan.of(allReduce(14)), chunk -> chunk == 0 ? 7 : 6);
    assertOwners(DoubleBinaryTreePlan.of(allReduce(8)), chunk -> chunk == 0 ? 7 : 0);
  }

  @Test
  void aRingAddsAChunkFromTheRankAfterItsOwnerRound() {
    Plan plan = RingPlan.of(allReduce(5));
    for (int round = 0; round < 4; round++) {
      for (Transfer t : plan.transfers(0, round)) {
        assertEquals((t.firstChunk() + 1 + round) % 5, t.from());
        assertEquals((t.from() + 1) % 5, t.to());
      }
    }
  }

  @Test
  void lanesShareNoLinkOfThreePlacesOrMore() {
    assertDisjointLinks(BidirectionalRingPlan.of(allReduce(3)));
    assertDisjointLinks(BidirectionalRingPlan.of(allReduce(8)));
    assertDisjointLinks(torus(Mesh.torus(1, 9)));
    assertDisjointLinks(torus(Mesh.torus(9, 1)));
  }

  @Test
  void ranksSpeakWithNeighboursOnly() {
    Mesh mesh = Mesh.torus(6, 4);
    Plan plan = torus(mesh);
    for (int lane = 0; lane < plan.lanes(); lane++) {
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

  /** A dimension that wraps has links between neighbours, modulo its size. */
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
    assertLinksExist(new Mesh(32, 9, false, true));
    Mesh pod = new Mesh(128, 32, false, true);
    assertLinksExist(pod, torus(pod));
  }

  /** The verifier must find the same as a judge of this test's own. */
  private static void assertLinksExist(Mesh mesh) {
    for (Collective collective : ON_MESHES) {
      int last = mesh.ranks() - 1;
      for (int root : collective.rooted() ? new TreeSet<>(List.of(0, last / 2, last)) : Set.of(0)) {
        Plan plan = TorusPlan.of(mesh, new PlanRequest(collective, mesh.ranks(), root));
        assertLinksExist(mesh, plan);
        PlanVerifier.verify(plan, mesh, 1, 0);
      }
    }
  }

  private static void assertLinksExist(Mesh mesh, Plan plan) {
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
    return wraps ? ahead == 1 || ahead == places - 1 : Math.abs(distance) == 1;
  }

  /** The sum that has the longest way sets out first, so that all are complete in P-1 rounds. */
  @Test
  void aLineMovesSharesFromBothEndsOverOneLinkInARound() {
    for (int places = 2; places <= 9; places++) {
      Mesh line = new Mesh(places, 1, false, true);
      for (Collective half : List.of(Collective.REDUCE_SCATTER, Collective.ALL_GATHER)) {
        Plan plan = TorusPlan.of(line, PlanRequest.of(half, places));
        assertEquals(places - 1, plan.rounds(0));
        long[][] links = new long[places][places];
        for (int round = 0; round < plan.rounds(0); round++) {
          Set<List<Integer>> used = new HashSet<>();
          for (Transfer t : plan.transfers(0, round)) {
            assertEquals(1, Math.abs(t.from() - t.to()), t::toString);
            assertTrue(used.add(List.of(t.from(), t.to())), t::toString);
            int far = half == Collective.REDUCE_SCATTER ? t.from() : t.to();
            int left = half == Collective.REDUCE_SCATTER ? places - 1 - round : round + 1;
            assertEquals(left, Math.abs(t.firstChunk() - far), t::toString);
            links[t.from()][t.to()] += t.chunkCount();
          }
        }
        for (int i = 0; i < places - 1; i++) {
          boolean gathers = half == Collective.ALL_GATHER;
          assertEquals(gathers ? i + 1 : places - 1 - i, links[i][i + 1], "up");
          assertEquals(gathers ? places - 1 - i : i + 1, links[i + 1][i], "down");
        }
      }
    }
  }

  /** An inner node is one that others send their sums to. */
  @Test
  void everyRankIsALeafOfOneOfTwoTrees() {
    for (int n = 2; n <= 64; n++) {
      Plan plan = DoubleBinaryTreePlan.of(allReduce(n));
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
      Plan plan = ShortestWayRingPlan.of(allReduce(n));
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
