package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.CallSettings;
import io.collectives.CollectiveHandle;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.Mesh;
import io.collectives.ModelParallel;
import io.collectives.ModelParallelMesh;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
class ModelParallelTest {
  private static final long SEED = Long.getLong("collectives.seed", 20_261_120L);
  private static final int COUNT = 700;
  private static final int CALLS = 5;

  /** Calls on all groups at once, in another order on every rank, none of which waits for ever. */
  @ParameterizedTest
  @CsvSource({"4,2,2,true", "4,2,1,true", "4,2,4,false", "6,1,3,true", "1,4,1,false"})
  void groupsAreIndependent(int x, int y, int ways, boolean wrap) throws Exception {
    ModelParallelMesh mesh = new ModelParallelMesh(new Mesh(x, y, wrap, wrap), ways);
    int ranks = x * y;
    CallSettings settings =
        CallSettings.defaults().withFrameLength(256).withTimeout(Duration.ofSeconds(40));
    List<Communicator> worlds = Collectives.inProcess(ranks, settings);
    ExecutorService threads = Executors.newFixedThreadPool(ranks);
    try {
      List<Future<?>> ends = new ArrayList<>();
      for (Communicator world : worlds) {
        ends.add(threads.submit(() -> callAll(world, mesh)));
      }
      for (Future<?> end : ends) {
        end.get(50, TimeUnit.SECONDS);
      }
    } finally {
      worlds.forEach(Communicator::close);
      threads.shutdownNow();
    }
  }

  private static void callAll(Communicator world, ModelParallelMesh mesh) {
    int rank = world.rank();
    try (ModelParallel groups = ModelParallel.of(world, mesh)) {
      List<Communicator> all =
          List.of(groups.modelGroup(), groups.column(), groups.stridedRow(), groups.replicas());
      List<int[]> members =
          List.of(
              mesh.modelGroup(rank),
              mesh.columnGroup(rank),
              mesh.stridedRowGroup(rank),
              mesh.replicaGroup(rank));
      // Each group has its own calls in order; which group is next is another matter on each rank.
      List<Integer> turns = new ArrayList<>();
      for (int call = 0; call < CALLS; call++) {
        turns.addAll(List.of(0, 1, 2, 3));
      }
      Collections.shuffle(turns, new Random(SEED + rank));
      int[] made = new int[4];
      List<CollectiveHandle> handles = new ArrayList<>();
      long[][][] buffers = new long[4][CALLS][COUNT];
      for (int group : turns) {
        int call = made[group]++;
        long[] buffer = buffers[group][call];
        Arrays.fill(buffer, rank + 100L * call);
        Payload payload = Payload.of(buffer);
        handles.add(
            group == 3
                ? groups.allReduceGradientsAsync(payload, ReduceOp.SUM)
                : all.get(group).async().allReduce(payload, ReduceOp.SUM));
      }
      Collections.shuffle(handles, new Random(SEED - rank));
      handles.forEach(CollectiveHandle::await);
      for (int group = 0; group < 4; group++) {
        int[] of = members.get(group);
        int[] actual =
            IntStream.range(0, all.get(group).size()).map(all.get(group)::worldRank).toArray();
        assertArrayEquals(of, actual);
        for (int call = 0; call < CALLS; call++) {
          long sum = IntStream.of(of).sum() + 100L * call * of.length;
          long[] expected = new long[COUNT];
          Arrays.fill(expected, sum);
          assertArrayEquals(expected, buffers[group][call], "rank " + rank + ", group " + group);
        }
      }
      long[] last = {rank};
      groups.allReduceGradients(Payload.of(last), ReduceOp.MAX);
      assertEquals(IntStream.of(members.get(3)).max().getAsInt(), last[0]);
      assertTrue(groups.replicas().toString().contains("Torus[mesh=" + mesh.replicaMesh() + "]"));
      assertEquals(mesh, groups.mesh());
    }
  }

  @Test
  void aMeshMustHaveAPlaceForEachRank() {
    try (Communicator alone = Collectives.inProcess(1, CallSettings.defaults()).get(0)) {
      ModelParallelMesh mesh = new ModelParallelMesh(Mesh.torus(2, 1), 2);
      assertThrows(IllegalArgumentException.class, () -> ModelParallel.of(alone, mesh));
    }
  }
}
