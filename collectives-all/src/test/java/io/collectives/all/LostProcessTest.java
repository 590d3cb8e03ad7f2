package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.RankFailedException;
import io.collectives.ReduceOp;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * One of four real processes is killed or stopped while they sum: every other one gets the typed
 * error that names it, and ends by itself.
 */
@Tag("process")
@Tag("once")
class LostProcessTest {
  private static final int SIZE = 4;

  @TempDir Path directory;

  private final List<Process> processes = new ArrayList<>();

  /** What each rank runs. */
  static final class Program {
    public static void main(String[] arguments) {
      try (Communicator world = Collectives.join()) {
        float[] gradients = new float[100_000];
        for (int step = 0; ; step++) {
          world.allReduce(gradients, ReduceOp.AVERAGE);
          if (step == 20) {
            System.out.println("summing");
          }
        }
      } catch (RankFailedException e) {
        System.out.println("lost rank " + e.worldRank());
      }
    }
  }

  @AfterEach
  void endAll() {
    processes.forEach(Process::destroyForcibly);
  }

  @ParameterizedTest
  @CsvSource({"KILL, 2", "KILL, 0", "STOP, 3"})
  void theOthersNameIt(String signal, int victim) throws Exception {
    Path meeting = Files.createDirectory(directory.resolve("meeting"));
    for (int rank = 0; rank < SIZE; rank++) {
      processes.add(start(rank, meeting));
    }
    for (int rank = 0; rank < SIZE; rank++) {
      Path output = output(rank);
      Awaitility.await().until(() -> Files.readString(output).contains("summing"));
    }
    long pid = processes.get(victim).pid();
    assertEquals(0, new ProcessBuilder("kill", "-" + signal, "" + pid).start().waitFor());
    for (int rank = 0; rank < SIZE; rank++) {
      if (rank != victim) {
        Process survivor = processes.get(rank);
        assertTrue(survivor.waitFor(20, TimeUnit.SECONDS), "rank " + rank + " hangs");
        String text = Files.readString(output(rank));
        assertTrue(text.contains("lost rank " + victim), "rank " + rank + ": " + text);
        assertEquals(0, survivor.exitValue());
      }
    }
  }

  private Path output(int rank) {
    return directory.resolve("rank-" + rank + ".txt");
  }

  private Process start(int rank, Path meeting) throws IOException {
    ProcessBuilder builder = JavaProcess.of(output(rank), Program.class);
    builder.environment().put("RANK", "" + rank);
    builder.environment().put("WORLD_SIZE", "" + SIZE);
    builder.environment().put("COLLECTIVES_RENDEZVOUS", meeting.toUri().toString());
    // Long enough that a survivor which the machine forgets for a while is not taken for dead.
    builder.environment().put("COLLECTIVES_SILENCE_LIMIT", "4");
    return builder.start();
  }
}
