package io.collectives.bench.network;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LinkRateTest {

  @Test
  void ratesAreReadAndWritten() {
    assertEquals(new LinkRate(200_000_000), LinkRate.parse("200Mbit/s"));
    assertEquals(new LinkRate(2_500_000_000L), LinkRate.parse("2.5 Gbit/s"));
    assertEquals("200 Mbit/s", LinkRate.parse("0.2Gbit/s").toString());
    assertEquals("2.5 Gbit/s", LinkRate.parse("2500Mbit/s").toString());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "200",
        "200M",
        "200mbit/s",
        "200MB/s",
        "-1Mbit/s",
        "0.04Mbit/s",
        "0Mbit/s",
        "101Gbit/s"
      })
  void whatIsNoRateIsRefused(String text) {
    assertThrows(IllegalArgumentException.class, () -> LinkRate.parse(text));
  }
}
