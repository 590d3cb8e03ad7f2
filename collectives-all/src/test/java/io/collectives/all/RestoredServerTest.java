package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.JobSettings;
import io.collectives.Payload;
import io.collectives.RankFailedException;
import io.collectives.ps.Roles;
import io.collectives.ps.store.ParameterStore;
import io.collectives.ps.store.Staleness;
import io.collectives.testkit.RankThreads;
import io.collectives.training.optimizer.Optimizers;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A server process of two is killed some steps after a checkpoint. Another takes its place, both
 * servers restore, and training ends with the bits of one that nothing has happened to.
 */
@Tag("process")
@Timeout(150) // Several share the processors.
@Tag("once")
@Tag("long")
class RestoredServerTest {
  private static final int WORKERS = 1;
  private static final int SERVERS = 2;
  private static final int KILLED = 2;
  private static final int COUNT = 20_011;
  private static final int STEPS = 40;

  @TempDir private Path directory;

  private final List<Process> processes = new ArrayList<>();

  /**
   * The program of each rank; its arguments are rank, place to meet, directory for checkpoints,
   * whether it is new.
   */
  static final class Program {
    public static void main(String[] arguments) {
      int rank = Integer.parseInt(arguments[0]);
      Path checkpoints = Path.of(arguments[2]);
      Communicator world =
          Collectives.join(JobSettings.of(rank, WORKERS + SERVERS, URI.create(arguments[1])));
      if (!arguments[3].equals("new")) {
        try {
          train(world, checkpoints, Integer.MAX_VALUE, System.out::println);
        } catch (RankFailedException e) {
          System.out.println("lost rank " + e.worldRank() + ".");
        }
        world = world.shrink().group().grow();
      }
      try (Communicator full = world) {
        System.out.println(train(full, checkpoints, STEPS, System.out::println) + ".");
      }
    }

    /** Returns the weights at the end. */
    static String train(
        Communicator world, Path checkpoints, int steps, Consumer<String> progress) {
      Roles roles = Roles.dedicated(WORKERS + SERVERS, SERVERS);
      try (ParameterStore store = ParameterStore.of(world, roles, Staleness.synchronous())) {
        if (!store.isWorker()) {
          boolean isRestored = store.restore(checkpoints);
          store.serve(Optimizers.momentum(step -> 0.01, 0.9), checkpoints);
          return isRestored ? "served what was restored" : "served";
        }
        float[] weights = new float[COUNT];
        float[] gradients = new float[COUNT];
        store.register("t", Payload.of(weights), Payload.of(gradients));
        store.pull();
        progress.accept("begins at " + store.clock() + ".");
        while (store.clock() < steps) {
          for (int i = 0; i < COUNT; i++) {
            gradients[i] = weights[i] + (i * 31 + store.clock() * 7 + world.rank()) % 17;
          }
          store.step();
          if (store.clock() == 20 && world.rank() == 0) {
            store.checkpoint();
            progress.accept("has a checkpoint.");
          }
        }
        store.finish();
        return "ends with " + Arrays.hashCode(weights);
      }
    }
  }

  @AfterEach
  void endAll() {
    processes.forEach(Process::destroyForcibly);
  }

  @Test
  void nothingIsLost() throws Exception {
    URI place = Files.createDirectory(directory.resolve("rendezvous")).toUri();
    int size = WORKERS + SERVERS;
    for (int rank = 0; rank < size; rank++) {
      processes.add(start(rank, place, "old"));
    }
    List<Communicator> unbroken = Collectives.inProcess(size);
    String[] expected = new String[size];
    RankThreads.run(
        unbroken,
        world ->
            expected[world.rank()] =
                Program.train(world, directory.resolve("unbroken"), STEPS, line -> {}));
    unbroken.forEach(Communicator::close);

    await(0, "has a checkpoint.");
    processes.get(KILLED).destroyForcibly().waitFor();
    processes.set(KILLED, start(KILLED, place, "new"));
    for (int rank = 0; rank < size; rank++) {
      String age = rank == KILLED ? "new" : "old";
      assertTrue(processes.get(rank).waitFor(90, TimeUnit.SECONDS), "rank " + rank + " hangs");
      String text = Files.readString(output(rank, age));
      assertEquals(0, processes.get(rank).exitValue(), text);
      if (rank < WORKERS) {
        assertTrue(text.contains("lost rank " + KILLED + "."), text);
        assertTrue(text.contains("begins at 20."), text);
        assertTrue(text.contains(expected[rank] + "."), expected[rank] + ", but " + text);
      } else {
        assertTrue(text.contains("served what was restored."), text);
      }
    }
  }

  private void await(int rank, String text) {
    Awaitility.await()
        .atMost(90, TimeUnit.SECONDS)
        .alias("rank " + rank + " to say '" + text + "'")
        .until(() -> Files.readString(output(rank, "old")).contains(text));
  }

  private Path output(int rank, String age) {
    return directory.resolve("rank-" + rank + "-" + age + ".txt");
  }

  private Process start(int rank, URI place, String age) throws IOException {
    Path checkpoints = directory.resolve("checkpoints");
    return JavaProcess.of(
            output(rank, age), Program.class, "" + rank, "" + place, "" + checkpoints, age)
        .start();
  }
}
