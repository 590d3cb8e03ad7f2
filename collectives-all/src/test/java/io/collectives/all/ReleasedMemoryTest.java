package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.collectives.CallSettings;
import io.collectives.Communicator;
import io.collectives.FusionSettings;
import io.collectives.GradientReducer;
import io.collectives.Payload;
import io.collectives.PersistentCall;
import io.collectives.ReduceOp;
import java.lang.ref.WeakReference;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An open job keeps no memory of a call that has ended from the garbage collector. */
@Timeout(60)
class ReleasedMemoryTest {
  private static final int[] LENGTHS = {4, 4_000, 200_000};

  @TempDir Path directory;

  /** The arrays of calls, by what they were passed to. */
  private static final class Arrays {
    private final List<WeakReference<float[]>> made = new ArrayList<>();
    private final List<String> uses = new ArrayList<>();

    float[] array(String use, int length) {
      float[] array = new float[length];
      synchronized (this) {
        made.add(new WeakReference<>(array));
        uses.add(use + " of " + length);
      }
      return array;
    }

    Payload payload(String use, int length) {
      return Payload.of(array(use, length));
    }

    synchronized List<String> kept() {
      System.gc();
      List<String> kept = new ArrayList<>();
      for (int i = 0; i < made.size(); i++) {
        if (!made.get(i).refersTo(null)) {
          kept.add(uses.get(i));
        }
      }
      return kept;
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"inprocess", "shm", "tcp"})
  void arraysOfCallsThatHaveEndedAreCollected(String transport) throws Exception {
    List<Communicator> worlds = ThreadJobs.open(transport, 2, directory, CallSettings.defaults());
    Arrays arrays = new Arrays();
    try {
      ThreadJobs.run(
          worlds,
          world -> {
            for (int length : LENGTHS) {
              call(world, arrays, length);
            }
          });
      Awaitility.await()
          .pollInSameThread()
          .pollInterval(20, TimeUnit.MILLISECONDS)
          .atMost(10, TimeUnit.SECONDS)
          .untilAsserted(() -> assertEquals(List.of(), arrays.kept()));
    } finally {
      worlds.forEach(Communicator::close);
    }
  }

  private static void call(Communicator world, Arrays arrays, int length) {
    world.allReduce(arrays.array("all-reduce of an array", length), ReduceOp.SUM);
    world.allReduce(arrays.payload("all-reduce", length), ReduceOp.AVERAGE);
    world.allReduce(
        arrays.payload("input", length), arrays.payload("output", length), ReduceOp.SUM);
    world.async().allReduce(arrays.payload("asynchronous", length), ReduceOp.SUM).await();
    world.broadcast(arrays.payload("broadcast", length), 0);
    world.reduceScatter(
        arrays.payload("reduce-scatter", length),
        arrays.payload("reduce-scatter's output", length / 2),
        ReduceOp.SUM);
    world.allGather(
        arrays.payload("all-gather", length / 2), arrays.payload("all-gather's output", length));
    world.allReduce(
        Payload.of(List.of(arrays.payload("part", length), arrays.payload("part", 7))),
        ReduceOp.SUM);
    try (PersistentCall call =
        world.prepared().allReduce(arrays.payload("persistent call", length), ReduceOp.SUM)) {
      call.run();
      call.run();
    }
    try (GradientReducer reducer = GradientReducer.of(world, FusionSettings.defaults())) {
      GradientReducer.Tensor tensor = reducer.register("tensor", arrays.payload("reducer", length));
      for (int step = 0; step < 3; step++) {
        reducer.ready(tensor);
        reducer.await();
      }
    }
  }
}
