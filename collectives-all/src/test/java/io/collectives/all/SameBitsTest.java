package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.JobSettings;
import io.collectives.Mesh;
import io.collectives.ReduceOp;
import io.collectives.WireType;
import io.collectives.plan.Chunks;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A plan gives the same bits on every transport, with numbers whose sum depends on the order. */
class SameBitsTest {
  private static final int RANKS = 6;
  private static final int COUNT = 5003;
  private static final int SHORT = 500;

  @TempDir Path directory;

  @ParameterizedTest
  @EnumSource
  void transportsGiveTheSameBits(WireType wire) throws Exception {
    List<float[]> results = new ArrayList<>();
    for (Algorithm algorithm :
        List.of(
            Algorithm.ring(),
            Algorithm.torus(Mesh.torus(3, 2)),
            Algorithm.direct(),
            Algorithm.exchange(),
            Algorithm.recursiveDoubling(),
            Algorithm.halvingDoubling())) {
      CallSettings inProcess = CallSettings.defaults().withAlgorithm(algorithm).withWireType(wire);
      CallSettings tcp = inProcess.withFrameLength(512).withSlabsInFlight(3);
      // Frames decide which elements share an exponent.
      List<Communicator> worlds =
          Collectives.inProcess(RANKS, wire == WireType.INT8 ? tcp : inProcess);
      Path rendezvous =
          Files.createDirectory(directory.resolve(algorithm.name().replace(':', '-')));
      float[] one = sum(rank -> worlds.get(rank));
      float[] other = sum(rank -> join(rank, rendezvous, "tcp", tcp));
      assertArrayEquals(bits(one), bits(other), algorithm.name());
      for (float[] earlier : results) {
        assertFalse(Arrays.equals(bits(earlier), bits(one)), "the order does not show");
      }
      results.add(one);
    }
  }

  /** Parts that need no frames, where there are slots. */
  @Test
  void transportsGiveTheSameBitsOfShortParts() throws Exception {
    CallSettings calls = CallSettings.defaults().withAlgorithm(Algorithm.direct());
    List<Communicator> worlds = Collectives.inProcess(RANKS, calls);
    float[] one = part(worlds::get);
    for (String transport : List.of("shm", "tcp")) {
      Path rendezvous = Files.createDirectory(directory.resolve(transport));
      float[] other = part(rank -> join(rank, rendezvous, transport, calls));
      assertArrayEquals(bits(one), bits(other), transport);
    }
  }

  private static Communicator join(int rank, Path at, String transport, CallSettings calls)
      throws Exception {
    return Collectives.join(
        JobSettings.of(rank, RANKS, at.toUri()).withTransport(transport).withCalls(calls));
  }

  private interface Opener {
    Communicator open(int rank) throws Exception;
  }

  private static float[] sum(Opener opener) throws Exception {
    return result(
        opener,
        world -> {
          float[] values = values(world.rank(), COUNT);
          world.allReduce(values, ReduceOp.SUM);
          return values;
        });
  }

  private static float[] part(Opener opener) throws Exception {
    return result(
        opener,
        world -> {
          float[] part = new float[(int) Chunks.count(SHORT, world.rank(), RANKS)];
          world.reduceScatter(values(world.rank(), SHORT), part, ReduceOp.SUM);
          return part;
        });
  }

  /** Returns the result of a rank that does not come first in the order of ranks. */
  private static float[] result(Opener opener, Function<Communicator, float[]> task)
      throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(RANKS);
    try {
      List<Callable<float[]>> ranks =
          IntStream.range(0, RANKS)
              .<Callable<float[]>>mapToObj(
                  rank ->
                      () -> {
                        try (Communicator world = opener.open(rank)) {
                          return task.apply(world);
                        }
                      })
              .toList();
      List<Future<float[]>> all = threads.invokeAll(ranks);
      return all.get(RANKS / 2).get();
    } finally {
      threads.shutdownNow();
    }
  }

  private static float[] values(int rank, int count) {
    Random random = new Random(rank);
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = (float) (random.nextGaussian() * Math.exp(4 * random.nextGaussian()));
    }
    return values;
  }

  private static int[] bits(float[] values) {
    return IntStream.range(0, values.length).map(i -> Float.floatToRawIntBits(values[i])).toArray();
  }
}
