package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.CollectiveBuffer;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.JobSettings;
import io.collectives.Payload;
import io.collectives.PersistentCall;
import io.collectives.ReduceOp;
import io.collectives.Repeatability;
import io.collectives.UserOp;
import io.collectives.WireType;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A synchronous call that has been made often enough, and a persistent one, allocate nothing on the
 * heap. Sockets are Netty's epoll, for which the JVM has to grant native access: each read of NIO's
 * makes a view.
 */
@Timeout(value = 180, unit = TimeUnit.SECONDS)
class SteadyStateAllocationTest {
  private static final int RANKS = 2;

  /** Many calls make a round, and rounds a window. */
  private static final int ROUNDS = 50;

  /**
   * In the first of the windows that all ranks get through with so little: until the compiler has
   * seen enough, and whenever it works, calls allocate; a call that always does has at least 16
   * bytes in each round.
   */
  private static final double BYTES_PER_ROUND = 12;

  /**
   * Windows begin for so long. Time is the bound, since a window passes in 50 ms and what disturbs
   * ranks may last longer: a call that finds its engine taken queues for it, which takes an object.
   */
  private static final double SECONDS = 40;

  @TempDir Path directory;

  @Test
  void inProcess() throws Exception {
    for (Algorithm algorithm :
        List.of(Algorithm.ring(), Algorithm.direct(), Algorithm.exchange())) {
      List<Communicator> worlds = Collectives.inProcess(RANKS, settings(algorithm));
      measure(
          IntStream.range(0, RANKS)
              .<Callable<Communicator>>mapToObj(rank -> () -> worlds.get(rank))
              .toList());
    }
  }

  @Test
  void overTcp() throws Exception {
    joined("tcp", Algorithm.ring());
  }

  @Test
  void overUnixDomainSockets() throws Exception {
    joined("unix", Algorithm.direct());
  }

  @Test
  void overSharedMemory() throws Exception {
    joined("shm", Algorithm.direct());
  }

  @Test
  void overAMixture() throws Exception {
    joined("auto", Algorithm.ring());
  }

  private void joined(String transport, Algorithm algorithm) throws Exception {
    URI rendezvous = directory.toUri();
    measure(
        IntStream.range(0, RANKS)
            .<Callable<Communicator>>mapToObj(
                rank ->
                    () ->
                        Collectives.join(
                            JobSettings.of(rank, RANKS, rendezvous)
                                .withTransport(transport)
                                .withMemoryDirectory(directory)
                                .withCalls(settings(algorithm))))
            .toList());
  }

  private static CallSettings settings(Algorithm algorithm) {
    return CallSettings.defaults().withAlgorithm(algorithm).withFrameLength(4096);
  }

