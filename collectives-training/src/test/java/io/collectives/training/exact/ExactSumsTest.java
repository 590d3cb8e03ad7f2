package io.collectives.training.exact;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
class ExactSumsTest {

  /** Compares with arithmetic that knows no rounding. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void sumsAreRoundedOnce(long seed) {
    Random random = new Random(seed);
    for (int round = 0; round < 300; round++) {
      ExactSums sums = ExactSums.of(3);
      BigDecimal expected = BigDecimal.ZERO;
      int range = 1 + random.nextInt(1000);
      int count = random.nextInt(40);
      for (int i = 0; i < count; i++) {
        double value =
            Math.scalb(random.nextGaussian(), random.nextInt(range) - random.nextInt(range));
        sums.add(1, value);
        expected = expected.add(new BigDecimal(value));
        if (random.nextInt(4) == 0) { // All but cancels.
          double less = -Math.nextUp(value);
          sums.add(1, less);
          expected = expected.add(new BigDecimal(less));
        }
      }
      if (random.nextBoolean()) {
        sums.words();
      }
      assertEquals(expected.doubleValue() + 0.0, sums.get(1) + 0.0, "seed " + seed + ":" + round);
      assertEquals(0, sums.get(0));
      assertEquals(0, sums.get(2));
    }
  }

  @Test
  void extremesAreExact() {
    double[][] cases = {
      {Double.MAX_VALUE, Double.MAX_VALUE, -Double.MAX_VALUE, Double.MIN_VALUE},
      {Double.MIN_VALUE, -Double.MIN_VALUE, -Double.MIN_VALUE},
      {1, 0x1p-53, 0x1p-1074},
      {1, 0x1p-53},
      {1 + 0x1p-52, 0x1p-53},
      {-1, -0x1p-53, -0x1p-1074},
      {0x1p1000, 1, -0x1p1000}
    };
    double[] expected = {
      Double.MAX_VALUE, -Double.MIN_VALUE, 1 + 0x1p-52, 1, 1 + 0x1p-51, -(1 + 0x1p-52), 1
    };
    for (int i = 0; i < cases.length; i++) {
      ExactSums sums = ExactSums.of(1);
      for (double value : cases[i]) {
        sums.add(0, value);
      }
      assertEquals(expected[i], sums.get(0), "case " + i);
    }
  }

  /** Words of several ranks are added as integers: order and number of ranks do not matter. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 7, 64})
  void normsDoNotDependOnWhoHasWhichBlocks(int ranks) {
    Random random = new Random(ranks);
    float[] layer = new float[64 * 50 + 17];
    for (int i = 0; i < layer.length; i++) {
      layer[i] = (float) Math.scalb(random.nextGaussian(), random.nextInt(200) - 130);
    }
    long[] total = ExactSums.ofSquares(1).words();
    for (int rank = 0; rank < ranks; rank++) {
      ExactSums part = ExactSums.ofSquares(1);
      for (int block = rank; block <= 50; block += ranks) {
        Squares.add(part, 0, layer, 64 * block, Math.min(layer.length, 64 * block + 64));
      }
      long[] words = part.words();
      for (int i = 0; i < total.length; i++) {
        total[i] += words[i];
      }
    }
    ExactSums sum = ExactSums.ofSquares(1);
    System.arraycopy(total, 0, sum.words(), 0, total.length);
    assertEquals(Squares.norm(layer, 0, layer.length), Math.sqrt(sum.get(0)));
    double plain = 0;
    for (float value : layer) {
      plain += (double) value * value;
    }
    assertEquals(Math.sqrt(plain), Squares.norm(layer, 0, layer.length), 1e-14 * Math.sqrt(plain));
  }

  @Test
  void whatIsNotFiniteIsCounted() {
    ExactSums sums = ExactSums.ofSquares(2);
    Squares.add(sums, 0, new float[] {1, Float.NaN, 2}, 0, 3);
    Squares.add(sums, 1, new float[] {Float.MAX_VALUE, Float.MIN_VALUE}, 0, 2);
    assertEquals(1, sums.nonFinite(0));
    assertTrue(Double.isNaN(sums.get(0)));
    assertEquals(0, sums.nonFinite(1));
    assertEquals((double) Float.MAX_VALUE * Float.MAX_VALUE, sums.get(1));
    sums.clear(0);
    assertEquals(0, sums.get(0));
    sums.clear();
    assertArrayEquals(new long[sums.words().length], sums.words());
  }
}
