package io.collectives.all;

import static io.collectives.all.SummingProgram.SUMMING;
import static org.junit.jupiter.api.Assertions.assertEquals;

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

/** Real processes that share memory, of which some are killed. */
@Tag("process")
@Timeout(150)
class SharedMemoryProcessesTest {
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

  /** Ranks sum by a ring, and then in buffers. */
  @Test
  void processesSumAndLeaveNothing() throws Exception {
    start("both", 50);
    for (int rank = 0; rank < SIZE; rank++) {
      ranks.assertEnds(rank, "[shm]", SUMMING, SUMMING, "done");
    }
    assertEquals(List.of(), left());
    assertEquals(List.of(), ranks.leftWhereTheyMet());
  }

  /** In a ring of four, the one opposite to it is not even linked with it. */
  @Test
  void allSurvivorsOfARingNameAKilledRankAndCleanUpAfterIt() throws Exception {
    allSurvivorsNameAKilledRankAndCleanUpAfterIt("ring", 2);
  }

  @Test
  @Tag("long")
  void allSurvivorsNameARankThatIsKilledInABufferAndCleanUpAfterIt() throws Exception {
    allSurvivorsNameAKilledRankAndCleanUpAfterIt("buffer", 1);
  }

  private void allSurvivorsNameAKilledRankAndCleanUpAfterIt(String algorithm, int victim)
      throws Exception {
    start(algorithm, Integer.MAX_VALUE);
    ranks.awaitOutput(SUMMING);
    if (algorithm.equals("ring")) {
      assertSocketsAreLeftOnly(SIZE);
    }
    ranks.signal("KILL", victim);
    for (int rank = 0; rank < SIZE; rank++) {
      if (rank != victim) {
        ranks.assertEnds(rank, "[shm]", SUMMING, "lost rank " + victim);
      }
    }
    assertEquals(List.of(), left());
  }

  /**
   * The files of a killed job stay, as no rank is left to clean up, but ranks that are linked with
   * all others have removed their own.
   */
  @Test
  @Tag("long") // They are what there is before a rank is killed.
  void ofAKilledJobOfNeighboursSocketsAreLeftOnly() throws Exception {
    ofAJobThatIsKilledNoRingsAreLeft("ring", SIZE);
  }

  @Test
  @Tag("long")
  void ofAKilledJobOfRanksThatAreAllLinkedNothingIsLeft() throws Exception {
    ofAJobThatIsKilledNoRingsAreLeft("buffer", 0);
  }

  private void ofAJobThatIsKilledNoRingsAreLeft(String algorithm, int places) throws Exception {
    start(algorithm, Integer.MAX_VALUE);
    ranks.awaitOutput(SUMMING);
    ranks.killAll();
    assertSocketsAreLeftOnly(places);
  }

  private void assertSocketsAreLeftOnly(int places) throws IOException {
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

  private void start(String algorithm, int steps) throws IOException {
    Map<String, String> environment =
        Map.of(
            "COLLECTIVES_TRANSPORT",
            "shm",
            "COLLECTIVES_MEMORY_DIRECTORY",
            memory.toString(),
            // Long enough that only the end of a process tells of it in time.
            "COLLECTIVES_SILENCE_LIMIT",
            "60");
    ranks.start(SummingProgram.class, rank -> environment, algorithm, "" + steps);
  }
}
