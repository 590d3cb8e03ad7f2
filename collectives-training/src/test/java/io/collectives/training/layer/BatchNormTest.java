package io.collectives.training.layer;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.training.Jobs;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
class BatchNormTest {
  private static final long SEED = Long.getLong("collectives.seed", 20_261_124L);
  private static final int CHANNELS = 3;
  private static final int SPATIAL = 7;

  private static float[] normal(Random random, int count, double mean, double deviation) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = (float) (mean + deviation * random.nextGaussian());
    }
    return values;
  }

  /** The results of a process with the whole batch, by the formulas, in double. */
  private record Whole(double[] y, double[] dx, double[] dScale, double[] dShift) {
    static Whole of(float[] x, float[] dy, int batch, float[] scale, float[] shift) {
      double[] y = new double[x.length];
      double[] dx = new double[x.length];
      double[] dScale = new double[CHANNELS];
      double[] dShift = new double[CHANNELS];
      for (int c = 0; c < CHANNELS; c++) {
        int count = batch * SPATIAL;
        double mean = 0;
        for (int k = 0; k < count; k++) {
          mean += (double) x[at(k, c)] / count;
        }
        double variance = 0;
        for (int k = 0; k < count; k++) {
          variance += Math.pow(x[at(k, c)] - mean, 2) / count;
        }
        double deviation = Math.sqrt(variance + 1e-5);
        for (int k = 0; k < count; k++) {
          double normal = (x[at(k, c)] - mean) / deviation;
          y[at(k, c)] = scale[c] * normal + shift[c];
          dShift[c] += dy[at(k, c)];
          dScale[c] += dy[at(k, c)] * normal;
        }
        for (int k = 0; k < count; k++) {
          double normal = (x[at(k, c)] - mean) / deviation;
          dx[at(k, c)] =
              scale[c]
                  / deviation
                  * (dy[at(k, c)] - dShift[c] / count - normal * dScale[c] / count);
        }
      }
      return new Whole(y, dx, dScale, dShift);
    }

    private static int at(int k, int c) {
      return (k / SPATIAL * CHANNELS + c) * SPATIAL + k % SPATIAL;
    }
  }

  /** Of uneven and empty batches, far from zero, too. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 5})
  void isThatOfTheWholeBatch(int ranks) throws Exception {
    for (double mean : new double[] {0, 1000, -1e5}) {
      Random sizes = new Random(SEED + ranks);
      int[] batches = new int[ranks];
      for (int rank = 0; rank < ranks; rank++) {
        batches[rank] = rank == (ranks > 2 ? 0 : 1) ? 0 : 1 + sizes.nextInt(6);
      }
      int batch = Arrays.stream(batches).sum();
      int sample = CHANNELS * SPATIAL;
      float[] x = normal(new Random(SEED), batch * sample, mean, 2);
      float[] dy = normal(new Random(SEED + 1), batch * sample, 0.5, 1);
      float[] scale = {1.5f, -0.5f, 1};
      float[] shift = {0.25f, 0, -3};
      Whole whole = Whole.of(x, dy, batch, scale, shift);
      double[][] gradients = new double[ranks][];
      Jobs.run(
          ranks,
          world -> {
            BatchNorm norm = BatchNorm.of(world, CHANNELS);
            System.arraycopy(scale, 0, norm.scale(), 0, CHANNELS);
            System.arraycopy(shift, 0, norm.shift(), 0, CHANNELS);
            int before = Arrays.stream(batches).limit(world.rank()).sum() * sample;
            int count = batches[world.rank()] * sample;
            float[] mine = Arrays.copyOfRange(x, before, before + count);
            float[] y = new float[count];
            float[] dx = Arrays.copyOfRange(dy, before, before + count);
            norm.forward(mine, batches[world.rank()], SPATIAL, y);
            norm.backward(dx, dx);
            for (int i = 0; i < count; i++) {
              assertEquals(whole.y[before + i], y[i], 1e-5 * (4 + Math.abs(whole.y[before + i])));
              assertEquals(whole.dx[before + i], dx[i], 1e-5);
            }
            double[] own = new double[2 * CHANNELS];
            for (int c = 0; c < CHANNELS; c++) {
              own[c] = norm.scaleGradients()[c];
              own[CHANNELS + c] = norm.shiftGradients()[c];
            }
            gradients[world.rank()] = own;
          });
      for (int c = 0; c < CHANNELS; c++) {
        int channel = c;
        double dScale = Arrays.stream(gradients).mapToDouble(g -> g[channel]).sum();
        double dShift = Arrays.stream(gradients).mapToDouble(g -> g[CHANNELS + channel]).sum();
        assertEquals(whole.dScale[c], dScale, 1e-4);
        assertEquals(whole.dShift[c], dShift, 1e-4);
      }
    }
  }

  /** Groups of two among five ranks: each has its own statistics until they are shared. */
  @Test
  void groupsNormaliseByThemselves() throws Exception {
    Jobs.run(
        5,
        world -> {
          try (Communicator group = BatchNorm.groups(world, 2)) {
            assertEquals(world.rank() == 4 ? 1 : 2, group.size());
            BatchNorm norm = BatchNorm.of(group, CHANNELS, 1, 0);
            float[] x = new float[2 * CHANNELS];
            for (int i = 0; i < x.length; i++) {
              x[i] = world.rank() / 2 * 10 + world.rank() % 2 + i / CHANNELS; // a, a + 1; + 1
            }
            float[] y = new float[x.length];
            norm.forward(x, 2, 1, y);
            double mean = 10 * (world.rank() / 2) + (world.rank() == 4 ? 0.5 : 1);
            assertArrayEquals(new double[] {mean, mean, mean}, norm.runningMean(), 1e-12);
            double variance = world.rank() == 4 ? 0.5 : 2 / 3.0;
            assertEquals(variance, norm.runningVariance()[1], 1e-12);
            sameOnAll(group, norm.runningVariance());
            norm.share(world);
            sameOnAll(world, norm.runningMean());
            sameOnAll(world, norm.runningVariance());
            double[] means = {1, 1, 11, 11, 20.5};
            double average = Arrays.stream(means).average().orElseThrow();
            double between = Arrays.stream(means).map(m -> (m - average) * (m - average)).sum() / 5;
            assertEquals(average, norm.runningMean()[2], 1e-12);
            assertEquals((4 * 2 / 3.0 + 0.5) / 5 + between, norm.runningVariance()[0], 1e-12);
            norm.infer(x, 2, 1, y);
            assertEquals((x[0] - average) / Math.sqrt(norm.runningVariance()[0]), y[0], 1e-5);
          }
        });
  }

  private static void sameOnAll(Communicator group, double[] values) {
    double[] first = values.clone();
    group.broadcast(Payload.of(first), 0);
    assertArrayEquals(first, values);
  }

  @Test
  void runningStatisticsMoveByTheMomentum() throws Exception {
    Jobs.run(
        2,
        world -> {
          BatchNorm norm = BatchNorm.of(world, 1, 0.25, 1e-5);
          norm.forward(new float[] {4 * world.rank()}, 1, 1, new float[1]); // 0 and 4
          assertEquals(0.5, norm.runningMean()[0]);
          assertEquals(0.75 + 0.25 * 8, norm.runningVariance()[0]);
          // Not a number, or nobody has a sample: they stay; what comes out is defined.
          float[] y = new float[1];
          norm.forward(new float[] {world.rank() == 0 ? Float.NaN : 1}, 1, 1, y);
          assertTrue(Float.isNaN(y[0]), "on all ranks");
          norm.forward(new float[0], 0, 1, new float[0]);
          norm.backward(new float[0], new float[0]);
          assertEquals(0, norm.scaleGradients()[0]);
          assertEquals(0.5, norm.runningMean()[0]);
          assertEquals(2.75, norm.runningVariance()[0]);
        });
  }

  @Test
  void argumentsAreChecked() throws Exception {
    Jobs.run(
        1,
        world -> {
          assertThrows(IllegalArgumentException.class, () -> BatchNorm.of(world, 0));
          assertThrows(IllegalArgumentException.class, () -> BatchNorm.of(world, 1, 2, 0));
          assertThrows(IllegalArgumentException.class, () -> BatchNorm.groups(world, 0));
          BatchNorm norm = BatchNorm.of(world, 2);
          assertThrows(
              IllegalArgumentException.class, () -> norm.forward(new float[5], 1, 3, new float[6]));
        });
  }
}
