package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.CollectiveBuffer;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.UserOp;
import io.collectives.WireType;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Partners exchange sums over every kind of transport, and all take the very same one. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class RecursiveDoublingTest {
  /** Two pairs of neighbours, and two ranks by themselves. */
  private static final int RANKS = 6;

  private static final int COUNT = 500;

  /** Shows which operand was the left one, in numbers that stay exact. */
  private static final UserOp LEFT_TWICE =
      UserOp.commutative("twice").withFloats((left, right) -> 2 * left + right);

  private final List<Communicator> worlds = new ArrayList<>();
  @TempDir private Path directory;

  @AfterEach
  void close() {
    worlds.forEach(Communicator::close);
  }

  @ParameterizedTest
  @ValueSource(strings = {"inprocess", "shm", "tcp"})
  void allRanksTakeTheSameSum(String transport) throws Exception {
    CallSettings settings =
        CallSettings.defaults()
            .withAlgorithm(Algorithm.recursiveDoubling())
            .withFrameLength(512)
            .withTimeout(Duration.ofSeconds(30));
    worlds.addAll(ThreadJobs.open(transport, RANKS, directory, settings));
    float[][] narrow = new float[RANKS][];
    ThreadJobs.run(
        worlds,
        world -> {
          operandsAreInTheOrderOfRanks(world);
          whatIsSentIsWhatTheRoundBeganWith(world);
          narrow[world.rank()] = narrow(world);
        });
    for (int rank = 1; rank < RANKS; rank++) {
      assertArrayEquals(bits(narrow[0]), bits(narrow[rank]), "of rank " + rank);
    }
  }

  private static float[] contribution(int rank, int turn) {
    float[] values = new float[COUNT];
    for (int i = 0; i < COUNT; i++) {
      values[i] = (rank + 1) * 1000 + turn * 17 + i;
    }
    return values;
  }

  private static void operandsAreInTheOrderOfRanks(Communicator world) {
    float[] values = contribution(world.rank(), 0);
    world.allReduce(values, LEFT_TWICE);
    float[][] x = new float[RANKS][];
    Arrays.setAll(x, rank -> contribution(rank, 0));
    float[] expected =
        leftTwice(leftTwice(leftTwice(x[0], x[1]), leftTwice(x[2], x[3])), leftTwice(x[4], x[5]));
    assertArrayEquals(expected, values);
  }

  private static float[] leftTwice(float[] left, float[] right) {
    float[] result = new float[COUNT];
    for (int i = 0; i < COUNT; i++) {
      result[i] = 2 * left[i] + right[i];
    }
    return result;
  }

  /** Memory that peers read in place must not be added to before they have. */
  private static void whatIsSentIsWhatTheRoundBeganWith(Communicator world) {
    try (CollectiveBuffer buffer = world.allocate(ElementType.FLOAT32, COUNT)) {
      FloatBuffer floats = buffer.bytes().asFloatBuffer();
      for (int turn = 0; turn < 50; turn++) {
        floats.put(0, contribution(world.rank(), turn));
        world.allReduce(buffer.payload(), ReduceOp.SUM);
        float[] expected = new float[COUNT];
        for (int rank = 0; rank < RANKS; rank++) {
          float[] one = contribution(rank, turn);
          for (int i = 0; i < COUNT; i++) {
            expected[i] += one[i];
          }
        }
        float[] sums = new float[COUNT];
        floats.get(0, sums);
        assertArrayEquals(expected, sums);
      }
    }
  }

  private static float[] narrow(Communicator world) {
    Random random = new Random(world.rank());
    float[] values = new float[COUNT];
    for (int i = 0; i < COUNT; i++) {
      values[i] = (float) random.nextGaussian();
    }
    world.using(WireType.BFLOAT16).allReduce(values, ReduceOp.AVERAGE);
    return values;
  }

  private static int[] bits(float[] values) {
    int[] bits = new int[values.length];
    Arrays.setAll(bits, i -> Float.floatToRawIntBits(values[i]));
    return bits;
  }
}
