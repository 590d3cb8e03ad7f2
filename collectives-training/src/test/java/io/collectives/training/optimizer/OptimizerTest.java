package io.collectives.training.optimizer;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
class OptimizerTest {

  /** Without momentum's state Adam would be wrong from the second step on: one known by hand. */
  @Test
  void adamDoesWhatItsPaperSays() {
    float[] weights = {1, -2};
    float[][] state = new float[2][2];
    Optimizer adam = Optimizer.adamW(step -> 0.5, 0.9, 0.99, 1e-8, 0.1);
    double w = 1;
    double m = 0;
    double v = 0;
    for (int step = 1; step <= 5; step++) {
      double g = step - 2.5;
      adam.update(weights, new float[] {(float) g, 0}, state, 0, 2, step);
      m = 0.9 * m + 0.1 * g;
      v = 0.99 * v + 0.01 * g * g;
      double mean = m / (1 - Math.pow(0.9, step));
      double square = v / (1 - Math.pow(0.99, step));
      w = w - 0.5 * 0.1 * w - 0.5 * mean / (Math.sqrt(square) + 1e-8);
      assertEquals(w, weights[0], 1e-5, "step " + step);
    }
    assertEquals(-2 * Math.pow(0.95, 5), weights[1], 1e-6, "decay alone");
  }
}
