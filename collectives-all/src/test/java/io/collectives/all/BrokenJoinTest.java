package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.collectives.AbortedException;
import io.collectives.CollectiveException;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.JobSettings;
import io.collectives.ReduceOp;
import io.collectives.testkit.FreePort;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A group that breaks while some of it have gone to meet newcomers comes together again. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class BrokenJoinTest {
  private static final int RANKS = 3;

  @TempDir Path directory;

  @Test
  void whoWaitsInADirectoryComesBack() throws Exception {
    comesBack(directory.toUri());
  }

  @Test
  void whoWaitsAtAPortComesBack() throws Exception {
    comesBack(URI.create("tcp://localhost:" + FreePort.find()));
  }

  private static void comesBack(URI place) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(RANKS);
    try {
      List<Future<?>> ends = new ArrayList<>();
      for (int rank = 0; rank < RANKS; rank++) {
        JobSettings settings =
            JobSettings.of(rank, RANKS, place).withJoinTimeout(Duration.ofMinutes(10));
        ends.add(threads.submit(() -> live(settings)));
      }
      for (Future<?> end : ends) {
        end.get(50, TimeUnit.SECONDS);
      }
    } finally {
      threads.shutdownNow();
    }
  }

  private static void live(JobSettings settings) {
    try (Communicator world = Collectives.join(settings)) {
      CollectiveException error;
      if (world.rank() == 1) {
        // What the others do before they join the newcomers, which this one does not.
        world.barrier();
        world.abort("planted");
        error = assertThrows(CollectiveException.class, world::barrier);
      } else {
        error = assertThrows(CollectiveException.class, world::grow);
      }
      assertEquals(1, assertInstanceOf(AbortedException.class, error).worldRank());
      Communicator group = world.shrink().group();
      int[] one = {1};
      group.allReduce(one, ReduceOp.SUM);
      assertEquals(RANKS, one[0]);
    }
  }
}
