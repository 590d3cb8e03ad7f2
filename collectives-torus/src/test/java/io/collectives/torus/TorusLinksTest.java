package io.collectives.torus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collective;
import io.collectives.Mesh;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Each link of a torus carries its share, each way. */
@Tag("once")
class TorusLinksTest {

  private static Plan plan(Mesh mesh, Collective collective) {
    return TorusPlan.of(mesh, PlanRequest.of(collective, mesh.ranks()));
  }

  /**
   * The documented bytes of each dimension, in 2XYths of M: half of them each way where the
   * dimension is closed. A line carries from both ends what the places beyond have to get.
   */
  @ParameterizedTest
  @EnumSource(names = {"ALL_REDUCE", "REDUCE_SCATTER", "ALL_GATHER"})
  void eachLinkCarriesItsPartOfTheDocumentedBytes(Collective collective) {
    TorusPlanProviderTest.meshes()
        .forEach(
            mesh -> {
              Plan plan = plan(mesh, collective);
              Crossed crossed = Crossed.of(plan, mesh);
              boolean sum = collective == Collective.ALL_REDUCE;
              int sharesX = sum ? mesh.y() + 1 : 1;
              int sharesY = sum ? mesh.x() + 1 : mesh.x();
              assertEachWay(plan, crossed, Crossed.X_UP, sharesX, mesh.x(), mesh.wrapX());
              assertEachWay(plan, crossed, Crossed.Y_UP, sharesY, mesh.y(), mesh.wrapY());
            });
  }

  /** A line has no link upwards from its last place, and none downwards from its first. */
  private static void assertEachWay(
      Plan plan, Crossed crossed, int up, int shares, int places, boolean wraps) {
    Mesh mesh = crossed.mesh();
    boolean closed = wraps && places > 2;
    for (int rank = 0; rank < mesh.ranks(); rank++) {
      int place = up == Crossed.X_UP ? rank % mesh.x() : rank / mesh.x();
      for (int way = 0; way < 2; way++) {
        int behind = way == 0 ? place + 1 : places - place;
        long onLine =
            behind == places
                ? 0
                : switch (plan.collective()) {
                  case REDUCE_SCATTER -> 2L * (places - behind);
                  case ALL_GATHER -> 2L * behind;
                  default -> places;
                };
        assertEquals(
            shares * (closed ? places - 1 : onLine) * plan.chunks(),
            2L * mesh.ranks() * crossed.chunks(up + way)[rank],
            plan + " on " + mesh + ", direction " + (up + way) + " from rank " + rank);
      }
    }
  }

  /** Four flows that never meet, so that no link has to carry two things, nor waits for any. */
  @Test
  void onASquareTorusEveryLinkCarriesOneFrameInEveryRound() {
    for (int side = 3; side <= 9; side++) {
      Mesh mesh = Mesh.torus(side, side);
      Plan plan = plan(mesh, Collective.ALL_REDUCE);
      for (int round = 0; round < 4 * (side - 1); round++) {
        int[][] frames = new int[mesh.ranks()][mesh.ranks()];
        int used = 0;
        for (int lane = 0; lane < plan.lanes(); lane++) {
          int[] count = new int[1];
          plan.transfers(
              lane,
              round,
              (from, to, first, chunks, effect) -> {
                assertEquals(1, ++frames[from][to], () -> from + " to " + to + " on " + mesh);
                count[0]++;
              });
          used += count[0];
        }
        assertEquals(4 * mesh.ranks(), used, "all links of all ranks");
      }
    }
  }

  /** Whichever lane it is of, so that the second dimension takes half of the time, too. */
  @ParameterizedTest
  @EnumSource(names = {"REDUCE_SCATTER", "ALL_GATHER"})
  void theSecondDimensionOfADealtPayloadCarriesOneChunkEachWayInARound(Collective collective) {
    for (int x = 3; x <= 9; x++) {
      for (int y = 1; y <= 7; y++) {
        for (boolean wrapY : new boolean[] {false, true}) {
          Mesh mesh = new Mesh(x, y, true, wrapY);
          Plan plan = plan(mesh, collective);
          int start = collective == Collective.REDUCE_SCATTER ? y - 1 : 0;
          for (int round = start; round < start + x - 1; round++) {
            Crossed crossed = Crossed.none(mesh);
            for (int lane = 0; lane < plan.lanes(); lane++) {
              crossed.add(plan, lane, round);
            }
            for (int rank = 0; rank < mesh.ranks(); rank++) {
              assertEquals(1, crossed.chunks(Crossed.X_UP)[rank], mesh::toString);
              assertEquals(1, crossed.chunks(Crossed.X_DOWN)[rank], mesh::toString);
            }
          }
        }
      }
    }
  }

  /** A lane moves one range along the first dimension, so one frame. */
  @ParameterizedTest
  @EnumSource(names = {"REDUCE_SCATTER", "ALL_GATHER"})
  void halvesOfTheFirstDimensionAreOneFrameEach(Collective collective) {
    for (int x = 1; x <= 8; x++) {
      int width = x;
      Mesh mesh = Mesh.torus(width, 5);
      Plan plan = plan(mesh, collective);
      int start = collective == Collective.REDUCE_SCATTER ? 0 : width - 1;
      for (int round = start; round < start + 4; round++) {
        for (int lane = 0; lane < 2; lane++) {
          int rounds = round;
          assertEquals(mesh.ranks(), plan.transfers(lane, round).size());
          assertTrue(
              plan.transfers(lane, round).stream().allMatch(t -> t.chunkCount() == width),
              () -> mesh + ", round " + rounds);
        }
      }
    }
  }
}
