package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.RankFailedException;
import io.collectives.ReduceOp;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A process of four real ones is killed or stopped while they sum: every other one gets the typed
 * error that names it, and ends by itself.
 */
@Tag("process")
@Tag("long") // SharedMemoryProcessesTest kills a rank, and SeveralHostsTest waits for a silent one.
class LostProcessTest {
  private static final int SIZE = 4;

  @TempDir Path directory;

  private RankProcesses ranks;

  /** The program of each rank. */
  static final class Program {
    public static void main(String[] arguments) {
      try (Communicator world = Collectives.join()) {
        float[] gradients = new float[100_000];
        for (int step = 0; ; step++) {
          world.allReduce(gradients, ReduceOp.AVERAGE);
          if (step == 20) {
            System.out.println("summing");
          }
        }
      } catch (RankFailedException e) {
        System.out.println("lost rank " + e.worldRank());
      }
    }
  }

  @AfterEach
  void endAll() {
    ranks.close();
  }

  @Test
  void theOthersNameOneThatIsKilled() throws Exception {
    theOthersName("KILL", 0);
  }

  @Test
  void theOthersNameOneThatIsStopped() throws Exception {
    theOthersName("STOP", 3);
  }

  private void theOthersName(String signal, int victim) throws Exception {
    ranks = new RankProcesses(directory, SIZE);
    // Long enough that a survivor which the machine forgets for a while is not taken for dead.
    ranks.start(Program.class, rank -> Map.of("COLLECTIVES_SILENCE_LIMIT", "4"));
    ranks.awaitOutput("summing");
    ranks.signal(signal, victim);
    for (int rank = 0; rank < SIZE; rank++) {
      if (rank != victim) {
        String text = ranks.end(rank);
        assertTrue(text.contains("lost rank " + victim), "rank " + rank + ": " + text);
      }
    }
  }
}
