package io.collectives.bench.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class PairedTimesTest {

  /** The medians of the times are 20 and 30, but what counts is how the pairs compare. */
  @Test
  void theRatioIsTheMedianOfThePairs() {
    PairedTimes times = new PairedTimes();
    times.add(10, 40);
    times.add(20, 20);
    times.add(30, 30);
    assertEquals(3, times.rounds());
    assertEquals(20, times.ours());
    assertEquals(30, times.theirs());
    assertEquals(1, times.ratios().median());
    assertEquals(1, times.ratios().least());
    assertEquals(4, times.ratios().greatest());
  }

  @Test
  void ofTwoPairsTheMeanCounts() {
    PairedTimes times = new PairedTimes();
    times.add(10, 5);
    times.add(10, 30);
    assertEquals(1.75, times.ratios().median());
    assertEquals(0.5, times.ratios().least());
    assertEquals(3, times.ratios().greatest());
  }

  @Test
  void noTimeAtAllIsNoDivisionByZero() {
    PairedTimes times = new PairedTimes();
    times.add(0, 5);
    assertEquals(5, times.ratios().median());
    assertTrue(Double.isNaN(new PairedTimes().ratios().median()));
  }
}
