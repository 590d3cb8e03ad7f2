package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.JoinException;
import io.collectives.ReduceOp;
import io.collectives.testkit.FreePort;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Jobs of several JVMs that find each other by their environment. */
@Timeout(150)
final class ProcessesTest {
  private static final int SIZE = 4;

  @TempDir private Path directory;
  private final List<Process> processes = new ArrayList<>();
  private List<String> options = List.of();

  /** A training program, which joins, reduces and leaves. */
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
        Map.of("MASTER_ADDR", "localhost", "MASTER_PORT", "" + FreePort.find());
    assertSums(start(SIZE, environment));
  }

  @Test
  @Tag("long") // SharedMemoryProcessesTest does.
  void processesMeetInADirectoryAndSum() throws Exception {
    Path rendezvous = Files.createDirectory(directory.resolve("rendezvous"));
    assertSums(start(SIZE, Map.of("COLLECTIVES_RENDEZVOUS", rendezvous.toUri().toString())));
    try (var files = Files.list(rendezvous)) {
      assertEquals(List.of(), files.toList());
    }
  }

  /** The limits of those who are there do not run while others' JVMs start. */
  @Test
  @Tag("long") // TcpRendezvousTest does the same in one process.
  void aRankThatNeverArrivesIsNamedByAll() throws Exception {
    Map<String, String> patient =
        Map.of("MASTER_ADDR", "localhost", "MASTER_PORT", "" + FreePort.find());
    options = List.of("-Dorg.slf4j.simpleLogger.log.io.collectives.netty.RendezvousServer=debug");
    List<Path> outputs = start(SIZE - 2, patient);
    Awaitility.await()
        .atMost(90, TimeUnit.SECONDS)
        .until(() -> Files.readString(outputs.get(0)).contains("has come to tcp://"));
    assertRefused(outputs, impatient(patient));
  }

  @Test
  @Tag("long") // DirectoryRendezvousTest does the same in one process.
  void aRankThatNeverArrivesInADirectoryIsNamedByAll() throws Exception {
    Path rendezvous = Files.createDirectory(directory.resolve("rendezvous"));
    Map<String, String> patient = Map.of("COLLECTIVES_RENDEZVOUS", rendezvous.toUri().toString());
    List<Path> outputs = start(SIZE - 2, patient);
    Awaitility.await()
        .atMost(90, TimeUnit.SECONDS)
        .until(
            () -> {
              try (Stream<Path> files = Files.list(rendezvous)) {
                return files.anyMatch(file -> file.toString().endsWith(".place-1"));
              }
            });
    assertRefused(outputs, impatient(patient));
  }

  /** Starts the last but one rank, which waits no longer than it takes to be seen. */
  private Path impatient(Map<String, String> environment) throws IOException {
    Map<String, String> variables = new LinkedHashMap<>(environment);
    variables.put("COLLECTIVES_JOIN_TIMEOUT", "PT4S");
    return start(SIZE - 2, variables, 1).get(0);
  }

  private void assertSums(List<Path> outputs) throws Exception {
    for (int rank = 0; rank < SIZE; rank++) {
      // On a busy machine ranks warn before that of others that lag.
      String output = output(rank, outputs);
      assertTrue(output.endsWith("rank " + rank + " of 4: 10.0 10.0"), output);
    }
  }

  private void assertRefused(List<Path> patient, Path impatient) throws Exception {
    List<Path> outputs = new ArrayList<>(patient);
    outputs.add(impatient);
    for (int rank = 0; rank < SIZE - 1; rank++) {
      String output = output(rank, outputs);
      assertTrue(output.matches("(?s)(.*\n)?refused: [^\n]*\\brank 3\\b[^\n]*"), () -> output);
    }
  }

  /** Starts the first {@code count} ranks. */
  private List<Path> start(int count, Map<String, String> environment) throws IOException {
    return start(0, environment, count);
  }

  private List<Path> start(int first, Map<String, String> environment, int count)
      throws IOException {
    List<Path> outputs = new ArrayList<>();
    for (int rank = first; rank < first + count; rank++) {
      Path output = directory.resolve("rank-" + rank + ".txt");
      ProcessBuilder builder = JavaProcess.of(output, Program.class);
      builder.command().addAll(1, options);
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
    assertTrue(processes.get(rank).waitFor(90, TimeUnit.SECONDS), "rank " + rank + " does not end");
    return Files.readString(outputs.get(rank)).strip();
  }
}
