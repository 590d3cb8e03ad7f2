package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.JoinException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Three of four real processes meet in a directory; before the fourth comes, one of the three is
 * killed or stopped. The others are told which, long before the join timeout; or another process
 * takes its place, and all join.
 */
@Tag("process")
@Timeout(240)
@Tag("once")
@Tag("long")
class LostWhileJoiningTest {
  private static final int SIZE = 4;

  /** The limit of silence where another process must come before it is over, in seconds. */
  private static final int LONG_ENOUGH_TO_START = 16;

  @TempDir Path directory;

  private final List<Process> processes = new ArrayList<>();
  private Path rendezvous;

  /** In seconds; so long that a survivor which the machine forgets for a while is not given up. */
  private int silenceLimit = 5;

  /** The program of each rank. */
  static final class Program {
    public static void main(String[] arguments) {
      try (Communicator world = Collectives.join()) {
        world.barrier();
        System.out.println("met as rank " + world.rank() + ".");
      } catch (JoinException e) {
        System.out.println("not met: " + e.getMessage());
      }
    }
  }

  @AfterEach
  void endAll() {
    processes.forEach(Process::destroyForcibly);
  }

  @ParameterizedTest
  @CsvSource({"KILL, 0", "STOP, 1"}) // Both are silence, of who leads and of who follows.
  void whoIsLostIsNamed(String signal, int victim) throws Exception {
    startAllButTheLast();
    assertEquals(0, signal(signal, victim));
    for (int rank = 0; rank < SIZE - 1; rank++) {
      if (rank != victim) {
        String text = end(rank);
        assertTrue(text.startsWith("not met: rank " + victim + " (process "), text);
        assertTrue(text.contains("and was lost: "), text);
      }
    }
    if (signal.equals("STOP")) {
      // It finds that out by itself and blames nobody else.
      assertEquals(0, signal("CONT", victim));
      String text = end(victim);
      assertTrue(text.startsWith("not met: rank " + victim + " (process "), text);
    }
    assertFalse(files().anyMatch(name -> name.endsWith(".run")), "the next job finds it as new");
  }

  @Test
  void anotherProcessTakesItsPlace() throws Exception {
    int victim = 1;
    silenceLimit = LONG_ENOUGH_TO_START;
    startAllButTheLast();
    processes.get(victim).destroyForcibly().waitFor();
    processes.set(victim, start(victim, "again"));
    processes.add(start(SIZE - 1, "first"));
    for (int rank = 0; rank < SIZE; rank++) {
      assertEquals("met as rank " + rank + ".\n", end(rank));
    }
    assertEquals(List.of(), files().toList());
  }

  @Test
  void aStoppedRankZeroDoesNotDisturbThoseWhoMetWithoutIt() throws Exception {
    silenceLimit = LONG_ENOUGH_TO_START;
    startAllButTheLast();
    assertEquals(0, signal("STOP", 0));
    Process stopped = processes.get(0);
    processes.set(0, start(0, "again"));
    processes.add(start(SIZE - 1, "first"));
    for (int rank = 0; rank < SIZE; rank++) {
      assertEquals("met as rank " + rank + ".\n", end(rank));
    }
    processes.add(stopped);
    assertEquals(0, new ProcessBuilder("kill", "-CONT", "" + stopped.pid()).start().waitFor());
    assertTrue(stopped.waitFor(90, TimeUnit.SECONDS), "it hangs");
    String text = Files.readString(directory.resolve("rank-0-first.txt"));
    assertTrue(text.contains("another process has taken its place"), text);
    assertEquals(List.of(), files().toList());
  }

  /**
   * Starts them, and returns when they know each other: they have their places, and rank 0 has
   * beaten since.
   */
  private void startAllButTheLast() throws IOException {
    rendezvous = Files.createDirectory(directory.resolve("rendezvous"));
    for (int rank = 0; rank < SIZE - 1; rank++) {
      processes.add(start(rank, "first"));
    }
    Set<String> beats = new HashSet<>();
    Awaitility.await()
        .atMost(90, TimeUnit.SECONDS)
        .until(
            () -> {
              if (files().filter(name -> name.contains(".beat-")).count() == SIZE - 2) {
                beats.add(seen());
              }
              return beats.size() > 4;
            });
  }

  private String seen() throws IOException {
    Path file =
        rendezvous.resolve(files().filter(name -> name.endsWith(".seen")).findFirst().get());
    try {
      return Files.readString(file);
    } catch (NoSuchFileException e) {
      return "";
    }
  }

  private Stream<String> files() throws IOException {
    try (Stream<Path> files = Files.list(rendezvous)) {
      return files.map(file -> file.getFileName().toString()).toList().stream();
    }
  }

  private int signal(String signal, int rank) throws Exception {
    long pid = processes.get(rank).pid();
    return new ProcessBuilder("kill", "-" + signal, "" + pid).start().waitFor();
  }

  private String end(int rank) throws Exception {
    assertTrue(processes.get(rank).waitFor(90, TimeUnit.SECONDS), "rank " + rank + " hangs");
    String text = Files.readString(output(rank));
    assertEquals(0, processes.get(rank).exitValue(), text);
    return text;
  }

  /** Of the last process that was started as this rank. */
  private Path output(int rank) {
    Path again = directory.resolve("rank-" + rank + "-again.txt");
    return Files.exists(again) ? again : directory.resolve("rank-" + rank + "-first.txt");
  }

  private Process start(int rank, String time) throws IOException {
    ProcessBuilder builder =
        JavaProcess.of(directory.resolve("rank-" + rank + "-" + time + ".txt"), Program.class);
    builder.environment().put("RANK", "" + rank);
    builder.environment().put("WORLD_SIZE", "" + SIZE);
    builder.environment().put("COLLECTIVES_RENDEZVOUS", rendezvous.toUri().toString());
    builder.environment().put("COLLECTIVES_SILENCE_LIMIT", "" + silenceLimit);
    builder.environment().put("COLLECTIVES_JOIN_TIMEOUT", "100");
    return builder.start();
  }
}
