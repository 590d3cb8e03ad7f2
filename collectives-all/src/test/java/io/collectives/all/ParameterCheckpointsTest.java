package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.MismatchException;
import io.collectives.Payload;
import io.collectives.ps.Roles;
import io.collectives.ps.store.CheckpointException;
import io.collectives.ps.store.ParameterStore;
import io.collectives.ps.store.Staleness;
import io.collectives.testkit.RankThreads;
import io.collectives.training.optimizer.Optimizer;
import io.collectives.training.optimizer.Optimizers;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Servers begin again with what they wrote to files; files that have come to harm are refused. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
@Tag("once")
class ParameterCheckpointsTest {
  private static final CallSettings CALLS =
      CallSettings.defaults().withTimeout(Duration.ofSeconds(20));
  private static final int COUNT = 20_011;
  private static final int WORKERS = 2;
  private static final Optimizer ADAM = Optimizers.adamW(step -> 0.01, 0.01);

  @TempDir private Path directory;

  /**
   * Trains in a job of its own and leaves without finishing, as if it were killed.
   *
   * @param checkpoints of each server
   * @param every worker 0 asks for a checkpoint after so many steps
   * @return worker 0's weights
   */
  private static float[] train(
      int servers, Function<Integer, Path> checkpoints, int steps, int every) throws Exception {
    float[] last = new float[COUNT];
    List<Communicator> worlds = Collectives.inProcess(WORKERS + servers, CALLS);
    try {
      RankThreads.outcomes(
          worlds,
          world -> {
            Roles roles = Roles.dedicated(world.size(), servers);
            try (ParameterStore store = ParameterStore.of(world, roles, Staleness.synchronous())) {
              if (!store.isWorker()) {
                Path place = checkpoints.apply(world.rank() - WORKERS);
                store.restore(place);
                store.serve(ADAM, place);
                return;
              }
              Communicator all = world.group(0, 1);
              float[] weights = new float[COUNT];
              float[] gradients = new float[COUNT];
              store.register("t", Payload.of(weights), Payload.of(gradients));
              store.pull();
              while (store.clock() < steps) {
                for (int i = 0; i < COUNT; i++) {
                  gradients[i] = weights[i] - (i * 31 + store.clock() * 7 + world.rank()) % 17;
                }
                store.step();
                if (world.rank() == 0 && store.clock() % every == 0) {
                  store.checkpoint();
                }
              }
              if (world.rank() == 0) {
                System.arraycopy(weights, 0, last, 0, COUNT);
              }
              all.barrier(); // Who leaves before the others are done ends the store for them.
            }
          });
    } finally {
      worlds.forEach(Communicator::close);
    }
    return last;
  }

  /**
   * Returns what the first server throws when it restores; a job of so many servers, and of no
   * workers.
   */
  private static @Nullable Throwable restore(int servers, Function<Integer, Path> checkpoints)
      throws Exception {
    List<Communicator> worlds = Collectives.inProcess(servers + 1, CALLS);
    try {
      List<@Nullable Throwable> outcomes =
          RankThreads.outcomes(
              worlds,
              world -> {
                try (ParameterStore store =
                    ParameterStore.of(
                        world, Roles.dedicated(servers + 1, servers), Staleness.synchronous())) {
                  if (!store.isWorker()) {
                    assertTrue(store.restore(checkpoints.apply(world.rank() - 1)));
                  }
                }
              });
      for (int server = 1; server <= servers; server++) {
        assertEquals(
            outcomes.get(1) == null, outcomes.get(server) == null, "all or none: " + outcomes);
      }
      return outcomes.get(1);
    } finally {
      worlds.forEach(Communicator::close);
    }
  }

