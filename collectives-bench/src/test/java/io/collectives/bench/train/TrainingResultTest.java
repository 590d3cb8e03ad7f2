package io.collectives.bench.train;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.ElementType;
import io.collectives.WireType;
import io.collectives.bench.model.Model;
import io.collectives.bench.perf.AlgorithmChoice;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class TrainingResultTest {

  @Test
  void onlyRoundingAndEqualBitsAreGood() {
    assertTrue(new TrainingResult(4, 2, 1, 1e-9, 2.3e-7, 2.4e-7, true).good());
    assertFalse(new TrainingResult(4, 2, 1, 1e-9, 2.5e-7, 2.4e-7, true).good());
    assertFalse(new TrainingResult(4, 2, 1, 0, 0, 1, false).good());
    assertFalse(new TrainingResult(4, 2, 1, Double.NaN, Double.NaN, 1, true).good());
    assertFalse(new TrainingResult(4, 2, 1, 1, Double.POSITIVE_INFINITY, 1, true).good());
  }

  /** The allowed deviation grows with the ranks, and with what a type or a wire type loses. */
  @Test
  void whatRoundingExplains() {
    assertEquals(4 * 0x1p-24, tolerance(ElementType.FLOAT32, WireType.AS_IN_MEMORY, 4), 1e-13);
    assertEquals(4 * 0x1p-53, tolerance(ElementType.FLOAT64, WireType.BFLOAT16, 4), 1e-30);
    assertEquals(2 * 0x1p-11, tolerance(ElementType.FLOAT16, WireType.INT8, 2), 1e-6);
    assertEquals(2 * 0x1p-8, tolerance(ElementType.FLOAT32, WireType.BFLOAT16, 2), 2e-5);
    assertEquals(8 / 128.0, tolerance(ElementType.FLOAT32, WireType.INT8, 2));
  }

  private static double tolerance(ElementType type, WireType wire, int ranks) {
    return new TrainingTask(
            Model.RESNET50, new AlgorithmChoice("ring"), type, wire, 1, Duration.ZERO, 1)
        .tolerance(ranks);
  }

  @Test
  void resultsPassAsLines() {
    TrainingResult result = new TrainingResult(4, 2, 1, 1.25e-9, Double.NaN, 0.25, true);
    assertEquals(result, TrainingResult.parse(result.line()));
  }
}
