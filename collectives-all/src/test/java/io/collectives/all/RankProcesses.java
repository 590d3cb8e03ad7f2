package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import java.util.stream.Stream;
import org.awaitility.Awaitility;

/** The ranks of a job, each a JVM whose output is a file. Those that still run end with this. */
final class RankProcesses implements AutoCloseable {
  private final Path directory;
  private final int size;
  private Path rendezvous;
  private final List<Process> processes = new ArrayList<>();

  /**
   * Ranks that are yet to be started.
   *
   * @param directory for what they say and where they meet
   */
  RankProcesses(Path directory, int size) {
    this.directory = directory;
    rendezvous = directory;
    this.size = size;
  }

  /**
   * Starts all ranks, which meet in a directory of their own.
   *
   * @param main the class with the main method
   * @param environment by rank, what they are told besides who they are and where they meet
   */
  void start(Class<?> main, IntFunction<Map<String, String>> environment, String... arguments)
      throws IOException {
    rendezvous = Files.createTempDirectory(directory, "rendezvous");
    processes.clear();
    for (int rank = 0; rank < size; rank++) {
      ProcessBuilder builder = JavaProcess.of(file(rank), main, arguments);
      builder.environment().put("RANK", "" + rank);
      builder.environment().put("WORLD_SIZE", "" + size);
      builder.environment().put("COLLECTIVES_RENDEZVOUS", rendezvous.toUri().toString());
      builder.environment().putAll(environment.apply(rank));
      processes.add(builder.start());
    }
  }

  /** Waits until all ranks have said something. */
  void awaitOutput(String text) {
    for (int rank = 0; rank < size; rank++) {
      awaitOutput(rank, text);
    }
  }

  /** Waits until a rank has said something. */
  void awaitOutput(int rank, String text) {
    Awaitility.await()
        .atMost(90, TimeUnit.SECONDS)
        .alias("rank " + rank + " to say '" + text + "'")
        .until(() -> Files.readString(file(rank)).contains(text));
  }

  /** Sends a signal to a rank, such as KILL. */
  void signal(String signal, int rank) throws Exception {
    Process kill = new ProcessBuilder("kill", "-" + signal, "" + processes.get(rank).pid()).start();
    assertEquals(0, kill.waitFor(), signal + " to rank " + rank);
  }

  /** Kills all ranks, so that none sees another one die, and waits until they are dead. */
  void killAll() throws Exception {
    for (int rank = 0; rank < size; rank++) {
      signal("STOP", rank);
    }
    for (int rank = 0; rank < size; rank++) {
      signal("KILL", rank);
    }
    for (Process process : processes) {
      assertTrue(process.waitFor(90, TimeUnit.SECONDS));
    }
  }

  /** Returns what is in the directory where they met. */
  List<Path> leftWhereTheyMet() throws IOException {
    try (Stream<Path> left = Files.list(rendezvous)) {
      return left.toList();
    }
  }

  /** Waits until a rank ends, well, and returns what it has said. */
  String end(int rank) throws Exception {
    Process process = processes.get(rank);
    assertTrue(process.waitFor(90, TimeUnit.SECONDS), "rank " + rank + " hangs");
    String text = Files.readString(file(rank));
    assertEquals(0, process.exitValue(), "rank " + rank + ": " + text);
    return text;
  }

  /** Waits until a rank ends, well, and has said these lines. */
  void assertEnds(int rank, String... lines) throws Exception {
    List<String> said =
        end(rank)
            .lines()
            .filter(line -> !line.contains(" lags: ")) // The machine is busy.
            .toList();
    assertEquals(List.of(lines), said, "rank " + rank);
  }

  private Path file(int rank) {
    return directory.resolve("rank-" + rank + ".txt");
  }

  @Override
  public void close() {
    processes.forEach(Process::destroyForcibly);
  }
}
