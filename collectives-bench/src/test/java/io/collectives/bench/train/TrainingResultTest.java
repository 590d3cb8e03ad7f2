package io.collectives.bench.train;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class TrainingResultTest {

  @Test
  void onlyRoundingAndEqualBitsAreGood() {
    assertTrue(new TrainingResult(4, 2, 1, 1e-9, 2.3e-7, true).good());
    assertFalse(new TrainingResult(4, 2, 1, 1e-9, 2.5e-7, true).good());
    assertFalse(new TrainingResult(4, 2, 1, 0, 0, false).good());
    assertFalse(new TrainingResult(4, 2, 1, Double.NaN, Double.NaN, true).good());
    assertFalse(new TrainingResult(4, 2, 1, 1, Double.POSITIVE_INFINITY, true).good());
  }

  @Test
  void resultsPassAsLines() {
    TrainingResult result = new TrainingResult(4, 2, 1, 1.25e-9, Double.NaN, true);
    assertEquals(result, TrainingResult.parse(result.line()));
  }
}
