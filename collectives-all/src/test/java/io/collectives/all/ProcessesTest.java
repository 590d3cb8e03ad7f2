package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.JoinException;
import io.collectives.ReduceOp;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Jobs of several JVMs that find each other by their environment. */
@Timeout(60)
final class ProcessesTest {
  private static final int SIZE = 4;

  @TempDir private Path directory;
  private final List<Process> processes = new ArrayList<>();

  /** What a training program does: joins, reduces, leaves. */
  static final class Program {
    private Program() {}

    /** Prints the sum of all ranks plus one, or why it could not join. */
    public static void main(String[] args) {
      try (Communicator world = Collectives.join()) {
        float[] buffer = new float[100_000];
        Arrays.fill(buffer, world.rank() + 1);
        world.allReduce(buffer, ReduceOp.SUM);
        world.barrier();
        System.out.println(
            "rank "
                + world.rank()
                + " of "
                + world.size()
                + ": "
                + buffer[0]
                + " "
                + buffer[99_999]);
      } catch (JoinException e) {
        System.out.println("refused: " + e.getMessage());
      }
    }
  }

  @AfterEach
  void stopAll() {
    processes.forEach(Process::destroyForcibly);
  }

  @Test
  void processesMeetAtAPortAndSum() throws Exception {
    Map<String, String> environment =
        Map.of("MASTER_ADDR", "localhost", "MASTER_PORT", "" + TcpAllReduce.freePort());
    assertSums(start(SIZE, environment));
  }

  @Test
  void processesMeetInADirectoryAndSum() throws Exception {
    Path meeting = Files.createDirectory(directory.resolve("meeting"));
    assertSums(start(SIZE, Map.of("COLLECTIVES_RENDEZVOUS", meeting.toUri().toString())));
    try (var files = Files.list(meeting)) {
      assertEquals(List.of(), files.toList());
    }
  }

  @Test
  void aRankThatNeverArrivesIsNamedByAll() throws Exception {
    String port = "" + TcpAllReduce.freePort();
    assertRefused(
        start(
            SIZE - 1,
            Map.of(
                "MASTER_ADDR", "localhost", "MASTER_PORT", port, "COLLECTIVES_JOIN_TIMEOUT", "2")));
  }

  @Test
  void aRankThatNeverArrivesInADirectoryIsNamedByAll() throws Exception {
    String meeting = Files.createDirectory(directory.resolve("meeting")).toUri().toString();
    assertRefused(
        start(
            SIZE - 1,
            Map.of("COLLECTIVES_RENDEZVOUS", meeting, "COLLECTIVES_JOIN_TIMEOUT", "PT2S")));
  }

  private void assertSums(List<Path> outputs) throws Exception {
    for (int rank = 0; rank < SIZE; rank++) {
      assertEquals("rank " + rank + " of 4: 10.0 10.0", output(rank, outputs));
    }
  }

  private void assertRefused(List<Path> outputs) throws Exception {
    for (int rank = 0; rank < SIZE - 1; rank++) {
      String output = output(rank, outputs);
      assertTrue(
          output.startsWith("refused: ") && output.matches("(?s).*\\branks? 3\\b.*"), () -> output);
    }
  }

  /** Starts the first {@code count} ranks. */
  private List<Path> start(int count, Map<String, String> environment) throws IOException {
    List<Path> outputs = new ArrayList<>();
    for (int rank = 0; rank < count; rank++) {
      Path output = directory.resolve("rank-" + rank + ".txt");
      ProcessBuilder builder = JavaProcess.of(output, Program.class);
      Map<String, String> variables = new LinkedHashMap<>(environment);
      variables.put("RANK", Integer.toString(rank));
      variables.put("WORLD_SIZE", Integer.toString(SIZE));
      builder.environment().putAll(variables);
      processes.add(builder.start());
      outputs.add(output);
    }
    return outputs;
  }

  /** All that a rank printed. */
  private String output(int rank, List<Path> outputs) throws Exception {
    assertTrue(processes.get(rank).waitFor(40, TimeUnit.SECONDS), "rank " + rank + " does not end");
    return Files.readString(outputs.get(rank)).strip();
  }
}
