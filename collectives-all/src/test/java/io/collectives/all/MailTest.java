package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.CallTimeoutException;
import io.collectives.CollectiveHandle;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.MismatchException;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.spi.InlineExchange;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Exchanges of few bytes between ranks that share memory. */
@Timeout(120)
class MailTest {
  private static final int RANKS = 3;

  @TempDir Path directory;

  private final ExecutorService threads = Executors.newFixedThreadPool(RANKS);

  @AfterEach
  void stop() {
    threads.shutdownNow();
  }

  /** A rank that is through a barrier may be gone before others have looked. */
  @ParameterizedTest
  @ValueSource(strings = {"inprocess", "shm"})
  void everybodyGetsThroughTheLastBarrier(String transport) throws Exception {
    int jobs = transport.equals("shm") ? 10 : 100;
    for (int job = 0; job < jobs; job++) {
      onAll(
          open(transport, Duration.ofSeconds(60)),
          world -> {
            float[] values = {1, world.rank()};
            world.allReduce(values, ReduceOp.SUM);
            assertArrayEquals(new float[] {3, 3}, values);
            world.barrier();
            world.close();
          });
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"inprocess", "shm"})
  void callsOfAllSizesMayBeUnderWayTogether(String transport) throws Exception {
    long seed = System.nanoTime();
    System.out.println("seed " + seed);
    onAll(
        open(transport, Duration.ofSeconds(60)),
        world -> {
          Random sizes = new Random(seed);
          for (int round = 0; round < 20; round++) {
            List<long[]> arrays = new ArrayList<>();
            List<CollectiveHandle> handles = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
              int count =
                  sizes.nextBoolean()
                      ? sizes.nextInt(20)
                      : InlineExchange.CAPACITY / Long.BYTES - 2 + sizes.nextInt(5);
              long[] array = new long[count];
              Arrays.setAll(array, k -> 1000L * world.rank() + k);
              arrays.add(array);
              handles.add(world.async().allReduce(Payload.of(array), ReduceOp.SUM));
              if (sizes.nextInt(4) == 0) {
                handles.add(world.async().barrier());
              }
            }
            handles.forEach(CollectiveHandle::await);
            for (long[] array : arrays) {
              for (int k = 0; k < array.length; k++) {
                assertEquals(3000L + 3L * k, array[k], "seed " + seed);
              }
            }
          }
          world.barrier();
        });
  }

  @ParameterizedTest
  @ValueSource(strings = {"inprocess", "shm"})
  void otherCallsAreToldApart(String transport) throws Exception {
    for (int[] counts : new int[][] {{3, 3, 4}, {3, 5000, 3}}) {
      onAll(
          open(transport, Duration.ofSeconds(60)),
          world -> {
            float[] array = new float[counts[world.rank()]];
            String message =
                assertThrows(MismatchException.class, () -> world.allReduce(array, ReduceOp.SUM))
                    .getMessage();
            assertTrue(
                message.contains("count " + Arrays.stream(counts).max().getAsInt()), message);
            assertTrue(message.contains("count 3"), message);
          });
    }
    onAll(
        open(transport, Duration.ofSeconds(60)),
        world -> {
          float[] array = new float[3];
          ReduceOp op = world.rank() == 1 ? ReduceOp.MAX : ReduceOp.SUM;
          String message =
              assertThrows(MismatchException.class, () -> world.allReduce(array, op)).getMessage();
          assertTrue(message.contains("op max") && message.contains("op sum"), message);
        });
  }

  @ParameterizedTest
  @ValueSource(strings = {"inprocess", "shm"})
  void whoDoesNotCallIsNamed(String transport) throws Exception {
    CountDownLatch missing = new CountDownLatch(RANKS - 1);
    onAll(
        open(transport, Duration.ofMillis(700)),
        world -> {
          world.barrier();
          if (world.rank() == 1) {
            missing.await();
            return;
          }
          String message =
              assertThrows(
                      CallTimeoutException.class, () -> world.allReduce(new float[2], ReduceOp.SUM))
                  .getMessage();
          missing.countDown();
          assertTrue(message.contains("rank 1"), message);
        });
  }

  private List<Communicator> open(String transport, Duration timeout) throws Exception {
    CallSettings calls =
        CallSettings.defaults().withAlgorithm(Algorithm.exchange()).withTimeout(timeout);
    return transport.equals("shm")
        ? SharedMemoryJobs.join(RANKS, directory, calls)
        : Collectives.inProcess(RANKS, calls);
  }

  private void onAll(List<Communicator> worlds, Rank action) throws Exception {
    List<Future<?>> ranks = new ArrayList<>();
    for (Communicator world : worlds) {
      ranks.add(
          threads.submit(
              () -> {
                action.run(world);
                return null;
              }));
    }
    try {
      for (Future<?> rank : ranks) {
        rank.get();
      }
    } finally {
      worlds.forEach(Communicator::close);
    }
  }

  private interface Rank {
    void run(Communicator world) throws Exception;
  }
}
