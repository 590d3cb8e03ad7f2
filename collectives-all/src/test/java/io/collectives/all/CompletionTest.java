package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.CallSettings;
import io.collectives.CollectiveHandle;
import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.testkit.RankThreads;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
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

  /** It should not wait, but the rank must not stand still if it does. */
  @ParameterizedTest
  @ValueSource(strings = {"inprocess", "tcp"})
  void whatACompletionWaitsForGoesOn(String transport, @TempDir Path directory) throws Exception {
    List<Communicator> worlds = ThreadJobs.open(transport, 2, directory, CallSettings.defaults());
    CountDownLatch awaited = new CountDownLatch(1);
    CountDownLatch completes = new CountDownLatch(1);
    CountDownLatch ended = new CountDownLatch(1);
    try {
      RankThreads.run(
          worlds,
          world -> {
            Communicator other = world.group(0, 1);
            Payload small = Payload.of(new float[8]);
            Payload large = Payload.of(new float[1 << 20]);
            if (world.rank() == 1) {
              assertTrue(awaits(awaited));
              world.allReduce(small, ReduceOp.SUM);
              assertTrue(awaits(completes));
              other.allReduce(large, ReduceOp.SUM);
              return;
            }
            CollectiveHandle first = world.async().allReduce(small, ReduceOp.SUM);
            CollectiveHandle second = other.async().allReduce(large, ReduceOp.SUM);
            second.thenRun(ended::countDown);
            CompletionStage<Boolean> waited =
                first.thenApply(
                    nothing -> {
                      completes.countDown();
                      return awaits(ended);
                    });
            awaited.countDown();
            first.await();
            second.await();
            assertTrue(waited.toCompletableFuture().join(), "the second call stood still");
          });
    } finally {
      worlds.forEach(Communicator::close);
    }
  }

  private static boolean awaits(CountDownLatch latch) {
    try {
      return latch.await(10, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
