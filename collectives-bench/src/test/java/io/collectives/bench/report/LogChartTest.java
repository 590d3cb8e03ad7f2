package io.collectives.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LogChartTest {
  /** The marks of lines, unless they have the color of another one. */
  private static final Pattern DOT = Pattern.compile("<ellipse [^>]*cx=\"([0-9.]+)\"");

  private static final Pattern HEIGHT = Pattern.compile("<ellipse [^>]*cy=\"([0-9.]+)\"");

  /** The color of the second line. */
  private static final String SECOND = "rgb(213,94,0)";

  @TempDir private Path directory;

  @Test
  void pointsStandByPowersOfTwo() throws Exception {
    LogChart chart = new LogChart("bytes", LogChart.TIME);
    chart.point("ring", 1024, 5);
    chart.point("ring", 32_768, 6);
    chart.point("ring", 1_048_576, 7);
    // Neither has a logarithm.
    chart.point("ring", 0, 1);
    chart.point("ring", 4096, 0);
    List<Double> dots = dots(chart);
    // The last is in the legend.
    assertEquals(4, dots.size());
    double step = dots.get(1) - dots.get(0);
    assertTrue(step > 100, dots.toString());
    assertEquals(step, dots.get(2) - dots.get(1), 2, dots.toString());
  }

  @Test
  void stepsAreAsFarApartAsTheirNumbers() throws Exception {
    LogChart chart = LogChart.overSteps("epoch", "loss");
    chart.point("loss", 1, 2.0);
    chart.point("loss", 2, 0.5);
    chart.point("loss", 4, 0.1);
    List<Double> dots = dots(chart);
    double step = dots.get(1) - dots.get(0);
    assertTrue(step > 100, dots.toString());
    assertEquals(2 * step, dots.get(2) - dots.get(1), 2, dots.toString());
  }

  @Test
  void linesThatAreTheSameAreOne() throws Exception {
    LogChart chart = new LogChart("ranks", LogChart.TIME);
    chart.point("first", 4, 5);
    chart.point("second", 4, 5);
    Path one = directory.resolve("one.svg");
    chart.write("", one);
    chart.point("third", 4, 6);
    Path two = directory.resolve("two.svg");
    chart.write("", two);
    assertEquals(4, dots(chart).size(), "two points and their legend");
    assertFalse(Files.readString(one).contains(SECOND));
    assertTrue(Files.readString(two).contains(SECOND));
  }

  @Test
  void figuresThatLieCloseTogetherBeginWithZero() throws Exception {
    LogChart chart = new LogChart("ranks", "images/s");
    chart.point("plain", 1, 4000);
    chart.point("plain", 2, 3000);
    chart.point("plain", 4, 2000);
    List<Double> heights = found(chart, HEIGHT);
    double step = heights.get(1) - heights.get(0);
    assertEquals(step, heights.get(2) - heights.get(1), 2, heights.toString());
    chart.point("plain", 8, 100);
    heights = found(chart, HEIGHT);
    step = heights.get(1) - heights.get(0);
    assertTrue(heights.get(2) - heights.get(1) > 1.2 * step, "logarithmic: " + heights);
  }

  @Test
  void aLineInTheColorOfAnotherHasOtherMarks() throws Exception {
    LogChart chart = new LogChart("ranks", LogChart.TIME);
    chart.point("measured", 2, 5);
    chart.point("simulated", 2, 6);
    chart.colorAs("simulated", "measured");
    assertEquals(2, dots(chart).size(), "a point and its legend");
    assertFalse(Files.readString(directory.resolve("dots.svg")).contains(SECOND));
  }

  @Test
  void nothingToDrawIsAnError() {
    LogChart chart = new LogChart("ranks", LogChart.TIME);
    chart.point("ring", 1, 0);
    IOException error =
        assertThrows(IOException.class, () -> chart.write("", directory.resolve("none.svg")));
    assertTrue(error.getMessage().endsWith("none.svg: every time (ms) is 0"), error.getMessage());
  }

  private List<Double> dots(LogChart chart) throws IOException {
    return found(chart, DOT);
  }

  private List<Double> found(LogChart chart, Pattern pattern) throws IOException {
    Path file = directory.resolve("dots.svg");
    chart.write("", file);
    Matcher matcher = pattern.matcher(Files.readString(file));
    List<Double> at = new ArrayList<>();
    while (matcher.find()) {
      at.add(Double.parseDouble(matcher.group(1)));
    }
    return at;
  }
}
