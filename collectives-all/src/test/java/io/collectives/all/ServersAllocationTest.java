package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.Repeatability;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A dedicated server that serves whatever comes allocates nothing for it on the heap. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class ServersAllocationTest {
  private static final int WORKERS = 2;
  private static final int WARM_UP = 800;
  private static final int WINDOWS = 4;
  private static final int ROUNDS = 100;

  /** Three calls make a round; what is allocated for a call is 16 bytes at least. */
  private static final double BYTES_PER_ROUND = 12;

  @Test
  void aServerAllocatesNothingForACall() throws Exception {
    CallSettings settings =
        CallSettings.defaults()
            .withAlgorithm(Algorithm.parameterServer(1, 1))
            .withFrameLength(1024);
    List<Communicator> worlds = Collectives.inProcess(WORKERS + 1, settings);
    ExecutorService threads = Executors.newFixedThreadPool(WORKERS + 1);
    long[] server = new long[1];
    CountDownLatch known = new CountDownLatch(1);
    try {
      Future<?> service =
          threads.submit(
              () -> {
                server[0] = Thread.currentThread().getId();
                known.countDown();
                worlds.get(WORKERS).serve().await();
              });
      known.await();
      List<Future<Double>> figures =
          worlds.subList(0, WORKERS).stream()
              .map(world -> threads.submit(() -> bytesPerRound(world, server[0], progress())))
              .toList();
      for (Future<Double> figure : figures) {
        assertTrue(figure.get() < BYTES_PER_ROUND, figure.get() + " bytes a round of calls");
      }
      service.get();
    } finally {
      threads.shutdownNow();
      worlds.forEach(Communicator::close);
    }
  }

  /** Of the server; either of its threads may do the work. */
  private static long progress() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().equals("collectives-rank" + WORKERS + "-progress"))
        .mapToLong(Thread::getId)
        .max()
        .orElseThrow();
  }

  private static double bytesPerRound(Communicator world, long server, long progress) {
    try (world) {
      ThreadMXBean memory = (ThreadMXBean) ManagementFactory.getThreadMXBean();
      Communicator asTheyCome = world.using(Repeatability.ARRIVAL_ORDER);
      Communicator exact = world.using(Repeatability.EXACT);
      float[] array = new float[3000];
      Payload longs = Payload.of(new long[500]);
      Payload halves = Payload.of(new short[700], ElementType.BFLOAT16);
      long before = 0;
      long least = Long.MAX_VALUE;
      for (int i = -WARM_UP; i <= WINDOWS * ROUNDS; i++) {
        if (i >= 0 && i % ROUNDS == 0) {
          long now =
              memory.getThreadAllocatedBytes(server) + memory.getThreadAllocatedBytes(progress);
          least = i == 0 ? least : Math.min(least, now - before);
          before =
              memory.getThreadAllocatedBytes(server) + memory.getThreadAllocatedBytes(progress);
        }
        world.allReduce(array, ReduceOp.AVERAGE);
        asTheyCome.allReduce(longs, ReduceOp.SUM);
        exact.allReduce(halves, ReduceOp.SUM);
      }
      return least / (double) ROUNDS;
    }
  }
}
