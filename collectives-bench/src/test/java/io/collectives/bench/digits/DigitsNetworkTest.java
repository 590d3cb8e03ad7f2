package io.collectives.bench.digits;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.Mesh;
import io.collectives.ReduceOp;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
class DigitsNetworkTest {
  private static final int BATCH = 5;

  /** Scores, then the gradients of each parameter, summed over the ranks. */
  private static List<float[]> pass(Communicator world, Mesh mesh) {
    DigitsNetwork network = new DigitsNetwork(world, world, mesh, BATCH, 3);
    Random random = new Random(4);
    // Biases, scales and shifts at 0 and 1 would hide what is counted twice.
    for (DigitsNetwork.Parameter parameter : network.parameters()) {
      for (int i = 0; i < parameter.weights().length; i++) {
        parameter.weights()[i] += (float) (0.1 * random.nextGaussian());
      }
    }
    float[] images = random(random, BATCH * Digits.PIXELS);
    float[] scores = new float[BATCH * Digits.CLASSES];
    network.forward(images, BATCH, scores, true);
    List<Integer> ready = new ArrayList<>();
    network.backward(random(random, scores.length), BATCH, ready::add);
    assertEquals(List.of(9, 8, 7, 6, 5, 4, 3, 2, 1, 0), ready);
    List<float[]> all = new ArrayList<>(List.of(scores));
    for (DigitsNetwork.Parameter parameter : network.parameters()) {
      world.allReduce(parameter.gradients(), ReduceOp.SUM);
      all.add(parameter.gradients());
    }
    return all;
  }

  private static float[] random(Random random, int count) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = random.nextFloat();
    }
    return values;
  }

  /** Also with tiles that pooling windows reach out of. */
  @ParameterizedTest
  @CsvSource({"2,2", "3,1", "1,3", "4,3"})
  void tilesComputeWhatTheWholeDoes(int columns, int rows) {
    List<float[]> whole = new ArrayList<>();
    Collectives.inThreads(1, world -> whole.addAll(pass(world, new Mesh(1, 1, false, false))));
    Collectives.inThreads(
        columns * rows,
        world -> {
          List<float[]> tiles = pass(world, new Mesh(columns, rows, false, false));
          for (int i = 0; i < tiles.size(); i++) {
            assertArrayEquals(whole.get(i), tiles.get(i), 2e-4f, "number " + i);
          }
        });
  }
}