  private static void measure(List<Callable<Communicator>> ranks) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(RANKS);
    try {
      List<Future<Double>> figures =
          ranks.stream().map(rank -> threads.submit(() -> bytesPerRound(rank.call()))).toList();
      for (Future<Double> figure : figures) {
        assertTrue(figure.get() < BYTES_PER_ROUND, figure.get() + " bytes a round of calls");
      }
    } finally {
      threads.shutdownNow();
    }
  }

  private static double bytesPerRound(Communicator world) {
    try (world) {
      ThreadMXBean memory = (ThreadMXBean) ManagementFactory.getThreadMXBean();
      float[] array = new float[3000];
      Communicator narrow = world.using(WireType.FLOAT16);
      Communicator exact = world.using(Repeatability.EXACT);
      float[] doubtful = new float[600];
      Arrays.fill(doubtful, world.rank() == 0 ? Float.POSITIVE_INFINITY : 1);
      UserOp own = UserOp.inRankOrder("first").withFloats((left, right) -> left);
      Payload halves = Payload.of(new short[700], ElementType.BFLOAT16);
      double[] part = new double[100];
      Payload kept = Payload.of(new long[500]);
      Payload keptFloats = Payload.of(new float[700]);
      float[] shard = new float[(int) world.partCount(array.length, world.rank())];
      Payload swapped = Payload.of(new long[500]);
      Payload keptShard = Payload.of(new long[250]);
      Payload large = Payload.of(new double[1500]);
      Payload largeShard = Payload.of(new double[750]);
      long[] counts = {200, 300};
      Payload uneven = Payload.of(new long[(int) counts[world.rank()]]);
      CollectiveBuffer buffer = world.allocate(ElementType.FLOAT32, 3000);
      Payload allocated = buffer.payload();
      Payload range = buffer.payload(1500, 700);
      Payload allocatedShard = world.allocate(ElementType.FLOAT32, 1500).payload();
      Communicator checking = world.checkingFinite();
      PersistentCall sum = world.prepared().allReduce(keptFloats, ReduceOp.SUM);
      PersistentCall gather = world.prepared().allGather(largeShard, large);
      Payload tensors =
          Payload.of(
              List.of(
                  Payload.submatrix(Payload.of(new float[400]), 20, 0, 5, 20, 3),
                  Payload.strided(buffer.payload(), 1, 2, 260, 300),
                  Payload.of(new short[40], ElementType.FLOAT16)));
      Payload residual = Payload.of(new float[580]);
      boolean isExchange = world.settings().algorithm().equals(Algorithm.exchange());
      double[] worst = new double[2];
      long start = System.nanoTime();
      long before = memory.getCurrentThreadAllocatedBytes();
      for (int i = 1; worst[1] < SECONDS; i++) {
        world.allReduce(array, ReduceOp.AVERAGE);
        narrow.allReduce(array, ReduceOp.AVERAGE);
        exact.allReduce(doubtful, ReduceOp.SUM);
        exact.allReduce(halves, ReduceOp.AVERAGE);
        world.allReduce(keptFloats, own);
        checking.allReduce(part, ReduceOp.MAX);
        sum.run();
        gather.start();
        gather.await();
        world.allReduce(halves, ReduceOp.SUM);
        world.allReduce(kept, ReduceOp.SUM);
        world.allReduce(allocated, ReduceOp.SUM);
        world.allReduce(range, ReduceOp.AVERAGE);
        world.allReduce(world.rank() == 0 ? range : keptFloats, ReduceOp.SUM);
        world.broadcast(allocated, 0);
        world.reduceScatter(allocated, allocatedShard, ReduceOp.SUM);
        world.allGather(allocatedShard, allocated);
        narrow.reduce(tensors, tensors, ReduceOp.SUM, 1);
        if (isExchange) {
          world.allReduce(tensors, ReduceOp.AVERAGE);
        } else {
          narrow.allReduce(tensors, tensors, ReduceOp.AVERAGE, residual);
        }
        world.barrier();
        world.broadcast(array, 1);
        world.broadcast(kept, 0);
        world.reduceScatter(array, shard, ReduceOp.AVERAGE);
        world.reduceScatter(kept, keptShard, ReduceOp.SUM);
        world.reduceScatter(large, largeShard, ReduceOp.SUM);
        world.reduceScatter(kept, uneven, counts, ReduceOp.MAX);
        world.allGather(shard, array);
        world.allGather(largeShard, large);
        world.allGather(uneven, kept, counts);
        world.allToAll(kept, swapped);
        if (world.rank() == 0) {
          world.send(kept, 1);
        } else {
          world.receive(kept, 0);
        }
        if (i % ROUNDS == 0) {
          worst[0] = (memory.getCurrentThreadAllocatedBytes() - before) / (double) ROUNDS;
          worst[1] = (System.nanoTime() - start) / 1e9;
          world.allReduce(worst, ReduceOp.MAX);
          if (worst[0] < BYTES_PER_ROUND) {
            break;
          }
          before = memory.getCurrentThreadAllocatedBytes();
        }
      }
      return worst[0];
    }
  }
}
