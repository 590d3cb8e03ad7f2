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
import java.util.stream.IntStream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A plan gives the same bits on every transport, with numbers whose sum depends on the order. */
class SameBitsTest {
  private static final int RANKS = 6;
  private static final int COUNT = 5003;

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
      float[] other =
          sum(
              rank ->
                  Collectives.join(
                      JobSettings.of(rank, RANKS, rendezvous.toUri())
                          .withTransport("tcp")
                          .withCalls(tcp)));
      assertArrayEquals(bits(one), bits(other), algorithm.name());
      for (float[] earlier : results) {
        assertFalse(Arrays.equals(bits(earlier), bits(one)), "the order does not show");
      }
      results.add(one);
    }
  }

  private interface Opener {
    Communicator open(int rank) throws Exception;
  }

  /** Returns the result of rank 0. */
  private static float[] sum(Opener opener) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(RANKS);
    try {
      List<Callable<float[]>> ranks =
          IntStream.range(0, RANKS)
              .<Callable<float[]>>mapToObj(
                  rank ->
                      () -> {
                        try (Communicator world = opener.open(rank)) {
                          float[] values = values(rank);
                          world.allReduce(values, ReduceOp.SUM);
                          return values;
                        }
                      })
              .toList();
      List<Future<float[]>> all = threads.invokeAll(ranks);
      return all.get(0).get();
    } finally {
      threads.shutdownNow();
    }
  }

  private static float[] values(int rank) {
    Random random = new Random(rank);
    float[] values = new float[COUNT];
    for (int i = 0; i < COUNT; i++) {
      values[i] = (float) (random.nextGaussian() * Math.exp(4 * random.nextGaussian()));
    }
    return values;
  }

  private static int[] bits(float[] values) {
    return IntStream.range(0, values.length).map(i -> Float.floatToRawIntBits(values[i])).toArray();
  }
}
