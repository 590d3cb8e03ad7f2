package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.MismatchException;
import io.collectives.Payload;
import io.collectives.testkit.RankThreads;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The difference between calls of ranks is told in the words of the methods that they have called.
 */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class MismatchWordsTest {

  /** The body of a rank. */
  private interface Body {
    void run(Communicator world) throws Exception;
  }

  private static void assertTold(Body body, List<String> facts, List<String> others)
      throws Exception {
    List<Communicator> worlds =
        Collectives.inProcess(2, CallSettings.defaults().withTimeout(Duration.ofSeconds(20)));
    try {
      for (Throwable outcome : RankThreads.outcomes(worlds, body::run)) {
        String message = assertInstanceOf(MismatchException.class, outcome).getMessage();
        assertTrue(facts.stream().allMatch(message::contains), message);
        assertTrue(message.contains("rank 0 has") && message.contains("rank 1 has"), message);
        assertTrue(others.stream().noneMatch(message::contains), message);
      }
    } finally {
      worlds.forEach(Communicator::close);
    }
  }

  @Test
  void aSendThatDoesNotFitItsReceive() throws Exception {
    assertTold(
        world -> {
          if (world.rank() == 0) {
            world.send(Payload.of(new float[10]), 1);
          } else {
            world.receive(Payload.of(new float[12]), 0);
          }
          world.barrier();
        },
        List.of(
            "send/receive #0 from rank 0 to rank 1",
            "rank 0 has count 10",
            "rank 1 has count 12",
            "send/receive of 12 float32"),
        List.of("broadcast", "of group ", "sum", "message"));
  }

  @Test
  void aBarrierHasNoElements() throws Exception {
    assertTold(
        world -> {
          if (world.rank() == 0) {
            world.barrier();
          } else {
            world.broadcast(new float[3], 1);
          }
          world.barrier();
        },
        List.of(
            "collective barrier", "collective broadcast", ": barrier, ", "broadcast of 3 float32"),
        List.of("sum", "barrier of"));
  }
}
