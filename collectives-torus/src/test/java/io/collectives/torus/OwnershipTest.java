package io.collectives.torus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Mesh;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.Transfer;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntUnaryOperator;
import org.junit.jupiter.api.Test;

/** Who owns which chunk, in which order it is added up, and which links the lanes use. */
class OwnershipTest {

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
    Mesh mesh = Mesh.torus(5, 3);
    assertOwners(
        TorusPlan.allReduce(mesh),
        chunk -> chunk < 15 ? chunk : mesh.rankAt((chunk - 15) / 3, (chunk - 15) % 3));
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
