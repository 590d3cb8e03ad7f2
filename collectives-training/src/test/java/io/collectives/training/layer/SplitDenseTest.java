package io.collectives.training.layer;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.collectives.Mesh;
import io.collectives.ModelParallel;
import io.collectives.ModelParallelMesh;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.training.Jobs;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
@Tag("once")
class SplitDenseTest {
  private static final int IN = 7;
  private static final int HIDDEN = 10;
  private static final int OUT = 3;
  private static final int BATCH = 4;

  private static float[] normal(Random random, int count) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = (float) random.nextGaussian();
    }
    return values;
  }

  /** {@code y = W x + b} in one process. */
  private static float[] dense(float[] x, float[] w, float[] b, int in, int out) {
    float[] y = new float[BATCH * out];
    for (int n = 0; n < BATCH; n++) {
      for (int o = 0; o < out; o++) {
        double sum = b[o];
        for (int i = 0; i < in; i++) {
          sum += (double) w[o * in + i] * x[n * in + i];
        }
        y[n * out + o] = (float) sum;
      }
    }
    return y;
  }

  /** Gradients of x, weights and biases. */
  private static float[][] back(float[] x, float[] w, float[] dy, int in, int out) {
    float[] dx = new float[BATCH * in];
    float[] dw = new float[w.length];
    float[] db = new float[out];
    for (int n = 0; n < BATCH; n++) {
      for (int o = 0; o < out; o++) {
        db[o] += dy[n * out + o];
        for (int i = 0; i < in; i++) {
          dx[n * in + i] += dy[n * out + o] * w[o * in + i];
          dw[o * in + i] += dy[n * out + o] * x[n * in + i];
        }
      }
    }
    return new float[][] {dx, dw, db};
  }

  /** Columns of a matrix of rows of {@code columns}. */
  private static float[] columns(float[] matrix, int columns, int from, int count) {
    float[] part = new float[matrix.length / columns * count];
    for (int i = 0; i < part.length; i++) {
      part[i] = matrix[i / count * columns + from + i % count];
    }
    return part;
  }

  /** Two layers, the second of which takes the parts of the first; model groups see other data. */
  @ParameterizedTest
  @CsvSource({"1,1,1", "2,1,2", "4,1,2", "4,2,4", "3,1,3"})
  void aBlockOfTwoLayersIsTheWhole(int x, int y, int ways) throws Exception {
    Jobs.run(
        x * y,
        world -> {
          ModelParallelMesh mesh = new ModelParallelMesh(Mesh.torus(x, y), ways);
          try (ModelParallel groups = ModelParallel.of(world, mesh)) {
            Random random = new Random(1);
            float[] w1 = normal(random, HIDDEN * IN);
            float[] b1 = normal(random, HIDDEN);
            float[] w2 = normal(random, OUT * HIDDEN);
            float[] b2 = normal(random, OUT);
            float[] sum1 = new float[w1.length];
            float[] sum2 = new float[w2.length];
            int models = x * y / ways;
            int model = world.rank() / ways;
            float[] input = {};
            float[] expected = {};
            float[] dx = {};
            float[] dy = {};
            for (int i = 0; i < models; i++) {
              Random data = new Random(100 + i);
              float[] in = normal(data, BATCH * IN);
              float[] gradient = normal(data, BATCH * OUT);
              float[] hidden = dense(in, w1, b1, IN, HIDDEN);
              float[][] second = back(hidden, w2, gradient, HIDDEN, OUT);
              float[][] first = back(in, w1, second[0], IN, HIDDEN);
              for (int j = 0; j < sum1.length; j++) {
                sum1[j] += first[1][j];
              }
              for (int j = 0; j < sum2.length; j++) {
                sum2[j] += second[1][j];
              }
              if (i == model) {
                input = in;
                dy = gradient;
                expected = dense(hidden, w2, b2, HIDDEN, OUT);
                dx = first[0];
              }
            }
            SplitDense first = SplitDense.byOutputs(groups.modelGroup(), IN, HIDDEN);
            SplitDense second = SplitDense.byInputs(groups.modelGroup(), HIDDEN, OUT);
            int from = (int) groups.modelGroup().partStart(HIDDEN, groups.modelGroup().rank());
            int count = first.outputs();
            System.arraycopy(w1, from * IN, first.weights(), 0, count * IN);
            System.arraycopy(b1, from, first.biases(), 0, count);
            float[] part = columns(w2, HIDDEN, from, count);
            System.arraycopy(part, 0, second.weights(), 0, part.length);
            System.arraycopy(b2, 0, second.biases(), 0, OUT);
            float[] hidden = new float[BATCH * count];
            float[] result = new float[BATCH * OUT];
            first.forward(input, BATCH, hidden);
            second.forward(hidden, BATCH, result);
            assertArrayEquals(expected, result, 1e-4f);
            float[] dHidden = new float[hidden.length];
            float[] dInput = new float[input.length];
            second.backward(dy, dHidden);
            first.backward(dHidden, dInput);
            assertArrayEquals(dx, dInput, 1e-4f);
            groups.allReduceGradients(Payload.of(first.weightGradients()), ReduceOp.SUM);
            groups.allReduceGradients(Payload.of(second.weightGradients()), ReduceOp.SUM);
            assertArrayEquals(
                Arrays.copyOfRange(sum1, from * IN, (from + count) * IN),
                first.weightGradients(),
                1e-3f);
            assertArrayEquals(columns(sum2, HIDDEN, from, count), second.weightGradients(), 1e-3f);
            assertThrows(
                IllegalArgumentException.class,
                () -> SplitDense.byInputs(groups.modelGroup(), 0, 1));
          }
        });
  }
}
