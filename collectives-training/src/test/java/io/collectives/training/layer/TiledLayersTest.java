package io.collectives.training.layer;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.collectives.Communicator;
import io.collectives.Mesh;
import io.collectives.MismatchException;
import io.collectives.ReduceOp;
import io.collectives.training.Jobs;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
@Tag("once")
class TiledLayersTest {
  private static final long SEED = Long.getLong("collectives.seed", 20_261_124L);
  private static final int BATCH = 2;
  private static final int IN = 3;
  private static final int OUT = 2;

  private static float[] normal(Random random, int count) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = (float) random.nextGaussian();
    }
    return values;
  }

  /** A layer on whole images, element by element, in double. */
  private static final class Whole {
    final int height;
    final int width;
    final int kernel;
    final int stride;
    final int padding;
    final int rows;
    final int columns;

    Whole(int height, int width, int kernel, int stride, int padding) {
      this.height = height;
      this.width = width;
      this.kernel = kernel;
      this.stride = stride;
      this.padding = padding;
      this.rows = (height + 2 * padding - kernel) / stride + 1;
      this.columns = (width + 2 * padding - kernel) / stride + 1;
    }

    /** Returns where an element of a window is in its plane, -1 if outside. */
    int at(int result, int k) {
      int row = result / columns * stride - padding + k / kernel;
      int column = result % columns * stride - padding + k % kernel;
      return row < 0 || row >= height || column < 0 || column >= width ? -1 : row * width + column;
    }

    /** y, or with dy the gradients of x, weights and biases. */
    double[][] convolution(float[] x, float[] weights, float[] biases, float[] dy) {
      int results = rows * columns;
      double[] y = new double[BATCH * OUT * results];
      double[] dx = new double[x.length];
      double[] dw = new double[weights.length];
      double[] db = new double[OUT];
      for (int n = 0; n < BATCH; n++) {
        for (int o = 0; o < OUT; o++) {
          for (int r = 0; r < results; r++) {
            int to = (n * OUT + o) * results + r;
            y[to] += biases[o];
            db[o] += dy[to];
            for (int i = 0; i < IN; i++) {
              for (int k = 0; k < kernel * kernel; k++) {
                if (at(r, k) >= 0) {
                  int from = (n * IN + i) * height * width + at(r, k);
                  int weight = (o * IN + i) * kernel * kernel + k;
                  y[to] += (double) weights[weight] * x[from];
                  dw[weight] += (double) dy[to] * x[from];
                  dx[from] += (double) dy[to] * weights[weight];
                }
              }
            }
          }
        }
      }
      return new double[][] {y, dx, dw, db};
    }

    /** y and dx. */
    double[][] pooling(float[] x, float[] dy, boolean greatest) {
      int results = rows * columns;
      double[] y = new double[BATCH * IN * results];
      double[] dx = new double[x.length];
      for (int plane = 0; plane < BATCH * IN; plane++) {
        for (int r = 0; r < results; r++) {
          int to = plane * results + r;
          int best = -1;
          int count = 0;
          double sum = 0;
          for (int k = 0; k < kernel * kernel; k++) {
            if (at(r, k) >= 0) {
              int from = plane * height * width + at(r, k);
              count++;
              sum += x[from];
              best = best < 0 || x[from] > x[best] ? from : best;
            }
          }
          y[to] = greatest ? x[best] : sum / count;
          for (int k = 0; k < kernel * kernel; k++) {
            if (at(r, k) >= 0) {
              int from = plane * height * width + at(r, k);
              dx[from] += greatest ? (from == best ? dy[to] : 0) : dy[to] / (double) count;
            }
          }
        }
      }
      return new double[][] {y, dx};
    }
  }

  private static float[] floats(double[] values) {
    float[] floats = new float[values.length];
    for (int i = 0; i < values.length; i++) {
      floats[i] = (float) values[i];
    }
    return floats;
  }

  /** The tile of a whole result or gradient is what a rank has. */
  private static void assertTile(
      SpatialTiles tiles, double[] whole, int planes, float[] actual, String message) {
    float[] expected = new float[planes * tiles.tileCount()];
    tiles.cut(floats(whole), planes, expected);
    assertArrayEquals(expected, actual, 1e-4f, message);
  }

  private static int[] lengths(Random random, int total, int parts) {
    int[] cuts = random.ints(parts - 1, 0, total + 1).sorted().toArray();
    int[] lengths = new int[parts];
    for (int i = 0; i < parts; i++) {
      lengths[i] = (i == parts - 1 ? total : cuts[i]) - (i == 0 ? 0 : cuts[i - 1]);
    }
    return lengths;
  }

  /** Tiles of any sizes, none among them; halos wider than them; strides and padding. */
  @ParameterizedTest
  @CsvSource({"1,1", "1,2", "2,1", "2,2", "1,3", "3,2"})
  void tilesTogetherAreTheWhole(int gridRows, int gridColumns) throws Exception {
    for (int round = 0; round < 12; round++) {
      Random random = new Random(SEED + 100 * round + 10 * gridRows + gridColumns);
      int kernel = 1 + random.nextInt(5);
      int height = kernel + random.nextInt(9);
      int width = kernel + random.nextInt(9);
      int stride = 1 + random.nextInt(3);
      int padding = random.nextInt(kernel / 2 + 1);
      int[] heights = lengths(random, height, gridRows);
      int[] widths = lengths(random, width, gridColumns);
      Whole whole = new Whole(height, width, kernel, stride, padding);
      float[] x = normal(random, BATCH * IN * height * width);
      float[] weights = normal(random, OUT * IN * kernel * kernel);
      float[] biases = normal(random, OUT);
      float[] dy = normal(random, BATCH * IN * whole.rows * whole.columns);
      double[][] convolved = whole.convolution(x, weights, biases, dy);
      double[][] greatest = whole.pooling(x, dy, true);
      double[][] mean = whole.pooling(x, dy, false);
      String message =
          "round "
              + round
              + ", kernel "
              + kernel
              + ", stride "
              + stride
              + ", padding "
              + padding
              + ", tiles "
              + Arrays.toString(heights)
              + " x "
              + Arrays.toString(widths);
      Jobs.run(
          gridRows * gridColumns,
          world -> {
            SpatialTiles tiles = SpatialTiles.of(world, heights, widths);
            float[] tile = new float[BATCH * IN * tiles.tileCount()];
            tiles.cut(x, BATCH * IN, tile);
            TiledConvolution layer = TiledConvolution.of(tiles, IN, OUT, kernel, stride, padding);
            System.arraycopy(weights, 0, layer.weights(), 0, weights.length);
            System.arraycopy(biases, 0, layer.biases(), 0, OUT);
            SpatialTiles results = layer.output();
            float[] y = new float[BATCH * OUT * results.tileCount()];
            float[] dyTile = new float[y.length];
            float[] dx = new float[tile.length];
            Arrays.fill(dx, 7); // What was there does not matter.
            results.cut(dy, BATCH * OUT, dyTile);
            layer.forward(tile, BATCH, y);
            layer.backward(dyTile, dx);
            assertTile(results, convolved[0], BATCH * OUT, y, message);
            assertTile(tiles, convolved[1], BATCH * IN, dx, message);
            float[] dw = layer.weightGradients().clone();
            float[] db = layer.biasGradients().clone();
            world.allReduce(dw, ReduceOp.SUM);
            world.allReduce(db, ReduceOp.SUM);
            assertArrayEquals(floats(convolved[2]), dw, 1e-3f, message);
            assertArrayEquals(floats(convolved[3]), db, 1e-3f, message);
            for (boolean takesGreatest : new boolean[] {true, false}) {
              TiledPooling pooling =
                  takesGreatest
                      ? TiledPooling.max(tiles, IN, kernel, stride, padding)
                      : TiledPooling.average(tiles, IN, kernel, stride, padding);
              double[][] expected = takesGreatest ? greatest : mean;
              y = new float[BATCH * IN * results.tileCount()];
              dyTile = new float[y.length];
              results.cut(dy, BATCH * IN, dyTile);
              pooling.forward(tile, BATCH, y);
              pooling.backward(dyTile, dx);
              assertTile(pooling.output(), expected[0], BATCH * IN, y, message);
              assertTile(tiles, expected[1], BATCH * IN, dx, message);
            }
          });
    }
  }

  /** A network of a convolution, batch norm, pooling and another convolution, by each transport. */
  @ParameterizedTest
  @ValueSource(strings = {"inprocess", "shm", "tcp"})
  void aNetworkOnTilesIsThatOnWholeImages(String transport, @TempDir Path directory)
      throws Exception {
    float[][] whole = new float[1][];
    Jobs.run(1, world -> whole[0] = network(SpatialTiles.of(world, new int[] {9}, new int[] {11})));
    Jobs.run(
        transport,
        directory,
        4,
        world -> {
          SpatialTiles tiles = SpatialTiles.of(world, new int[] {2, 7}, new int[] {8, 3});
          float[] actual = network(tiles);
          assertArrayEquals(whole[0], actual, 2e-3f, transport);
        });
  }

  /** All gradients of weights, and the sum of those of the input. */
  private static float[] network(SpatialTiles tiles) {
    Communicator group = tiles.group();
    TiledConvolution first = TiledConvolution.of(tiles, IN, 4, 3, 1, 1);
    BatchNorm norm = BatchNorm.of(group, 4);
    TiledPooling pooling = TiledPooling.max(first.output(), 4, 2, 2, 0);
    TiledConvolution second = TiledConvolution.of(pooling.output(), 4, OUT, 3, 1, 1);
    Random random = new Random(SEED);
    float[] images = normal(random, BATCH * IN * tiles.height() * tiles.width());
    fill(first.weights(), random);
    fill(second.weights(), random);
    fill(norm.scale(), random);
    float[] x = new float[BATCH * IN * tiles.tileCount()];
    tiles.cut(images, BATCH * IN, x);
    float[] a = new float[BATCH * 4 * first.output().tileCount()];
    float[] b = new float[a.length];
    float[] c = new float[BATCH * 4 * pooling.output().tileCount()];
    float[] d = new float[BATCH * OUT * second.output().tileCount()];
    first.forward(x, BATCH, a);
    norm.forward(a, BATCH, first.output().tileCount(), b);
    pooling.forward(b, BATCH, c);
    second.forward(c, BATCH, d);
    float[] dx = new float[x.length];
    second.backward(d, c); // The loss is half the sum of squares.
    pooling.backward(c, b);
    norm.backward(b, b);
    first.backward(b, dx);
    int count = first.weights().length + second.weights().length + 10;
    float[] all = Arrays.copyOf(first.weightGradients(), count);
    int at = first.weights().length;
    System.arraycopy(second.weightGradients(), 0, all, at, second.weights().length);
    at += second.weights().length;
    System.arraycopy(norm.scaleGradients(), 0, all, at, 4);
    System.arraycopy(norm.shiftGradients(), 0, all, at + 4, 4);
    for (float value : dx) {
      all[count - 1] += value * value;
    }
    for (float value : d) {
      all[count - 2] += value * value;
    }
    group.allReduce(all, ReduceOp.SUM);
    for (int i = 0; i < count; i++) {
      all[i] /= 100;
    }
    return all;
  }

  private static void fill(float[] values, Random random) {
    System.arraycopy(normal(random, values.length), 0, values, 0, values.length);
  }

  @Test
  void whatDoesNotFitIsAnError() throws Exception {
    Jobs.run(
        2,
        world -> {
          assertThrows(
              IllegalArgumentException.class,
              () -> SpatialTiles.of(world, new int[] {3}, new int[] {3}));
          SpatialTiles tiles = SpatialTiles.even(world, Mesh.torus(2, 1), 4, 5);
          assertEquals(world.rank() == 0 ? 2 : 3, tiles.tileWidth());
          assertThrows(
              IllegalArgumentException.class, () -> TiledConvolution.of(tiles, 1, 1, 7, 1, 1));
          assertThrows(IllegalArgumentException.class, () -> TiledPooling.max(tiles, 1, 2, 1, 2));
          TiledConvolution layer = TiledConvolution.of(tiles, 1, 1, 3, 1, 1);
          assertThrows(
              IllegalArgumentException.class, () -> layer.forward(new float[7], 1, new float[100]));
          // Another number of samples: nobody waits for what does not come.
          assertThrows(
              MismatchException.class,
              () -> layer.forward(new float[100], 1 + world.rank(), new float[100]));
        });
  }
}
