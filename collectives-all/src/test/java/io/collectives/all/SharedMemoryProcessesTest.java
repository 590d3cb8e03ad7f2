package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.CollectiveBuffer;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.JobSettings;
import io.collectives.Mesh;
import io.collectives.RankFailedException;
import io.collectives.ReduceOp;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Real processes that share memory, of which some are killed. */
@Tag("process")
@Timeout(60)
class SharedMemoryProcessesTest {
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
      Algorithm algorithm =
          switch (arguments[0]) {
            case "torus" -> Algorithm.torus(Mesh.torusOf(job.size()));
            case "direct", "buffer" -> Algorithm.direct();
            default -> Algorithm.ring();
          };
      job = job.withCalls(job.calls().withAlgorithm(algorithm));
      int steps = Integer.parseInt(arguments[1]);
      try (Communicator world = Collectives.join(job)) {
        float[] gradients = new float[100_000];
        CollectiveBuffer buffer =
            arguments[0].equals("buffer") ? world.allocate(ElementType.FLOAT32, 100_000) : null;
        for (int step = 1; step <= steps; step++) {
          Arrays.fill(gradients, world.rank() + step);
          if (buffer == null) {
            world.allReduce(gradients, ReduceOp.SUM);
          } else {
            buffer.floats().put(gradients);
            world.allReduce(buffer.payload(), ReduceOp.SUM);
            buffer.floats().get(gradients);
          }
          int expected = world.size() * (world.size() - 1) / 2 + world.size() * step;
          if (gradients[0] != expected || gradients[99_999] != expected) {
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

  @ParameterizedTest
  @ValueSource(strings = {"ring", "torus", "buffer"})
  void processesSumAndLeaveNothing(String algorithm) throws Exception {
    start(algorithm, 50);
    for (int rank = 0; rank < SIZE; rank++) {
      assertEnds(rank, SUMMING + "\ndone\n");
    }
    assertEquals(List.of(), left());
  }

  /** In a ring of four, the one opposite to it is not even linked with it. */
  @ParameterizedTest
  @CsvSource({"ring, 0", "ring, 2", "buffer, 1"})
  void allSurvivorsNameAKilledRankAndCleanUpAfterIt(String algorithm, int victim) throws Exception {
    start(algorithm, Integer.MAX_VALUE);
    awaitSumming();
    kill(victim);
    for (int rank = 0; rank < SIZE; rank++) {
      if (rank != victim) {
        assertEnds(rank, SUMMING + "\nlost rank " + victim + "\n");
      }
    }
    assertEquals(List.of(), left());
  }

  /** Nobody is left to clean up. Those who were linked with all others had gone into hiding. */
  @ParameterizedTest
  @CsvSource({"ring, 4", "direct, 0", "buffer, 0"})
  void ofAJobThatIsKilledNoRingsAreLeft(String algorithm, int places) throws Exception {
    start(algorithm, Integer.MAX_VALUE);
    awaitSumming();
    for (int rank = 0; rank < SIZE; rank++) {
      assertEquals(0, signal("STOP", rank));
    }
    for (int rank = 0; rank < SIZE; rank++) {
      kill(rank);
    }
    for (Process process : processes) {
      assertTrue(process.waitFor(20, TimeUnit.SECONDS));
    }
    List<Path> left = left();
    assertEquals(places, left.size());
    for (Path rank : left) {
      try (var files = Files.list(rank)) {
        assertEquals(List.of("socket"), files.map(file -> "" + file.getFileName()).toList());
      }
    }
  }

  private List<Path> left() throws IOException {
    try (var left = Files.list(memory)) {
      return left.toList();
    }
  }

  private void awaitSumming() {
    for (int rank = 0; rank < SIZE; rank++) {
      Path output = output(rank);
      Awaitility.await()
          .atMost(30, TimeUnit.SECONDS)
          .until(() -> Files.readString(output).contains(SUMMING));
    }
  }

  private void kill(int rank) throws Exception {
    assertEquals(0, signal("KILL", rank));
  }

  private int signal(String signal, int rank) throws Exception {
    return new ProcessBuilder("kill", "-" + signal, "" + processes.get(rank).pid())
        .start()
        .waitFor();
  }

  private void assertEnds(int rank, String text) throws Exception {
    Process process = processes.get(rank);
    assertTrue(process.waitFor(30, TimeUnit.SECONDS), "rank " + rank + " hangs");
    assertEquals(text, Files.readString(output(rank)), "rank " + rank);
    assertEquals(0, process.exitValue(), "rank " + rank);
  }

  private Path output(int rank) {
    return directory.resolve("rank-" + rank + ".txt");
  }

  private void start(String algorithm, int steps) throws IOException {
    for (int rank = 0; rank < SIZE; rank++) {
      ProcessBuilder builder = JavaProcess.of(output(rank), Program.class, algorithm, "" + steps);
      builder.environment().put("RANK", "" + rank);
      builder.environment().put("WORLD_SIZE", "" + SIZE);
      builder.environment().put("COLLECTIVES_TRANSPORT", "shm");
      builder.environment().put("COLLECTIVES_MEMORY_DIRECTORY", memory.toString());
      builder.environment().put("COLLECTIVES_RENDEZVOUS", meeting.toUri().toString());
      // Long enough that only the end of a process tells of it in time.
      builder.environment().put("COLLECTIVES_SILENCE_LIMIT", "60");
      processes.add(builder.start());
    }
  }
}
