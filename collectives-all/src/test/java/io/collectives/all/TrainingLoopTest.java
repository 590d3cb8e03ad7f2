package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.collectives.CollectiveException;
import io.collectives.Communicator;
import io.collectives.ReduceOp;
import io.collectives.Survivors;
import io.collectives.testkit.Faults;
import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TrainingLoopTest {
  static final int RANKS = 4;
  static final int STEPS = 50;
  static final int WEIGHTS = 1000;

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void survivorsEndWithTheSameWeights(long seed) throws Exception {
    float[][] weights = new float[RANKS][WEIGHTS];
    int[] shrunkAt = new int[RANKS];
    Faults.Report report =
        Faults.seed(seed)
            .delays(0.02, Duration.ofMillis(2))
            .kills(0.003, 1)
            .run(RANKS, world -> shrunkAt[world.rank()] = train(world, weights[world.rank()]));

    for (int rank = 0; rank < RANKS; rank++) {
      if (!report.lost().contains(rank)) { // The lost rank's data count up to where it was lost.
        float[] expected = new float[WEIGHTS];
        for (int step = 0; step < STEPS; step++) {
          float[] sum = new float[WEIGHTS];
          int counted = 0;
          for (int other = 0; other < RANKS; other++) {
            if (step < shrunkAt[rank] || !report.lost().contains(other)) {
              add(1, gradients(other, step), sum);
              counted++;
            }
          }
          add(-0.01f / counted, sum, expected);
        }
        assertArrayEquals(expected, weights[rank], 1e-3f, report.toString());
      }
    }
  }

  /** The loop under test; returns the step from which on a rank was missing. */
  static int train(Communicator world, float[] weights) {
    Communicator group = world;
    int first = 0; // The step that the group's first call is for.
    int step = 0;
    float[] before = weights.clone();
    while (true) {
      try {
        for (; step < STEPS; step++) {
          float[] gradients = gradients(world.rank(), step);
          group.allReduce(gradients, ReduceOp.AVERAGE);
          System.arraycopy(weights, 0, before, 0, WEIGHTS);
          add(-0.01f, gradients, weights);
        }
        group.barrier(); // Or who leaves first would miss that the others repeat the last step.
        return group == world ? STEPS : first;
      } catch (CollectiveException e) {
        Survivors survivors = group.shrink();
        first += (int) survivors.resumeAt();
        if (first < step) { // This rank was ahead by a step, which all repeat.
          System.arraycopy(before, 0, weights, 0, WEIGHTS);
        }
        step = first;
        group = survivors.group();
      }
    }
  }

  static float[] gradients(int rank, int step) {
    float[] gradients = new float[WEIGHTS];
    for (int i = 0; i < WEIGHTS; i++) {
      gradients[i] = (rank + 1) * (step + i % 7);
    }
    return gradients;
  }

  static void add(float factor, float[] values, float[] sum) {
    for (int i = 0; i < WEIGHTS; i++) {
      sum[i] += factor * values[i];
    }
  }
}
