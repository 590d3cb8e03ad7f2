package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.JobSettings;
import io.collectives.RankFailedException;
import io.collectives.ReduceOp;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Real processes that are told no transport, on one host or pretending to be on two. */
@Tag("process")
@Timeout(60)
@Tag("once")
class MixedProcessesTest {
  private static final int SIZE = 4;
  private static final String SUMMING = "summing";

  @TempDir Path directory;

  private final List<Process> processes = new ArrayList<>();
  private Path meeting;
  private Path memory;

  /** What each rank runs: sums until a rank is lost, or so many times. */
  static final class Program {
    public static void main(String[] arguments) {
      JobSettings job = Collectives.settings(System.getenv());
      job = job.withCalls(job.calls().withAlgorithm(Algorithm.ring()));
      int steps = Integer.parseInt(arguments[0]);
      try (Communicator world = Collectives.join(job)) {
        System.out.println(world.explain(0).transports());
        float[] gradients = new float[50_000];
        for (int step = 1; step <= steps; step++) {
          Arrays.fill(gradients, world.rank() + step);
          world.allReduce(gradients, ReduceOp.SUM);
          int expected = world.size() * (world.size() - 1) / 2 + world.size() * step;
          if (gradients[0] != expected || gradients[49_999] != expected) {
            throw new IllegalStateException(gradients[0] + " instead of " + expected);
          }
          if (step == 20) {
            System.out.println(SUMMING);
          }
        }
        System.out.println("done");
      } catch (RankFailedException e) {
        System.out.println("lost rank " + e.worldRank());
      }
    }
  }

  @BeforeEach
  void makeDirectories() throws IOException {
    meeting = Files.createDirectory(directory.resolve("meeting"));
    memory = Files.createDirectory(directory.resolve("memory"));
  }

  @AfterEach
  void endAll() {
    processes.forEach(Process::destroyForcibly);
  }

  @Test
  void processesOfOneHostShareMemoryAndLeaveNothing() throws Exception {
    start(50, memory, "here", "here", "here", "here");
    assertAllEnd("[shm]", "done");
    assertEquals(List.of(), left());
  }

  @Test
  void processesOfTwoHostsMixAndLeaveNothing() throws Exception {
    start(50, memory, "a", "a", "b", "b");
    assertAllEnd("[shm, tcp]", "done");
    assertEquals(List.of(), left());
  }

  @Test
  void processesOfManyHostsUseTcp() throws Exception {
    start(50, memory, "a", "b", "c", "d");
    assertAllEnd("[tcp]", "done");
    assertEquals(List.of(), left());
  }

  @Test
  void withoutTheDirectoryTheyUseTcp() throws Exception {
    start(50, directory.resolve("missing"), "here", "here", "here", "here");
    assertAllEnd("[tcp]", "done");
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 3})
  void allSurvivorsNameAKilledRankAndCleanUpAfterIt(int victim) throws Exception {
    start(Integer.MAX_VALUE, memory, "a", "a", "b", "b");
    for (int rank = 0; rank < SIZE; rank++) {
      Path output = output(rank);
      Awaitility.await()
          .atMost(30, TimeUnit.SECONDS)
          .until(() -> Files.readString(output).contains(SUMMING));
    }
    processes.get(victim).destroyForcibly();
    for (int rank = 0; rank < SIZE; rank++) {
      if (rank != victim) {
        assertEnds(rank, "[shm, tcp]", "lost rank " + victim);
      }
    }
    assertEquals(List.of(), left());
  }

  private List<Path> left() throws IOException {
    try (var left = Files.list(memory)) {
      return left.toList();
    }
  }

  private void assertAllEnd(String transports, String end) throws Exception {
    for (int rank = 0; rank < SIZE; rank++) {
      assertEnds(rank, transports, end);
    }
  }

  private void assertEnds(int rank, String transports, String end) throws Exception {
    Process process = processes.get(rank);
    assertTrue(process.waitFor(30, TimeUnit.SECONDS), "rank " + rank + " hangs");
    List<String> lines = Files.readAllLines(output(rank));
    assertEquals(
        List.of(transports, SUMMING, end),
        lines.stream().filter(line -> !line.contains(" lags: ")).toList(), // The machine is busy.
        "rank " + rank);
    assertEquals(0, process.exitValue(), "rank " + rank);
  }

  private Path output(int rank) {
    return directory.resolve("rank-" + rank + ".txt");
  }

  private void start(int steps, Path shared, String... hosts) throws IOException {
    for (int rank = 0; rank < SIZE; rank++) {
      ProcessBuilder builder = JavaProcess.of(output(rank), Program.class, "" + steps);
      builder
          .environment()
          .putAll(
              Map.of(
                  "RANK",
                  "" + rank,
                  "WORLD_SIZE",
                  "" + SIZE,
                  "COLLECTIVES_HOST",
                  hosts[rank],
                  "COLLECTIVES_MEMORY_DIRECTORY",
                  shared.toString(),
                  "COLLECTIVES_RENDEZVOUS",
                  meeting.toUri().toString(),
                  // Long enough that only the end of a process tells of it in time.
                  "COLLECTIVES_SILENCE_LIMIT",
                  "60"));
      processes.add(builder.start());
    }
  }
}
