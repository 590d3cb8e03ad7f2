package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.FusionSettings;
import io.collectives.GradientReducer;
import io.collectives.Payload;
import io.collectives.RankFailedException;
import io.collectives.ps.ParameterServers;
import io.collectives.ps.Roles;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Processes that train with dedicated servers, said by the environment. A server is killed, and all
 * others name it and go on without it; then a worker is, and all others name that one.
 */
@Tag("process")
@Tag("once")
@Tag("long")
class ServersProcessesTest {
  private static final int SIZE = 4;
  private static final int LOST_SERVER = 2;
  private static final int LOST_WORKER = 1;

  @TempDir Path directory;

  private RankProcesses ranks;

  /** The program of each rank. */
  static final class Program {
    public static void main(String[] arguments) {
      try (Communicator world = Collectives.join()) {
        ParameterServers servers = ParameterServers.of(world, Roles.fromEnvironment(world));
        try {
          train(servers, "first");
        } catch (RankFailedException e) {
          System.out.println("lost rank " + e.worldRank());
        }
        try {
          train(servers.on(world.shrink().group()), "second");
        } catch (RankFailedException e) {
          System.out.println("then lost rank " + e.worldRank());
        }
      }
    }

    private static void train(ParameterServers servers, String job) {
      if (!servers.isWorker()) {
        System.out.println(job + " job: serving");
        servers.serve();
        return;
      }
      FusionSettings fusion = FusionSettings.balancedBuffers();
      try (GradientReducer reducer =
          GradientReducer.of(servers.workers(), fusion, servers.reduction())) {
        GradientReducer.Tensor tensor = reducer.register("t", Payload.of(new float[300_000]));
        for (int step = 0; ; step++) {
          reducer.ready(tensor);
          reducer.await();
          if (step == 5) {
            System.out.println(job + " job: training");
          }
        }
      }
    }
  }

  @AfterEach
  void endAll() {
    ranks.close();
  }

  @Test
  void theOthersNameItAndGoOn() throws Exception {
    ranks = new RankProcesses(directory, SIZE);
    ranks.start(Program.class, rank -> Map.of("COLLECTIVES_SERVERS", "2"));
    ranks.awaitOutput(0, "first job: training");
    ranks.awaitOutput(1, "first job: training");
    ranks.signal("KILL", LOST_SERVER);
    for (int rank = 0; rank < SIZE; rank++) {
      if (rank != LOST_SERVER) {
        ranks.awaitOutput(rank, "lost rank " + LOST_SERVER);
        ranks.awaitOutput(rank, "second job: " + (rank < 2 ? "training" : "serving"));
      }
    }
    ranks.signal("KILL", LOST_WORKER);
    for (int rank : new int[] {0, 3}) {
      String text = ranks.end(rank);
      assertTrue(text.contains("then lost rank " + LOST_WORKER), "rank " + rank + ": " + text);
    }
  }
}
