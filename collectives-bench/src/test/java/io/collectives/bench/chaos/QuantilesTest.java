package io.collectives.bench.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class QuantilesTest {

  @Test
  void theyAreFiguresThatWereMeasured() {
    Quantiles hundred = new Quantiles(LongStream.rangeClosed(1, 100).map(i -> 101 - i));
    assertEquals(50, hundred.at(0.5));
    assertEquals(90, hundred.at(0.9));
    assertEquals(99, hundred.at(0.99));
    assertEquals(100, hundred.at(1));
    Quantiles three = new Quantiles(LongStream.of(7, 5, 6));
    assertEquals(6, three.at(0.5));
    assertEquals(7, three.at(0.9));
    assertEquals(5, three.at(0.01));
    assertTrue(new Quantiles(LongStream.empty()).isEmpty());
  }
}
