package io.collectives.all;

import static io.collectives.all.SummingProgram.SUMMING;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Real processes that are told no transport, on one host or pretending to be on two. */
@Tag("process")
@Timeout(150)
@Tag("once")
@Tag("long")
class MixedProcessesTest {
  private static final int SIZE = 4;

  @TempDir Path directory;

  private RankProcesses ranks;
  private Path memory;

  @BeforeEach
  void makeDirectory() throws IOException {
    ranks = new RankProcesses(directory, SIZE);
    memory = Files.createDirectory(directory.resolve("memory"));
  }

  @AfterEach
  void endAll() {
    ranks.close();
  }

  @Test
  void processesOfOneHostShareMemoryAndLeaveNothing() throws Exception {
    start(50, memory, "here", "here", "here", "here");
    assertAllEnd("[shm]");
    assertEquals(List.of(), left());
  }

  @Test
  void processesOfTwoHostsMixAndLeaveNothing() throws Exception {
    start(50, memory, "a", "a", "b", "b");
    assertAllEnd("[shm, tcp]");
    assertEquals(List.of(), left());
  }

  @Test
  void withoutTheDirectoryTheyUseTcpAndSayWhy() throws Exception {
    String missing = directory.resolve("missing").toString();
    start(50, Path.of(missing), "here", "here", "here", "here");
    for (int rank = 0; rank < SIZE; rank++) {
      List<String> said = ranks.end(rank).lines().toList();
      assertTrue(said.containsAll(List.of("[tcp]", SUMMING, "done")), said.toString());
      List<String> warnings = said.stream().filter(line -> line.contains(missing)).toList();
      assertEquals(1, warnings.size(), said.toString());
      String warning = warnings.get(0);
      assertTrue(warning.contains("WARN") && warning.contains("by tcp: "), warning);
      assertTrue(warning.contains("COLLECTIVES_MEMORY_DIRECTORY"), warning);
    }
  }

  @Test
  void allSurvivorsNameAKilledRankAndCleanUpAfterIt() throws Exception {
    int victim = 3;
    start(Integer.MAX_VALUE, memory, "a", "a", "b", "b");
    ranks.awaitOutput(SUMMING);
    ranks.signal("KILL", victim);
    for (int rank = 0; rank < SIZE; rank++) {
      if (rank != victim) {
        ranks.assertEnds(rank, "[shm, tcp]", SUMMING, "lost rank " + victim);
      }
    }
    assertEquals(List.of(), left());
  }

  private List<Path> left() throws IOException {
    try (var left = Files.list(memory)) {
      return left.toList();
    }
  }

  private void assertAllEnd(String transports) throws Exception {
    for (int rank = 0; rank < SIZE; rank++) {
      ranks.assertEnds(rank, transports, SUMMING, "done");
    }
  }

  private void start(int steps, Path shared, String... hosts) throws IOException {
    ranks.start(
        SummingProgram.class,
        rank ->
            Map.of(
                "COLLECTIVES_HOST",
                hosts[rank],
                "COLLECTIVES_MEMORY_DIRECTORY",
                shared.toString(),
                // Long enough that only the end of a process tells of it in time.
                "COLLECTIVES_SILENCE_LIMIT",
                "60"),
        "ring",
        "" + steps);
  }
}