  /** All files, in the order of their names. */
  private List<Path> files() throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return files.sorted().toList();
    }
  }

  /** No update is lost, with as many servers and with others: the same bits as without a break. */
  @Test
  void trainingGoesOnWithTheSameBits() throws Exception {
    float[] unbroken = train(2, server -> directory.resolve("unbroken"), 12, 100);
    for (int servers : new int[] {2, 1, 3}) {
      Path place = directory.resolve("broken-" + servers);
      train(2, server -> place, 7, 3); // Step 7 is lost with the servers.
      assertArrayEquals(unbroken, train(servers, server -> place, 12, 100), servers + " servers");
    }
    // A directory for each server is enough for as many servers.
    Function<Integer, Path> own = server -> directory.resolve("own-" + server);
    train(2, own, 7, 3);
    assertArrayEquals(unbroken, train(2, own, 12, 100));
  }

  /** The last one that is whole, and the one that may be written, no more. */
  @Test
  void oldCheckpointsAreDeleted() throws Exception {
    Files.write(directory.resolve("step-000000000001.part-0-of-2.parameters.tmp"), new byte[10]);
    Files.write(directory.resolve("notes.txt"), new byte[10]);
    Throwable refused = serveWithoutRestoring();
    assertInstanceOf(CheckpointException.class, refused);
    assertTrue(refused.getMessage().contains("has checkpoints of another job"), "" + refused);
    Files.delete(directory.resolve("step-000000000001.part-0-of-2.parameters.tmp"));
    train(2, server -> directory, 9, 2);
    assertEquals(
        List.of(
            "notes.txt",
            "step-000000000006.part-0-of-2.parameters",
            "step-000000000006.part-1-of-2.parameters",
            "step-000000000008.part-0-of-2.parameters",
            "step-000000000008.part-1-of-2.parameters"),
        files().stream().map(file -> "" + file.getFileName()).toList());
  }

  private @Nullable Throwable serveWithoutRestoring() throws Exception {
    List<Communicator> worlds = Collectives.inProcess(2, CALLS);
    try {
      return RankThreads.outcomes(
              worlds,
              world -> {
                try (ParameterStore store =
                    ParameterStore.of(world, Roles.dedicated(2, 1), Staleness.synchronous())) {
                  if (!store.isWorker()) {
                    store.serve(ADAM, directory);
                  }
                }
              })
          .get(1);
    } finally {
      worlds.forEach(Communicator::close);
    }
  }

  /** A checkpoint that one server has not finished does not count, and never will. */
  @Test
  void aHalfWrittenCheckpointIsLeftOut() throws Exception {
    float[] unbroken = train(2, server -> directory.resolve("unbroken"), 5, 100);
    Path place = directory.resolve("broken");
    train(2, server -> place, 6, 2);
    Path lost = place.resolve("step-000000000006.part-1-of-2.parameters");
    Path kept = place.resolve("step-000000000006.part-0-of-2.parameters");
    Files.move(lost, place.resolve("step-000000000006.part-1-of-2.parameters.tmp"));
    assertArrayEquals(unbroken, train(2, server -> place, 5, 100));
    assertFalse(Files.exists(kept), "it would be taken for a part of a later checkpoint");
  }

  private void harm(String file, String expected) throws Exception {
    Throwable error = restore(1, server -> directory);
    assertInstanceOf(CheckpointException.class, error);
    assertTrue(error.getMessage().contains(file), error.getMessage());
    assertTrue(error.getMessage().contains(expected), error.getMessage());
  }

  /** Each kind of harm is found, says which file it is in, and is no other error. */
  @Test
  void harmIsFound() throws Exception {
    train(2, server -> directory, 2, 2);
    List<Path> files = files();
    assertEquals(2, files.size(), "" + files);
    for (int part = 0; part < 2; part++) {
      Path file = files.get(part);
      String name = "" + file.getFileName();
      byte[] whole = Files.readAllBytes(file);
      for (int length : new int[] {0, 7, 151, 152, whole.length - 1}) {
        Files.write(file, Arrays.copyOf(whole, length));
        harm(name, length < 8 ? "is no checkpoint of parameters" : "is damaged: it ");
      }
      Files.write(file, Arrays.copyOf(whole, whole.length + 4));
      harm(name, "bytes, not " + whole.length);
      for (int at : new int[] {16, 143, 152, whole.length - 9, whole.length - 8}) {
        byte[] flipped = whole.clone();
        flipped[at] ^= 4;
        Files.write(file, flipped);
        harm(name, at < 152 ? "the checksum of its head is wrong" : "checksum of its numbers");
      }
      if (part == 1) {
        // With as many servers it is the second one's own file; the first one is told whose.
        Throwable error = restore(2, server -> directory);
        assertInstanceOf(CheckpointException.class, error);
        assertEquals(
            "server rank 2 cannot restore its part: its own error says why", error.getMessage());
      }
      Files.write(file, whole);
    }
    assertEquals(null, restore(2, server -> directory), "nothing is left of it");
    Files.copy(files.get(0), files.get(1), StandardCopyOption.REPLACE_EXISTING);
    harm("part-1", "is part 0 of 2 at step 2, not what its name says");
  }

  @Test
  void missingPartsAndOtherJobsAreRefused() throws Exception {
    Path first = directory.resolve("first");
    train(2, server -> first, 2, 2);
    Throwable none = restore(2, server -> server == 0 ? first : directory.resolve("nothing"));
    assertInstanceOf(CheckpointException.class, none);
    assertTrue(
        none.getMessage().contains("rank 1 has steps 2 of 2 parts, rank 2 has none"), "" + none);

    // Another model, and another optimizer.
    List<Communicator> worlds = Collectives.inProcess(3, CALLS);
    try {
      RankThreads.run(
          worlds,
          world -> {
            try (ParameterStore store =
                ParameterStore.of(world, Roles.dedicated(3, 2), Staleness.synchronous())) {
              if (!store.isWorker()) {
                assertTrue(store.restore(first));
                assertTrue(
                    assertThrows(
                            IllegalArgumentException.class,
                            () -> store.serve(Optimizers.sgd(step -> 1)))
                        .getMessage()
                        .contains("have 2 of adam"));
                assertThrows(MismatchException.class, () -> store.serve(ADAM));
                return;
              }
              store.register("t", Payload.of(new float[3]), Payload.of(new float[3]));
              assertTrue(
                  assertThrows(MismatchException.class, store::pull)
                      .getMessage()
                      .contains("has restored 1 tensor of " + COUNT + " parameters"));
            }
          });
    } finally {
      worlds.forEach(Communicator::close);
    }
  }

  /** A disk that does not take it is an error of the checkpoint, not of the training. */
  @Test
  void aCheckpointThatCannotBeWrittenEndsNothing() throws Exception {
    List<Communicator> worlds = Collectives.inProcess(3, CALLS);
    Path place = directory.resolve("checkpoints");
    try {
      RankThreads.run(
          worlds,
          world -> {
            try (ParameterStore store =
                ParameterStore.of(world, Roles.dedicated(3, 2), Staleness.bounded(1))) {
              if (world.rank() == 1) {
                store.serve(ADAM, place);
                return;
              } else if (world.rank() == 2) {
                store.serve(ADAM);
                return;
              }
              store.register("t", Payload.of(new float[3]), Payload.of(new float[3]));
              store.step();
              assertTrue(
                  assertThrows(CheckpointException.class, store::checkpoint)
                      .getMessage()
                      .startsWith("server rank 2 has written no checkpoint: it was given no dir"));
              Files.delete(place.resolve("step-000000000001.part-0-of-2.parameters"));
              Files.delete(place);
              store.step();
              String told = assertThrows(CheckpointException.class, store::checkpoint).getMessage();
              assertTrue(told.startsWith("server rank 1 has written no checkpoint: "), told);
              assertTrue(told.contains("cannot be written: "), told);
              store.step();
              store.finish();
            }
          });
    } finally {
      worlds.forEach(Communicator::close);
    }
  }
}
