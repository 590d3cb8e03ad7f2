package io.collectives.bench.timeline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.bench.LaunchedJob;
import io.collectives.bench.perf.ThreadRanks;
import io.collectives.bench.process.FreePort;
import io.collectives.bench.process.JavaCommand;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Traces of ranks that are processes, by the variable that switches them on. */
@DisabledOnOs(OS.WINDOWS)
class TracedProcessesTest {
  private static final int RANKS = 3;
  private static final int CALLS = 120;

  /** So many follow each other that not all can be timed by themselves, however slow they are. */
  private static final int SMALL = 12;

  @TempDir private Path directory;

  /** Sums of few bytes, of many, and of memory that the others can reach. */
  static final class Program {
    private Program() {}

    public static void main(String[] args) {
      try (Communicator world = Collectives.join()) {
        sum(world);
      }
    }
  }

  private static Communicator sum(Communicator world) {
    long before = world.nextSequence();
    for (int i = 0; i < 8; i++) {
      for (int small = 0; small < SMALL; small++) {
        world.allReduce(new float[2], ReduceOp.SUM);
      }
      world.allReduce(new float[50_000], ReduceOp.SUM);
    }
    var leased = world.allocate(ElementType.FLOAT32, 100_000);
    while (world.nextSequence() < before + CALLS) {
      world.allReduce(leased.payload(), leased.payload(), ReduceOp.SUM);
    }
    return world;
  }

  @Test
  void everyFrameHasTwoEnds() throws Exception {
    String said =
        LaunchedJob.run(
            List.of("-n", "2", "--transport", "tcp"),
            "COLLECTIVES_TRACE=" + directory,
            List.of(
                JavaCommand.executable(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                Program.class.getName()));
    JobTrace job = Traces.check(directory, 2, CALLS);
    assertTrue(job.offsets().error(1) < 10_000_000_000L, said);
  }

  /** Ranks that are threads, but talk as processes do. */
  @ParameterizedTest
  @ValueSource(strings = {"shm", "unix"})
  void everyFrameOfThreadsHasTwoEnds(String transport) throws Exception {
    CallSettings traced = CallSettings.defaults().withTraceDirectory(directory);
    try (ThreadRanks ranks = ThreadRanks.joined(RANKS, transport, traced, FreePort.find())) {
      ranks.all(TracedProcessesTest::sum);
    }
    JobTrace job = Traces.check(directory, RANKS, CALLS);
    assertEquals(
        transport.equals("shm"),
        job.frames().stream().anyMatch(frame -> frame.received().isInline()),
        "calls of few bytes go by inline exchange in shared memory only");
  }
}
