package io.collectives.engine.choice;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** A tuner makes rows of the times that were measured, or none. */
class TunerTest {

  @Test
  void theMedianOfManyTurnsCountsAndTheLowerQuartileOfFew() {
    // Of two candidates in turn.
    double[] few = {9, 1, 5, 1, 7, 1, 3, 1, 4, 1};
    assertEquals(4, Tuner.typical(few, 0, 2, 0, 0));
    assertEquals(3, Tuner.typical(few, 0, 2, 0, 1));
    assertEquals(4, Tuner.typical(few, 0, 2, 0, 2));
    assertEquals(1, Tuner.typical(few, 1, 2, 0, 0));
    // The early ones are left out.
    double[] many = {100, 100, 1, 9, 2, 3};
    assertEquals(3, Tuner.typical(many, 0, 1, 2, 0));
    assertEquals(9, Tuner.typical(many, 0, 1, 2, 1));
  }

  @Test
  void onlyWhoIsFasterByMoreThanTheNoiseIsFaster() {
    double[] odd = {100, 90, 80, 70};
    double[] even = {110, 91, 91, 95};
    Tuner.Times times = new Tuner.Times(new double[] {105, 90, 85, 80}, odd, even);
    assertFalse(times.isFaster(1, 0)); // By less than a tenth.
    assertFalse(times.isFaster(2, 0)); // In one half.
    assertFalse(times.isFaster(3, 0)); // Nor if the median says so.
    times = new Tuner.Times(odd, new double[] {101, 90}, new double[] {100, 89});
    assertTrue(times.isFaster(1, 0));
  }

  /** Code may have been compiled between the two measurements. */
  @Test
  void whoWasFasterOnceOnlyIsNotFaster() {
    double infinity = Double.POSITIVE_INFINITY;
    Tuner.Times first =
        new Tuner.Times(
            new double[] {100, 50, 40}, new double[] {100, 50, 40}, new double[] {101, 51, 41});
    Tuner.Times again =
        new Tuner.Times(
            new double[] {60, 58, infinity},
            new double[] {60, 57, infinity},
            new double[] {61, 58, infinity});
    assertTrue(first.isFaster(1, 0));
    assertFalse(first.confirmedBy(again).isFaster(1, 0));
    assertTrue(first.confirmedBy(first).isFaster(1, 0));
    assertTrue(first.confirmedBy(again).isFaster(2, 0)); // By both, as far as they go.
  }

  @Test
  void whatWasLeftOutNeitherAgreesNorDiffers() {
    double infinity = Double.POSITIVE_INFINITY;
    double[] typical = {10, 10, infinity};
    Tuner.Times times =
        new Tuner.Times(typical, new double[] {10, 10, infinity}, new double[] {15, 16, infinity});
    assertEquals(1, times.agreeing());
    assertEquals(2, times.measured());
  }

  @Test
  void rowsMeetBetweenTheSizesThatWereMeasured() {
    assertEquals(128 << 10, Tuner.middle(64 << 10, 256 << 10));
  }
}
