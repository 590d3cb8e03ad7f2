package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.JobSettings;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A synchronous call that has been made often enough allocates nothing on the heap. */
class SteadyStateAllocationTest {
  private static final int RANKS = 2;
  private static final int WARM_UP = 3000;
  private static final int CALLS = 1000;

  /**
   * JIT compilations and the like allocate a little now and then; a call that allocates has at
   * least 16 bytes.
   */
  private static final double BYTES_PER_CALL = 4;

  @TempDir Path directory;

  @Test
  void inProcess() throws Exception {
    for (Algorithm algorithm : List.of(Algorithm.ring(), Algorithm.direct())) {
      List<Communicator> worlds = Collectives.inProcess(RANKS, settings(algorithm));
      measure(
          IntStream.range(0, RANKS)
              .<Callable<Communicator>>mapToObj(rank -> () -> worlds.get(rank))
              .toList());
    }
  }

  @Test
  void overTcp() throws Exception {
    for (Algorithm algorithm : List.of(Algorithm.ring(), Algorithm.direct())) {
      URI meeting = directory.toUri();
      measure(
          IntStream.range(0, RANKS)
              .<Callable<Communicator>>mapToObj(
                  rank ->
                      () ->
                          Collectives.join(
                              JobSettings.of(rank, RANKS, meeting).withCalls(settings(algorithm))))
              .toList());
    }
  }

  private static CallSettings settings(Algorithm algorithm) {
    return CallSettings.defaults().withAlgorithm(algorithm).withFrameLength(1024);
  }

  private static void measure(List<Callable<Communicator>> ranks) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(RANKS);
    try {
      List<Future<Double>> figures =
          ranks.stream().map(rank -> threads.submit(() -> bytesPerCall(rank.call()))).toList();
      for (Future<Double> figure : figures) {
        assertTrue(figure.get() < BYTES_PER_CALL, figure.get() + " bytes a call");
      }
    } finally {
      threads.shutdownNow();
    }
  }

  private static double bytesPerCall(Communicator world) {
    try (world) {
      ThreadMXBean memory = (ThreadMXBean) ManagementFactory.getThreadMXBean();
      float[] array = new float[3000];
      double[] part = new double[100];
      Payload kept = Payload.of(new long[500]);
      long before = 0;
      for (int i = -WARM_UP; i < CALLS; i++) {
        if (i == 0) {
          before = memory.getCurrentThreadAllocatedBytes();
        }
        world.allReduce(array, ReduceOp.AVERAGE);
        world.allReduce(part, 3, 90, ReduceOp.MAX);
        world.allReduce(kept, ReduceOp.SUM);
        world.barrier();
      }
      return (memory.getCurrentThreadAllocatedBytes() - before) / (4.0 * CALLS);
    }
  }
}
