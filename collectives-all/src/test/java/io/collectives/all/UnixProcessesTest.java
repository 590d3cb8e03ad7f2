package io.collectives.all;

import static io.collectives.all.SummingProgram.SUMMING;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.collectives.CallSettings;
import io.collectives.Communicator;
import io.collectives.ReduceOp;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Real processes that talk over Unix-domain sockets, of which some are killed. */
@Tag("process")
@Timeout(150)
@Tag("once")
@Tag("long")
class UnixProcessesTest {
  private static final int SIZE = 3;

  @TempDir Path directory;

  private RankProcesses ranks;
  private Path sockets;

  @BeforeEach
  void makeDirectory() throws IOException {
    ranks = new RankProcesses(directory, SIZE);
    sockets = Files.createDirectory(directory.resolve("sockets"));
  }

  @AfterEach
  void endAll() {
    ranks.close();
  }

  @Test
  void survivorsNameAKilledRankAndCleanUpAfterIt() throws Exception {
    start();
    ranks.awaitOutput(SUMMING);
    assertEquals(SIZE, left().size());
    ranks.signal("KILL", 1);
    ranks.assertEnds(0, "[unix]", SUMMING, "lost rank 1");
    ranks.assertEnds(2, "[unix]", SUMMING, "lost rank 1");
    assertEquals(List.of(), left());
  }

  /** Whichever of the transports that have such directories it uses. */
  @ParameterizedTest
  @ValueSource(strings = {"unix", "shm"})
  void whatAKilledJobHasLeftIsDeletedByTheNext(String next) throws Exception {
    start();
    ranks.awaitOutput(SUMMING);
    ranks.killAll();
    assertEquals(SIZE, left().size());
    for (Path rank : left()) {
      Files.setLastModifiedTime(rank, FileTime.from(Instant.now().minus(Duration.ofMinutes(1))));
    }
    List<Communicator> worlds =
        TcpJobs.join(
            SIZE,
            Files.createDirectory(directory.resolve("next")).toUri(),
            CallSettings.defaults(),
            job -> job.withTransport(next).withMemoryDirectory(sockets));
    ThreadJobs.run(worlds, world -> world.allReduce(new float[100], ReduceOp.SUM));
    worlds.forEach(Communicator::close);
    assertEquals(List.of(), left());
  }

  private List<Path> left() throws IOException {
    try (var left = Files.list(sockets)) {
      return left.toList();
    }
  }

  private void start() throws IOException {
    Map<String, String> environment =
        Map.of(
            "COLLECTIVES_TRANSPORT",
            "unix",
            "COLLECTIVES_MEMORY_DIRECTORY",
            sockets.toString(),
            // Long enough that only the end of a process tells of it in time.
            "COLLECTIVES_SILENCE_LIMIT",
            "60");
    ranks.start(SummingProgram.class, rank -> environment, "ring", "" + Integer.MAX_VALUE);
  }
}
