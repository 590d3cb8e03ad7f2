package io.collectives.djl;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.dataset.Batch;
import ai.djl.training.dataset.RandomAccessDataset;
import io.collectives.ReduceOp;
import io.collectives.bench.process.LaunchedJob;
import io.collectives.testkit.Faults;
import io.collectives.testkit.RankThreads;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Payloads and shards of two ranks that are threads, and checks of two processes. */
@Timeout(300)
class DataParallelListenerTest {
  static final List<String> JVM =
      List.of("-Xmx512m", "-Dai.djl.offline=true", "-DOPT_OUT_TRACKING=true");

  @BeforeAll
  static void stayOffline() {
    System.setProperty("ai.djl.offline", "true");
    System.setProperty("OPT_OUT_TRACKING", "true");
  }

  @Test
  void twoProcessesPassTheChecks() throws Exception {
    LaunchedJob.Program program = new LaunchedJob.Program(ListenerChecks.class, JVM, List.of());
    LaunchedJob job = LaunchedJob.run(2, List.of(), program, Duration.ofSeconds(250));
    assertEquals(0, job.status(), job::toString);
    assertEquals(2, job.lines().stream().filter(line -> line.endsWith("passed")).count());
  }

  private static void run(RankThreads.Body body) throws Exception {
    Faults.seed(1).run(2, body::run);
  }

  @Test
  void shardsAreDisjointAndOfOneSize() throws Exception {
    run(
        world -> {
          try (NDManager manager = NDManager.newBaseManager(Device.cpu());
              DataParallelListener parallel = new DataParallelListener(world)) {
            ArrayDataset all =
                new ArrayDataset.Builder()
                    .setData(manager.arange(7f))
                    .optLabels(manager.arange(7f))
                    .setSampling(2, false)
                    .build();
            RandomAccessDataset mine = parallel.shard(all);
            List<Float> seen = new ArrayList<>();
            List<Integer> sizes = new ArrayList<>();
            for (Batch batch : mine.getData(manager)) {
              sizes.add(batch.getSize());
              for (float value : batch.getData().head().toFloatArray()) {
                seen.add(value);
              }
              batch.close();
            }
            assertEquals(List.of(2, 1), sizes);
            assertEquals(world.rank() == 0 ? List.of(0f, 2f, 4f) : List.of(1f, 3f, 5f), seen);
          }
        });
  }

  @Test
  void payloadsAreTheMemoryOfArrays() throws Exception {
    run(
        world -> {
          try (NDManager manager = NDManager.newBaseManager(Device.cpu())) {
            NDArray array = manager.create(new float[] {1, 2, world.rank()});
            world.allReduce(ArrayPayload.of(array), ReduceOp.SUM);
            assertArrayEquals(new float[] {2, 4, 1}, array.toFloatArray());
            assertEquals(0, ArrayPayload.of(manager.create(new Shape(0))).count());
          }
        });
  }

  @Test
  void memoryThatCannotBeReducedIsRefused() {
    try (NDManager manager = NDManager.newBaseManager(Device.cpu())) {
      NDArray matrix = manager.create(new float[] {1, 2, 3, 4, 5, 6}, new Shape(2, 3));
      NDArray turned = matrix.transpose();
      IllegalArgumentException error =
          assertThrows(IllegalArgumentException.class, () -> ArrayPayload.of(turned));
      assertTrue(error.getMessage().contains("not contiguous"), error.getMessage());
      NDArray truth = matrix.gt(2);
      assertEquals(6, ArrayPayload.of(truth).count());
      assertFalse(truth.isEmpty());
    }
  }
}
