package io.collectives.torus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collective;
import io.collectives.Mesh;
import io.collectives.ModelParallelMesh;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanFigures;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.PlanVerifier;
import org.junit.jupiter.api.Test;

/** Plans in the groups of a {@link ModelParallelMesh} (Kumar et al. 2021, figure 4). */
class StridedRingsTest {

  /**
   * The strided rings of a row that wraps, each with its shard's mth of M: 2(k-1) rounds of hops
   * over m links, and 2M(k-1)/k on each link of the row.
   */
  @Test
  void eachLinkOfARowCarriesTheDocumentedBytes() {
    for (int ways = 1; ways <= 4; ways++) {
      for (int k = 2; k <= 8; k++) {
        ModelParallelMesh mesh = new ModelParallelMesh(Mesh.torus(ways * k, 3), ways);
        Plan ring = RingPlan.of(PlanRequest.of(Collective.ALL_REDUCE, k));
        assertEquals(2 * (k - 1), PlanVerifier.verify(ring, 1, 0).rounds());
        int row = mesh.mesh().x();
        long[] chunksOnLink = new long[row];
        for (int shard = 0; shard < ways; shard++) {
          int[] group = mesh.stridedRowGroup(shard);
          for (int round = 0; round < ring.rounds(0); round++) {
            ring.transfers(
                0,
                round,
                (from, to, first, count, effect) -> {
                  int hop = Math.floorMod(group[to] - group[from], row);
                  assertEquals(mesh.ways(), hop);
                  for (int link = 0; link < hop; link++) {
                    chunksOnLink[(group[from] + link) % row] += count;
                  }
                });
          }
        }
        for (long chunks : chunksOnLink) {
          // A chunk is a kth of a shard's M/m.
          assertEquals(2L * ways * (k - 1), chunks, "2M(k-1)/k in chunks of M/(mk)");
        }
      }
    }
  }

  /** The gradients: a torus of columns and strided rows in each group of replicas. */
  @Test
  void replicasSumAlongColumnsAndStridedRows() {
    Mesh pod = new Mesh(16, 4, false, true);
    ModelParallelMesh mesh = new ModelParallelMesh(pod, 4);
    Mesh replicas = mesh.replicaMesh();
    Plan plan = TorusPlan.of(replicas, PlanRequest.of(Collective.ALL_REDUCE, replicas.ranks()));
    PlanFigures figures = PlanVerifier.verify(plan, replicas, 1, 0);
    assertEquals(2 * (4 - 1) + 2 * (4 - 1), figures.rounds());
    for (int shard = 0; shard < 4; shard++) {
      int[] group = mesh.replicaGroup(shard);
      for (int lane = 0; lane < plan.lanes(); lane++) {
        for (int round = 0; round < plan.rounds(lane); round++) {
          plan.transfers(
              lane,
              round,
              (from, to, first, count, effect) -> {
                int across = Math.abs(group[from] % 16 - group[to] % 16);
                int down = Math.floorMod(group[from] / 16 - group[to] / 16, 4);
                assertTrue(
                    across == 0 && (down == 1 || down == 3)
                        || down == 0 && (across == 4 || across == 8),
                    () -> group[from] + " to " + group[to]);
              });
        }
      }
    }
  }
}
