package io.collectives.bench.accuracy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.collectives.ElementType;
import io.collectives.bench.model.Values;
import org.junit.jupiter.api.Test;

class DeviationTest {

  private static Values doubles(double... values) {
    Values made = Values.of(ElementType.FLOAT64, values.length);
    for (int i = 0; i < values.length; i++) {
      made.set(i, values[i]);
    }
    return made;
  }

  private static Total total(Values... terms) {
    Total total = new Total(terms[0].count());
    for (Values term : terms) {
      total.add(term);
    }
    return total;
  }

  @Test
  void errorsAreRelativeToTheRootMeanSquareOfTheExactSums() {
    Deviation deviation = Deviation.of(total(doubles(1, 8, 0, 0)), total(doubles(2, 5, 2, 4)));
    // Squares 49, differences 1 + 9 + 4 + 16.
    assertEquals(Math.sqrt(30.0 / 49), deviation.rms(), 1e-15);
    assertEquals(4 / Math.sqrt(49 / 4.0), deviation.greatest(), 1e-15);
  }

  /** A part that a double cannot hold beside 2^60 is not lost. */
  @Test
  void exactSumsKeepWhatAdditionsLose() {
    Total exact = total(doubles(0x1p60), doubles(0x1p-10), doubles(3), doubles(-0x1p60));
    assertEquals(3 + 0x1p-10, exact.sum(0));
    assertEquals(1, total(doubles(0x1p60), doubles(1)).minus(total(doubles(0x1p60)), 0));
  }

  /** The figures of the documentation hold on every JDK. */
  @Test
  void contributionsArePureAndEachRanksOwn() {
    Contributions contributions = new Contributions(1, 0);
    Values values = Values.of(ElementType.FLOAT64, 3);
    contributions.fill(values, 1, 2, 5, 7, 11);
    assertEquals(0.0, values.get(0));
    double first = values.get(1);
    contributions.fill(values, 1, 2, 6, 7, 11);
    assertEquals(first, values.get(1), "no noise");
    contributions.fill(values, 1, 2, 6, 8, 11);
    assertNotEquals(first, values.get(1));
    new Contributions(1, 0.1).fill(values, 1, 2, 6, 7, 11);
    assertNotEquals(first, values.get(1));
    assertEquals(first, values.get(1), 0.5);
  }
}
