package io.collectives.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.bench.report.Scale.Tick;
import io.collectives.bench.report.Scale.Unit;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

@Tag("once")
class ScaleTest {
  private static final Map<String, Double> FACTORS =
      Map.ofEntries(
          Map.entry("", 1.0),
          Map.entry("ns", 1.0),
          Map.entry("µs", 1e3),
          Map.entry("ms", 1e6),
          Map.entry("s", 1e9),
          Map.entry("B", 1.0),
          Map.entry("KiB", 0x1p10),
          Map.entry("MiB", 0x1p20),
          Map.entry("GiB", 0x1p30),
          Map.entry("TiB", 0x1p40));

  /** Ticks of any scale: their labels say their values, which are on it, in order, few enough. */
  @ParameterizedTest
  @EnumSource
  void everyLabelParsesBackToItsValue(Unit unit) {
    SplittableRandom random = new SplittableRandom(1);
    for (int i = 0; i < 1_000; i++) {
      boolean isLogarithmic = random.nextBoolean();
      double from = Math.pow(10, random.nextDouble(unit == Unit.NUMBER ? -12 : 0, 11));
      double to = from * Math.pow(10, random.nextDouble(0.3, 6));
      double first = isLogarithmic || random.nextBoolean() ? from : 0;
      int most = random.nextInt(3, 20);
      Scale scale = new Scale(unit, isLogarithmic, first, to);
      List<Tick> ticks = scale.ticks(most);
      String what = unit + ", " + first + " to " + to + ", " + most + ": " + ticks;
      // Powers of two may miss a scale that is not twice as long as they are apart.
      assertTrue(ticks.size() >= 1 && ticks.size() <= most, what);
      double before = -1e-6;
      for (Tick tick : ticks) {
        assertEquals(tick.value(), parsed(tick.label()), 1e-9 * tick.value(), what);
        assertTrue(scale.at(tick.value()) > before, what);
        before = scale.at(tick.value());
        assertTrue(before < 1 + 1e-6, what);
      }
    }
  }

  private static double parsed(String label) {
    int blank = label.indexOf(' ');
    String unit = blank < 0 ? "" : label.substring(blank + 1);
    String number = blank < 0 ? label : label.substring(0, blank);
    String plain = number.replace(",", "").replaceFirst("^10(?=[⁻⁰¹²³⁴⁵⁶⁷⁸⁹])", "1·10");
    int power = plain.indexOf("·10");
    if (power >= 0) {
      String exponent = plain.substring(power + 3).replace('⁻', '-');
      for (int digit = 0; digit < 10; digit++) {
        exponent = exponent.replace("⁰¹²³⁴⁵⁶⁷⁸⁹".charAt(digit), (char) ('0' + digit));
      }
      plain = plain.substring(0, power) + "e" + exponent;
    }
    return Double.parseDouble(plain) * FACTORS.get(unit);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "NANOS | true | 6000 | 30000000 | 10 µs, 100 µs, 1 ms, 10 ms",
        "NANOS | false | 0 | 3900000 | 0, 1 ms, 2 ms, 3 ms",
        "NANOS | false | 0 | 1100000 | 0, 0.5 ms, 1 ms",
        "BYTES | true | 8 | 16777216 | 8 B, 512 B, 32 KiB, 2 MiB",
        "BYTES | false | 0 | 3000000 | 0, 1 MiB, 2 MiB",
        "COUNT | true | 2 | 4096 | 2, 16, 128, 1,024",
        "COUNT | false | 1 | 12 | 5, 10",
        "NUMBER | true | 1e-8 | 3e-5 | 10⁻⁸, 10⁻⁷, 10⁻⁶, 10⁻⁵",
        "NUMBER | true | 2.5e-8 | 1.1e-7 | 3·10⁻⁸, 10⁻⁷",
      })
  void ticksStandAtRoundValues(
      Unit unit, boolean isLogarithmic, double from, double to, String labels) {
    Stream<String> found =
        new Scale(unit, isLogarithmic, from, to).ticks(4).stream().map(Tick::label);
    assertEquals(labels, String.join(", ", found.toList()));
  }

  @Test
  void labelsOfAnyValueHaveAsManyDigitsAsAsked() {
    assertEquals("12.3 µs", Unit.NANOS.label(12_345, 3));
    assertEquals("97.5 MiB", Unit.BYTES.label(102_228_128, 3));
    assertEquals("1.23·10⁻⁷", Unit.NUMBER.label(1.2345e-7, 3));
  }

  @Test
  void aScaleHasALength() {
    assertThrows(IllegalArgumentException.class, () -> new Scale(Unit.COUNT, false, 1, 1));
    assertThrows(IllegalArgumentException.class, () -> new Scale(Unit.COUNT, true, 0, 1));
  }
}
