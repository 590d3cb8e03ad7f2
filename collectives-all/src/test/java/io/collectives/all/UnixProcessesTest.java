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
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Real processes that talk over Unix-domain sockets, of which some are killed. */
@Tag("process")
@Timeout(60)
@Tag("once")
class UnixProcessesTest {
  private static final int SIZE = 3;
  private static final String SUMMING = "summing";

  @TempDir Path directory;

  private final List<Process> processes = new ArrayList<>();
  private Path sockets;

  /** What each rank runs: sums until a rank is lost, or so many times. */
  static final class Program {
    public static void main(String[] arguments) {
      JobSettings job = Collectives.settings(System.getenv());
      job = job.withCalls(job.calls().withAlgorithm(Algorithm.ring()));
      int steps = Integer.parseInt(arguments[0]);
      try (Communicator world = Collectives.join(job)) {
        float[] gradients = new float[100_000];
        for (int step = 1; step <= steps; step++) {
          Arrays.fill(gradients, world.rank() + step);
          world.allReduce(gradients, ReduceOp.SUM);
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
  void makeDirectory() throws IOException {
    sockets = Files.createDirectory(directory.resolve("sockets"));
  }

  @AfterEach
  void endAll() {
    processes.forEach(Process::destroyForcibly);
  }

  @Test
  void survivorsNameAKilledRankAndCleanUpAfterIt() throws Exception {
    start(Integer.MAX_VALUE);
    awaitSumming();
    assertEquals(SIZE, left().size());
    kill(1);
    assertEnds(0, SUMMING + "\nlost rank 1\n");
    assertEnds(2, SUMMING + "\nlost rank 1\n");
    assertEquals(List.of(), left());
  }

  @Test
  void whatAKilledJobHasLeftIsDeletedByTheNext() throws Exception {
    start(Integer.MAX_VALUE);
    awaitSumming();
    for (int rank = 0; rank < SIZE; rank++) {
      assertEquals(0, signal("STOP", rank)); // So that none sees another one die.
    }
    for (int rank = 0; rank < SIZE; rank++) {
      kill(rank);
    }
    for (Process process : processes) {
      assertTrue(process.waitFor(20, TimeUnit.SECONDS));
    }
    assertEquals(SIZE, left().size());
    for (Path rank : left()) {
      Files.setLastModifiedTime(rank, FileTime.from(Instant.now().minus(Duration.ofMinutes(1))));
    }
    processes.clear();
    start(50);
    for (int rank = 0; rank < SIZE; rank++) {
      assertEnds(rank, SUMMING + "\ndone\n");
    }
    assertEquals(List.of(), left());
  }

  private List<Path> left() throws IOException {
    try (var left = Files.list(sockets)) {
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

  private void start(int steps) throws IOException {
    Path meeting = Files.createTempDirectory(directory, "meeting");
    for (int rank = 0; rank < SIZE; rank++) {
      ProcessBuilder builder = JavaProcess.of(output(rank), Program.class, "" + steps);
      builder.environment().put("RANK", "" + rank);
      builder.environment().put("WORLD_SIZE", "" + SIZE);
      builder.environment().put("COLLECTIVES_TRANSPORT", "unix");
      builder.environment().put("COLLECTIVES_MEMORY_DIRECTORY", sockets.toString());
      builder.environment().put("COLLECTIVES_RENDEZVOUS", meeting.toUri().toString());
      // Long enough that only the end of a process tells of it in time.
      builder.environment().put("COLLECTIVES_SILENCE_LIMIT", "60");
      processes.add(builder.start());
    }
  }
}
