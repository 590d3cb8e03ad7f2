package io.collectives.bench.model;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import org.junit.jupiter.api.Test;

class GradientsTest {
  private static final int COUNT = 1_000_000;

  private static float[] values(long seed, int step, int rank, int tensor) {
    float[] values = new float[COUNT];
    new Gradients(seed).fill(step, rank, tensor, 0, values, 0, COUNT);
    return values;
  }

  @Test
  void aPartIsTheSameAsInTheWhole() {
    float[] whole = values(1, 2, 3, 4);
    float[] part = new float[110];
    new Gradients(1).fill(2, 3, 4, 5_000, part, 10, 100);
    assertArrayEquals(Arrays.copyOfRange(whole, 5_000, 5_100), Arrays.copyOfRange(part, 10, 110));
    assertEquals(0, part[9]);
  }

  @Test
  void everyCoordinateMatters() {
    float[] one = values(1, 2, 3, 4);
    assertFalse(Arrays.equals(one, values(2, 2, 3, 4)), "seed");
    assertFalse(Arrays.equals(one, values(1, 3, 3, 4)), "step");
    assertFalse(Arrays.equals(one, values(1, 2, 4, 4)), "rank");
    assertFalse(Arrays.equals(one, values(1, 2, 3, 5)), "tensor");
  }

  @Test
  void magnitudesAreRoughlyLogNormalAroundAThousandth() {
    for (int tensor = 0; tensor < 8; tensor++) {
      double[] octaves = new double[COUNT];
      int used = 0;
      int negative = 0;
      int zeros = 0;
      for (float value : values(7, 0, 0, tensor)) {
        assertTrue(Float.isFinite(value));
        negative += Float.floatToRawIntBits(value) >>> 31;
        if (value == 0) {
          zeros++;
        } else {
          octaves[used++] = Math.log(Math.abs(value) / 0.001) / Math.log(2);
        }
      }
      double[] x = Arrays.copyOf(octaves, used);
      double mean = Arrays.stream(x).average().orElseThrow();
      double deviation =
          Math.sqrt(Arrays.stream(x).map(o -> (o - mean) * (o - mean)).average().orElseThrow());
      double within =
          Arrays.stream(x).filter(o -> Math.abs(o - mean) < deviation).count() / (double) used;
      assertTrue(Math.abs(mean) < 2.2, "mean octave " + mean);
      assertEquals(2.5, deviation, 0.1);
      assertEquals(0.68, within, 0.03, "share within one standard deviation");
      assertEquals(0.5, (double) negative / COUNT, 0.005);
      assertEquals(1.0 / 256, (double) zeros / COUNT, 0.0005);
    }
  }

  @Test
  void tensorsDifferInScale() {
    assertNotEquals(median(values(1, 0, 0, 0)), median(values(1, 0, 0, 1)), 1e-5f);
  }

  private static float median(float[] values) {
    for (int i = 0; i < values.length; i++) {
      values[i] = Math.abs(values[i]);
    }
    Arrays.sort(values);
    return values[values.length / 2];
  }

  @Test
  void theHashSeesEveryBitAndTheOrder() {
    long one = hash(1, 2, 3);
    assertEquals(one, hash(1, 2, 3));
    assertNotEquals(one, hash(1, 3, 2));
    assertNotEquals(one, hash(1, 2, Math.nextUp(3f)));
    assertNotEquals(hash(0f), hash(-0f));
  }

  private static long hash(float... values) {
    BitHash hash = new BitHash();
    hash.add(values);
    return hash.value();
  }
}
