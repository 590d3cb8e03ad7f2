package io.collectives.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.bench.report.Columns.Column;
import java.math.BigDecimal;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ReportTest {

  @ParameterizedTest
  @CsvSource({
    "0, 0, 0 B",
    "8, 8, 8 B",
    "1000, 1000, 1000 B",
    "1K, 1024, 1 KiB",
    "1k, 1024, 1 KiB",
    "64KiB, 65536, 64 KiB",
    "1500K, 1536000, 1500 KiB",
    "100M, 104857600, 100 MiB",
    "2G, 2147483648, 2 GiB",
    "4B, 4, 4 B"
  })
  void sizesAreReadAndWritten(String text, long bytes, String written) {
    ByteSize size = ByteSize.parse(text);
    assertEquals(bytes, size.bytes());
    assertEquals(written, size.toString());
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "x", "-1", "1.5M", "1T", "K", "8 8", "1KK", "999999999999999G"})
  void whatIsNoSizeIsRefused(String text) {
    assertThrows(IllegalArgumentException.class, () -> ByteSize.parse(text));
  }

  /** A ratio of a thousandth is not nothing. */
  @ParameterizedTest
  @CsvSource({
    "1, 1.00, 1.000",
    "1234.567, 1234.57, 1234.567",
    "0.5, 0.500, 0.50000",
    "0.0123456, 0.0123, 0.012346",
    "0.00004999, 0.0000500, 0.00004999",
    "0, 0.00, 0.000"
  })
  void smallFiguresKeepTheirDigits(double value, String ratio, String decimal) {
    assertEquals(ratio, Units.ratio(value, 2));
    assertEquals(0, new BigDecimal(decimal).compareTo((BigDecimal) Fields.decimal(value, 3)));
    assertEquals(Fields.NONE, Fields.decimal(value / 0.0 * 0, 3));
  }

  @ParameterizedTest
  @CsvSource({
    "3, 3.00 ns",
    "999.4, 999 ns",
    "12345, 12.3 µs",
    "1.5e6, 1.50 ms",
    "123456789, 123 ms",
    "2e9, 2.00 s"
  })
  void timesHaveThreeDigits(double nanos, String text) {
    assertEquals(text, Units.time(nanos));
  }

  @Test
  void ratesHaveThreeDigits() {
    assertEquals("1.23 GB/s", Units.rate(1.234));
    assertEquals("1.60 MB/s", Units.rate(0.0016));
    assertEquals("25,557,032", Units.grouped(25_557_032));
  }

  @Test
  void theMedianIsTheMiddleOfTheSorted() {
    assertEquals(new Spread(2, 1, 9), Spread.of(DoubleStream.of(9, 1, 2)));
    assertEquals(new Spread(2.5, 1, 9), Spread.of(DoubleStream.of(3, 9, 1, 2)));
    assertEquals(new Spread(7, 7, 7), Spread.of(DoubleStream.of(7)));
    assertTrue(Double.isNaN(Spread.of(DoubleStream.empty()).median()));
  }

  @Test
  void columnsAreAligned() {
    Columns columns =
        new Columns(List.of(Column.words("name", 6), Column.numbers("n", 4), Column.words("", 2)));
    assertEquals("name       n", columns.header());
    assertEquals("ring      12  x", columns.line(List.of("ring", "12", "x")));
    assertEquals("a long one     1", columns.line(List.of("a long one", "1", "")));
    assertThrows(IllegalArgumentException.class, () -> columns.line(List.of("one")));
  }

  private static Map<String, Object> fields() {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("name", "a \"b\"\\\t\u0001");
    fields.put("time_us", new BigDecimal("1.500"));
    fields.put("wrong", Fields.NONE);
    fields.put("count", 3L);
    return fields;
  }

  @Test
  void tsvKeepsOneLineAndItsColumns() {
    assertEquals("name\ttime_us\twrong\tcount", Fields.tsvHeader(fields()));
    assertEquals("a \"b\"\\ \u0001\t1.500\t-\t3", Fields.tsv(fields()));
  }

  @Test
  void jsonQuotesTextAndLeavesNumbers() {
    assertEquals(
        "{\"name\": \"a \\\"b\\\"\\\\\\u0009\\u0001\", \"time_us\": 1.500, \"wrong\": null,"
            + " \"count\": 3}",
        Fields.json(fields()));
  }

  @Test
  void provenanceIsOneLine() {
    assertEquals(1, Provenance.line().lines().count());
    assertTrue(Provenance.line().contains("JDK " + Runtime.version().feature()));
  }
}
