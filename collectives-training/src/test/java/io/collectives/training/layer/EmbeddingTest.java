package io.collectives.training.layer;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.training.Jobs;
import io.collectives.training.TrainingException;
import io.collectives.training.optimizer.Optimizer;
import io.collectives.training.optimizer.Optimizers;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
@Tag("once")
class EmbeddingTest {
  private static final long SEED = Long.getLong("collectives.seed", 20_261_124L);
  private static final int WIDTH = 5;
  private static final int SAMPLES = 60;
  private static final int STEPS = 4;

  private static float weight(long row, int column) {
    return new Random(SEED + row * WIDTH + column).nextFloat();
  }

  /** Sharded tables to the last bit, replicated ones within rounding; uneven and empty batches. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 5})
  void isThatOfOneProcess(int ranks) throws Exception {
    for (int rows : new int[] {1, 3, 40, 1000}) {
      for (Optimizer optimizer :
          List.of(Optimizers.sgd(step -> 0.1), Optimizers.adam(step -> 0.1))) {
        float[] table = new float[rows * WIDTH];
        for (int i = 0; i < table.length; i++) {
          table[i] = weight(i / WIDTH, i % WIDTH);
        }
        float[][] state = new float[2][table.length];
        float[][] seen = new float[STEPS][];
        long[][] indices = new long[STEPS][];
        float[][] gradients = new float[STEPS][SAMPLES * WIDTH];
        Random random = new Random(SEED + rows);
        for (int step = 0; step < STEPS; step++) {
          indices[step] = random.longs(SAMPLES, 0, rows).toArray();
          seen[step] = new float[SAMPLES * WIDTH];
          float[] sum = new float[table.length];
          boolean[] used = new boolean[rows];
          for (int i = 0; i < SAMPLES * WIDTH; i++) {
            int row = (int) indices[step][i / WIDTH];
            gradients[step][i] = random.nextFloat() - 0.5f;
            seen[step][i] = table[row * WIDTH + i % WIDTH];
            sum[row * WIDTH + i % WIDTH] += gradients[step][i];
            used[row] = true;
          }
          for (int row = 0; row < rows; row++) {
            if (used[row]) {
              optimizer.update(table, sum, state, row * WIDTH, (row + 1) * WIDTH, step + 1);
            }
          }
        }
        Jobs.run(
            ranks,
            world -> {
              for (boolean isSharded : new boolean[] {true, false}) {
                Embedding embedding =
                    isSharded
                        ? Embedding.sharded(world, rows, WIDTH)
                        : Embedding.replicated(world, rows, WIDTH);
                for (int i = 0; i < embedding.weights().length; i++) {
                  embedding.weights()[i] = weight(embedding.firstRow() + i / WIDTH, i % WIDTH);
                }
                for (int step = 0; step < STEPS; step++) {
                  int from = cut(world.rank(), ranks, step);
                  int to = cut(world.rank() + 1, ranks, step);
                  long[] mine = Arrays.copyOfRange(indices[step], from, to);
                  float[] vectors = new float[(to - from) * WIDTH];
                  embedding.lookup(mine, to - from, vectors);
                  assertArrayEquals(
                      Arrays.copyOfRange(seen[step], from * WIDTH, to * WIDTH),
                      vectors,
                      isSharded ? 0 : 1e-3f,
                      "step " + step);
                  embedding.backward(Arrays.copyOfRange(gradients[step], from * WIDTH, to * WIDTH));
                  embedding.update(optimizer, step + 1);
                }
                int first = (int) embedding.firstRow() * WIDTH;
                assertArrayEquals(
                    Arrays.copyOfRange(table, first, first + embedding.weights().length),
                    embedding.weights(),
                    isSharded ? 0 : 1e-3f,
                    rows + " rows, " + optimizer.name());
                long[] count = {embedding.weights().length};
                if (isSharded) {
                  assertTrue(count[0] <= (rows / ranks + 1) * WIDTH);
                }
              }
            });
      }
    }
  }

  /** Rank 0 has no samples in step 1, and most in step 2. */
  private static int cut(int rank, int ranks, int step) {
    if (rank == 0 || rank == ranks) {
      return rank == 0 ? 0 : SAMPLES;
    }
    return step == 1
        ? SAMPLES * (rank - 1) / ranks
        : step == 2 ? SAMPLES - ranks + rank : SAMPLES * rank / ranks;
  }

  @Test
  void aRowThatThereIsNotIsAnErrorOnAllRanks() throws Exception {
    Jobs.run(
        3,
        world -> {
          Embedding table = Embedding.sharded(world, 10, 2);
          float[] vectors = new float[4];
          for (long index : new long[] {10, -1, Long.MAX_VALUE}) {
            long[] indices = {3, world.rank() == 1 ? index : 0};
            TrainingException error =
                assertThrows(TrainingException.class, () -> table.lookup(indices, 2, vectors));
            assertEquals(
                "rank 1 looks up row " + index + " of a table of 10: indices are from 0 to 9",
                error.getMessage());
          }
          table.lookup(new long[] {9, 0}, 2, vectors); // The group is whole.
          Embedding small = Embedding.replicated(world, 10, 2);
          assertThrows(TrainingException.class, () -> small.lookup(new long[] {10}, 1, vectors));
          assertThrows(
              IllegalArgumentException.class, () -> table.lookup(new long[] {1}, 2, vectors));
          assertThrows(
              IllegalArgumentException.class, () -> table.update(Optimizers.lamb(step -> 1, 0), 1));
          assertThrows(IllegalArgumentException.class, () -> Embedding.sharded(world, 0, 1));
        });
  }
}
