package io.collectives.training.optimizer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

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
    Optimizer adam = Optimizers.adamW(step -> 0.5, 0.9, 0.99, 1e-8, 0.1);
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

  /** Two elements, several steps, against the formulas in double. */
  @Test
  void momentumIsPyTorchs() {
    for (boolean nesterov : new boolean[] {false, true}) {
      Optimizer optimizer =
          nesterov
              ? Optimizers.nesterov(step -> 0.1 / step, 0.9, 0.01)
              : Optimizers.momentum(step -> 0.1 / step, 0.9, 0.01);
      float[] weights = {1, -2};
      float[][] state = new float[1][2];
      double[] w = {1, -2};
      double[] v = new double[2];
      for (int step = 1; step <= 5; step++) {
        float[] gradients = {step - 2.5f, 0.5f * step};
        for (int i = 0; i < 2; i++) {
          double h = gradients[i] + 0.01 * w[i];
          v[i] = 0.9 * v[i] + h;
          w[i] -= 0.1 / step * (nesterov ? h + 0.9 * v[i] : v[i]);
        }
        optimizer.update(weights, gradients, state, 0, 2, step);
        assertEquals(w[0], weights[0], 1e-5);
        assertEquals(w[1], weights[1], 1e-5);
      }
    }
  }

  @Test
  void larsIsThatOfTheFigures() {
    for (boolean scaled : new boolean[] {false, true}) {
      Optimizer optimizer =
          scaled
              ? Optimizers.lars(step -> 3.0 / step, 0.9, 0.05, 0.1)
              : Optimizers.larsUnscaled(step -> 3.0 / step, 0.9, 0.05, 0.1);
      float[] weights = {1, -2, 0.5f};
      float[][] state = new float[1][3];
      double[] w = {1, -2, 0.5};
      double[] v = new double[3];
      for (int step = 1; step <= 5; step++) {
        float[] gradients = {step - 2.5f, 0.5f * step, 1};
        double weightNorm = Math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
        double gradientNorm = Math.sqrt(Math.pow(step - 2.5, 2) + Math.pow(0.5 * step, 2) + 1);
        double rate = 3.0 / step * 0.1 * weightNorm / (gradientNorm + 0.05 * weightNorm);
        for (int i = 0; i < 3; i++) {
          double h = gradients[i] + 0.05 * w[i];
          v[i] = 0.9 * v[i] + (scaled ? rate : 1) * h;
          w[i] -= (scaled ? 1 : rate) * v[i];
        }
        optimizer.update(weights, gradients, state, 0, 3, step);
        for (int i = 0; i < 3; i++) {
          assertEquals(w[i], weights[i], 1e-5, "step " + step + ", element " + i);
        }
      }
    }
  }

  @Test
  void lambIsThatOfItsPaper() {
    Optimizer optimizer = Optimizers.lamb(step -> 0.2, 0.9, 0.99, 1e-6, 0.05);
    float[] weights = {1, -2, 0.5f};
    float[][] state = new float[2][3];
    double[] w = {1, -2, 0.5};
    double[] m = new double[3];
    double[] v = new double[3];
    for (int step = 1; step <= 5; step++) {
      float[] gradients = {step - 2.5f, 0.5f * step, 1};
      double weightNorm = Math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
      double[] r = new double[3];
      double squares = 0;
      for (int i = 0; i < 3; i++) {
        m[i] = 0.9 * m[i] + 0.1 * gradients[i];
        v[i] = 0.99 * v[i] + 0.01 * gradients[i] * gradients[i];
        double mean = m[i] / (1 - Math.pow(0.9, step));
        double square = v[i] / (1 - Math.pow(0.99, step));
        r[i] = mean / (Math.sqrt(square) + 1e-6) + 0.05 * w[i];
        squares += r[i] * r[i];
      }
      optimizer.update(weights, gradients, state, 0, 3, step);
      for (int i = 0; i < 3; i++) {
        w[i] -= 0.2 * weightNorm / Math.sqrt(squares) * r[i];
        assertEquals(w[i], weights[i], 1e-5, "step " + step + ", element " + i);
      }
    }
  }

  /** A layer of zeros, or one without gradients, has no ratio. */
  @Test
  void layersWithoutNormTakeTheRate() {
    float[] weights = {0, 0};
    Optimizers.larsUnscaled(step -> 0.5, 0, 0, 0.001)
        .update(weights, new float[] {1, 2}, new float[1][2], 0, 2, 1);
    assertEquals(-0.5f, weights[0]);
    assertEquals(-1, weights[1]);
    float[] others = {0, 0};
    Optimizers.lamb(step -> 0.5, 0).update(others, new float[2], new float[2][2], 0, 2, 1);
    assertEquals(0, others[0]);
    float[] third = {0, 0};
    Optimizers.lamb(step -> 0.5, 0).update(third, new float[] {3, 0}, new float[2][2], 0, 2, 1);
    assertEquals(-0.5f, third[0], 1e-5);
  }

  /** Biases are updated as a layer is whose ratio is 1, without decay. */
  @Test
  void biasesHaveNoRatioAndNoDecay() {
    Optimizer[][] pairs = {
      {Optimizers.lars(step -> 0.5, 0.9, 0.1, 0.001), Optimizers.momentum(step -> 0.5, 0.9)},
      {
        Optimizers.larsUnscaled(step -> 0.5, 0.9, 0.1, 0.001), Optimizers.momentum(step -> 0.5, 0.9)
      },
      {Optimizers.lamb(step -> 0.5, 0.1), Optimizers.adamW(step -> 0.5, 0.9, 0.999, 1e-6, 0)},
      {Optimizers.adamW(step -> 0.5, 0.1), Optimizers.adam(step -> 0.5)},
      {Optimizers.momentum(step -> 0.5, 0.9, 0.1), Optimizers.momentum(step -> 0.5, 0.9)}
    };
    for (Optimizer[] pair : pairs) {
      float[] one = {3};
      float[] other = {3};
      float[][] oneState = new float[2][1];
      float[][] otherState = new float[2][1];
      for (int step = 1; step <= 4; step++) {
        pair[0].forBiases().update(one, new float[] {step}, oneState, 0, 1, step);
        pair[1].update(other, new float[] {step}, otherState, 0, 1, step);
        assertEquals(other[0], one[0], 1e-5f, pair[0].name());
      }
    }
  }

  @Test
  void ratesWarmUpAndDecay() {
    LearningRate rate = LearningRate.polynomial(8, 0, 4, 2).withWarmUp(2);
    double[] expected = {4, 8, 8, 4.5, 2, 0.5, 0, 0};
    for (int step = 1; step <= expected.length; step++) {
      assertEquals(expected[step - 1], rate.applyAsDouble(step), "step " + step);
    }
    assertEquals(0.4, LearningRate.scaled(0.1, 256, 1024));
    assertEquals(3, LearningRate.constant(3).withWarmUp(0).applyAsDouble(1));
    assertThrows(IllegalArgumentException.class, () -> LearningRate.polynomial(1, 0, 0, 1));
    assertThrows(IllegalArgumentException.class, () -> LearningRate.scaled(1, 0, 1));
    assertThrows(IllegalArgumentException.class, () -> rate.withWarmUp(-1));
  }
}
