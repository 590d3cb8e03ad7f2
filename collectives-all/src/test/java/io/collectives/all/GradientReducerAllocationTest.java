package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.FusionSettings;
import io.collectives.GradientReducer;
import io.collectives.GradientReducer.Tensor;
import io.collectives.Payload;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A step of a gradient reducer allocates little, on all threads of a rank. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class GradientReducerAllocationTest {
  private static final int RANKS = 2;
  private static final int TENSORS = 400;
  private static final int BUFFERS = 4;
  private static final int WARM_UP = 3000;
  private static final int WINDOWS = 4;
  private static final int STEPS = 150;

  /** Handles and what hangs on them: four buffers of a rank. */
  private static final double BYTES_PER_STEP = 600.0 * BUFFERS;

  private static final double BYTES_PER_READY = 2;

  @Test
  void aStepAllocatesLittleForABufferAndNothingForATensor() throws Exception {
    List<Communicator> worlds = Collectives.inProcess(RANKS, CallSettings.defaults());
    ExecutorService threads = Executors.newFixedThreadPool(RANKS);
    try {
      List<Future<double[]>> figures =
          worlds.stream().map(world -> threads.submit(() -> measure(world))).toList();
      for (Future<double[]> figure : figures) {
        double[] bytes = figure.get();
        assertTrue(bytes[0] < BYTES_PER_READY, bytes[0] + " bytes for a tensor");
        assertTrue(bytes[1] < BYTES_PER_STEP, bytes[1] + " bytes for a step of one rank");
      }
    } finally {
      threads.shutdownNow();
    }
  }

  private static double[] measure(Communicator world) {
    ThreadMXBean memory = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    FusionSettings settings =
        FusionSettings.defaults()
            .withBufferLength(TENSORS / BUFFERS * 40)
            .withFirstBufferLength(TENSORS / BUFFERS * 40);
    try (world;
        GradientReducer reducer = GradientReducer.of(world, settings)) {
      List<Tensor> tensors = new ArrayList<>();
      for (int i = 0; i < TENSORS; i++) {
        tensors.add(reducer.register("t" + i, Payload.of(new float[10])));
      }
      double leastInReady = Double.MAX_VALUE;
      double leastInStep = Double.MAX_VALUE;
      steps(WARM_UP, tensors, reducer, memory);
      for (int window = 0; window < WINDOWS; window++) {
        world.barrier();
        long before = ofRanks(memory);
        long inReady = steps(STEPS, tensors, reducer, memory);
        world.barrier();
        long inSteps = ofRanks(memory) - before;
        leastInReady = Math.min(leastInReady, inReady / (double) STEPS / (TENSORS - BUFFERS));
        leastInStep = Math.min(leastInStep, inSteps / (double) STEPS / RANKS);
      }
      world.barrier();
      return new double[] {leastInReady, leastInStep};
    }
  }

  /** Takes steps; returns what {@code ready} has allocated for tensors that begin no call. */
  private static long steps(
      int count, List<Tensor> tensors, GradientReducer reducer, ThreadMXBean memory) {
    long inReady = 0;
    for (int step = 0; step < count; step++) {
      for (int i = 0; i < TENSORS; i++) {
        // The last one of each buffer begins a call.
        boolean isLast = i % (TENSORS / BUFFERS) == TENSORS / BUFFERS - 1;
        long start = isLast ? 0 : memory.getCurrentThreadAllocatedBytes();
        reducer.ready(tensors.get(i));
        inReady += isLast ? 0 : memory.getCurrentThreadAllocatedBytes() - start;
      }
      reducer.await();
    }
    return inReady;
  }

  /** By all threads that the ranks have: those of the test and of the library. */
  private static long ofRanks(ThreadMXBean memory) {
    long bytes = 0;
    for (Thread thread : Thread.getAllStackTraces().keySet()) {
      String name = thread.getName();
      if (name.startsWith("collectives-rank") || name.startsWith("pool-")) {
        bytes += Math.max(0, memory.getThreadAllocatedBytes(thread.getId()));
      }
    }
    return bytes;
  }
}
