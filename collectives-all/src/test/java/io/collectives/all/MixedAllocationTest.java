package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.Communicator;
import io.collectives.ReduceOp;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Over shared memory and TCP at once, a call that has been made often enough allocates nothing. */
@Timeout(120)
class MixedAllocationTest {
  private static final int RANKS = 3;
  private static final int WARM_UP = 1000;
  private static final int CALLS = 200;

  /**
   * So long rounds are made until each rank had one that was disturbed by nothing, such as a
   * warning that another rank is late, and with code that leaves out what does not escape.
   */
  private static final long LIMIT_NANOS = 60_000_000_000L;

  /**
   * The bytes that JIT compilations and the like take at most; a call that allocates has at least
   * 16.
   */
  private static final double BYTES_PER_CALL = 8;

  @TempDir Path directory;

  @Test
  void aCallAllocatesNothing() throws Exception {
    CallSettings calls =
        CallSettings.defaults().withAlgorithm(Algorithm.direct()).withFrameLength(1024);
    List<Communicator> worlds = MixedJobs.join(RANKS, directory, calls);
    ExecutorService threads = Executors.newFixedThreadPool(RANKS);
    try {
      assertEquals(List.of("shm", "tcp"), worlds.get(0).explain(0).transports());
      List<Future<Double>> figures = new ArrayList<>();
      for (Communicator world : worlds) {
        figures.add(threads.submit(() -> bytesPerCall(world)));
      }
      for (Future<Double> figure : figures) {
        assertTrue(figure.get() < BYTES_PER_CALL, figure.get() + " bytes a call");
      }
      // Who is linked with all that it shares memory with needs not be found any more.
      Awaitility.await()
          .atMost(90, TimeUnit.SECONDS)
          .until(() -> Files.list(directory.resolve("memory")).findAny().isEmpty());
    } finally {
      worlds.forEach(Communicator::close);
      threads.shutdownNow();
    }
  }

  private static double bytesPerCall(Communicator world) {
    ThreadMXBean memory = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    float[] array = new float[3000];
    double least = Double.MAX_VALUE;
    for (int i = 0; i < WARM_UP; i++) {
      world.allReduce(array, ReduceOp.AVERAGE);
    }
    long start = System.nanoTime();
    int[] goesOn = {1};
    while (goesOn[0] > 0) {
      long before = memory.getCurrentThreadAllocatedBytes();
      for (int i = 0; i < CALLS; i++) {
        world.allReduce(array, ReduceOp.AVERAGE);
      }
      double bytes = memory.getCurrentThreadAllocatedBytes() - before;
      least = Math.min(least, bytes / CALLS);
      boolean isLast = least < BYTES_PER_CALL || System.nanoTime() - start > LIMIT_NANOS;
      goesOn[0] = isLast ? 0 : 1;
      world.allReduce(goesOn, ReduceOp.MAX);
    }
    return least;
  }
}
