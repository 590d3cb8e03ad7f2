package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.CallSettings;
import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.testkit.RankThreads;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The end of an asynchronous call is told in time. */
class CompletionTest {
  private static final int ROUNDS = 100;

  /** Else two ranks can wait for each other: each for the end of a call that has ended. */
  @ParameterizedTest
  @ValueSource(strings = {"inprocess", "tcp"})
  void anEndIsToldWhileItsThreadWaitsInAnotherCall(String transport, @TempDir Path directory)
      throws Exception {
    CallSettings settings = CallSettings.defaults().withTimeout(Duration.ofSeconds(20));
    List<Communicator> worlds = ThreadJobs.open(transport, 2, directory, settings);
    Semaphore told = new Semaphore(0);
    try {
      RankThreads.run(
          worlds,
          world -> {
            Communicator other = world.group(0, 1);
            float[] values = new float[8];
            for (int round = 0; round < ROUNDS; round++) {
              if (world.rank() == 0) {
                world
                    .async()
                    .allReduce(Payload.of(values), ReduceOp.SUM)
                    .toCompletableFuture()
                    .thenRun(told::release);
                other.barrier();
              } else {
                world.allReduce(values, ReduceOp.SUM);
                assertTrue(
                    told.tryAcquire(10, TimeUnit.SECONDS), "rank 0 was not told, round " + round);
                other.barrier();
              }
            }
          });
    } finally {
      worlds.forEach(Communicator::close);
    }
  }
}
