package io.collectives.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.bench.report.Scale.Unit;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import javax.imageio.ImageIO;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

@Tag("once")
class ChartTest {
  private static final Chart.Axis NUMBER = new Chart.Axis("images/s", Unit.NUMBER);

  @TempDir private Path directory;

  @Test
  void pointsStandByPowersOfTwo() throws Exception {
    Chart chart = new Chart(Chart.BYTES, Chart.TIME);
    chart.point("ring", 1024, 5);
    chart.point("ring", 32_768, 6);
    chart.point("ring", 1_048_576, 7);
    // Neither has a logarithm.
    chart.point("ring", 0, 1);
    chart.point("ring", 4096, 0);
    List<Double> dots = marks(chart, "cx");
    assertEquals(4, dots.size(), "the last is beside the name");
    double step = dots.get(1) - dots.get(0);
    assertTrue(step > 100, dots.toString());
    assertEquals(step, dots.get(2) - dots.get(1), 0.2, dots.toString());
    assertEquals(List.of("1 KiB", "32 KiB", "1 MiB"), below(chart, "bytes"));
  }

  @Test
  void stepsAreAsFarApartAsTheirNumbers() throws Exception {
    Chart chart = Chart.overSteps("epoch", new Chart.Axis("loss", Unit.NUMBER));
    chart.point("loss", 1, 2.0);
    chart.point("loss", 2, 0.5);
    chart.point("loss", 4, 0.1);
    List<Double> dots = marks(chart, "cx");
    double step = dots.get(1) - dots.get(0);
    assertTrue(step > 100, dots.toString());
    assertEquals(2 * step, dots.get(2) - dots.get(1), 0.2, dots.toString());
    assertEquals(List.of("1", "2", "3", "4"), below(chart, "epoch"));
  }

  @Test
  void linesThatAreTheSameAreOneWithBothNames() throws Exception {
    Chart chart = new Chart(Chart.RANKS, Chart.TIME);
    chart.point("first", 4, 5);
    chart.point("second", 4, 5);
    assertTrue(texts(chart).contains("first = second"), texts(chart).toString());
    assertFalse(svg(chart).contains("mark vermilion"));
    chart.point("third", 4, 6);
    assertTrue(svg(chart).contains("mark vermilion"));
  }

  @Test
  void figuresThatLieCloseTogetherBeginWithZero() throws Exception {
    Chart chart = new Chart(Chart.RANKS, NUMBER);
    chart.point("plain", 1, 4000);
    chart.point("plain", 2, 3000);
    chart.point("plain", 4, 2000);
    List<Double> heights = marks(chart, "cy");
    double step = heights.get(1) - heights.get(0);
    assertEquals(step, heights.get(2) - heights.get(1), 0.2, heights.toString());
    assertTrue(texts(chart).contains("0"), texts(chart).toString());
    chart.point("plain", 8, 100);
    heights = marks(chart, "cy");
    step = heights.get(1) - heights.get(0);
    assertTrue(heights.get(2) - heights.get(1) > 1.2 * step, "logarithmic: " + heights);
  }

  @Test
  void theDashedPartHasTheColorOfItsLineAndNoNameOfItsOwn() throws Exception {
    Chart chart = new Chart(Chart.RANKS, Chart.TIME);
    chart.point("overlap", 1, 5);
    chart.point("overlap", 2, 5);
    chart.dashedPoint("overlap", 2, 6);
    chart.dashedPoint("overlap", 4, 6);
    assertEquals(1, texts(chart).stream().filter("overlap"::equals).count());
    assertEquals(5, marks(chart, "cx").size());
    assertTrue(svg(chart).contains("stroke-dasharray"));
    assertFalse(svg(chart).contains("mark vermilion"));
  }

  @Test
  void nothingToDrawIsAnError() {
    Chart chart = new Chart(Chart.RANKS, Chart.TIME);
    chart.point("ring", 1, 0);
    Path file = directory.resolve("none.svg");
    IOException error = assertThrows(IOException.class, () -> chart.write("", "", file));
    String what = "none.svg: every time of a call is 0";
    assertTrue(error.getMessage().endsWith(what), error.getMessage());
  }

  /** Of any lines: names, ticks and titles are text, and none lies over another. */
  @Test
  void noTextLiesOverAnother() throws Exception {
    for (int seed = 0; seed < 40; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      Chart chart = new Chart(seed % 2 == 0 ? Chart.BYTES : Chart.RANKS, Chart.TIME);
      int lines = random.nextInt(1, 40);
      for (int line = 0; line < lines; line++) {
        for (int at = 0; at < 14; at++) {
          // Many end at the same place.
          double value = at == 13 && random.nextBoolean() ? 1e5 : random.nextDouble(1, 1e7);
          chart.point("line <" + line + "> & more", 3L << at + seed % 8, value);
        }
      }
      List<Element> texts = elements(chart, "text");
      assertTrue(texts.size() > lines + 4, texts.size() + " texts");
      List<double[]> boxes = texts.stream().map(ChartTest::box).toList();
      for (int i = 0; i < boxes.size(); i++) {
        for (int j = 0; j < i; j++) {
          double[] one = boxes.get(i);
          double[] other = boxes.get(j);
          assertFalse(
              one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3],
              "seed "
                  + seed
                  + ": "
                  + texts.get(i).getTextContent()
                  + " over "
                  + texts.get(j).getTextContent());
        }
      }
    }
  }

  /** The rectangle that a text takes: left, top, right, bottom. */
  private static double[] box(Element text) {
    double size = number(text, "font-size");
    double width = Drawing.width(text.getTextContent(), size);
    double before =
        switch (text.getAttribute("text-anchor")) {
          case "start" -> 0;
          case "middle" -> width / 2;
          default -> width;
        };
    double left = number(text, "x") - before;
    double base = number(text, "y");
    assertTrue(left >= 0 && left + width <= 960, "outside: " + text.getTextContent());
    return new double[] {left, base - 0.75 * size, left + width, base + 0.2 * size};
  }

  @Test
  void placesAreMovedNoFartherThanItTakes() {
    double[] wanted = {10, 50, 12, 11, 99};
    double[] places = Chart.apart(wanted, 10, 0, 100);
    assertEquals(50, places[1]);
    assertEquals(99, places[4]);
    double[] moved = IntStream.of(0, 3, 2).mapToDouble(i -> places[i]).toArray();
    assertEquals(List.of(1.0, 11.0, 21.0), Arrays.stream(moved).boxed().toList());
    double[] atTheEdge = Chart.apart(new double[] {1, 1, 99}, 10, 0, 100);
    assertEquals(List.of(0.0, 10.0, 99.0), Arrays.stream(atTheEdge).boxed().toList());
  }

  /** The colors of text and of lines can be told from the ground, and no line is yellow. */
  @Test
  void picturesHaveColorsForLightAndDarkPages() throws Exception {
    Chart chart = new Chart(Chart.RANKS, Chart.TIME);
    for (int line = 0; line <= Ink.LINES; line++) {
      chart.point("line " + line, 2, 10 + line);
    }
    String svg = svg(chart);
    String dark = "@media(prefers-color-scheme:dark){";
    assertTrue(svg.contains(dark), svg);
    String style = svg.substring(svg.indexOf("<style>"), svg.indexOf("</style>"));
    String[] schemes = style.split(Pattern.quote(dark));
    for (String scheme : schemes) {
      Map<String, Integer> colors = colors(scheme);
      assertEquals(Ink.values().length, colors.size(), scheme);
      double ground = brightness(colors.get("paper"));
      colors.forEach(
          (name, color) -> {
            double contrast = contrast(brightness(color), ground);
            double least = name.equals("text") || name.equals("faint") ? 4.5 : 2.2;
            boolean isFree = Set.of("paper", "grid", "pale").contains(name);
            assertTrue(isFree || contrast >= least, name + " has a contrast of " + contrast);
          });
    }
    Matcher used = Pattern.compile("class=\"(?:mark )?(\\w+)\"").matcher(svg);
    while (used.find()) {
      assertTrue(colors(schemes[0]).containsKey(used.group(1)), used.group());
    }
  }

  private static Map<String, Integer> colors(String css) {
    Map<String, Integer> colors = new HashMap<>();
    Matcher rule = Pattern.compile("\\.(\\w+)\\{color:#(\\w{6})}").matcher(css);
    while (rule.find()) {
      colors.put(rule.group(1), Integer.parseInt(rule.group(2), 16));
    }
    return colors;
  }

  /** The relative luminance of WCAG. */
  private static double brightness(int color) {
    double[] parts = new double[3];
    for (int i = 0; i < 3; i++) {
      double part = (color >> 16 - 8 * i & 0xff) / 255.0;
      parts[i] = part <= 0.04045 ? part / 12.92 : Math.pow((part + 0.055) / 1.055, 2.4);
    }
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  }

  private static double contrast(double one, double other) {
    return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
  }

  @Test
  void aPngIsAPictureOnWhite() throws Exception {
    Chart chart = new Chart(Chart.RANKS, Chart.TIME);
    chart.point("ring", 2, 5);
    Path file = directory.resolve("chart.png");
    chart.write("title", "where", file);
    var image = ImageIO.read(file.toFile());
    assertEquals(1920, image.getWidth());
    assertEquals(0xffffff, image.getRGB(0, image.getHeight() - 1) & 0xffffff);
    assertTrue(
        IntStream.range(0, 1920).anyMatch(x -> (image.getRGB(x, 50) & 0xffffff) < 0x404040),
        "the title is black");
  }

  private List<Double> marks(Chart chart, String coordinate) throws Exception {
    List<Double> at = new ArrayList<>();
    for (Element circle : elements(chart, "circle")) {
      at.add(number(circle, coordinate));
    }
    return at;
  }

  /** The labels of the ticks below, which stand before the name of the axis. */
  private List<String> below(Chart chart, String axis) throws Exception {
    List<Element> texts = elements(chart, "text");
    double base =
        texts.stream()
            .filter(text -> text.getTextContent().equals(axis))
            .mapToDouble(text -> number(text, "y"))
            .findFirst()
            .orElseThrow();
    return texts.stream()
        .filter(text -> base - number(text, "y") > 0 && base - number(text, "y") < 30)
        .filter(text -> text.getAttribute("text-anchor").equals("middle"))
        .map(Element::getTextContent)
        .toList();
  }

  private List<String> texts(Chart chart) throws Exception {
    return elements(chart, "text").stream().map(Element::getTextContent).toList();
  }

  private static double number(Element element, String attribute) {
    return Double.parseDouble(element.getAttribute(attribute));
  }

  private List<Element> elements(Chart chart, String name) throws Exception {
    Document document =
        DocumentBuilderFactory.newInstance()
            .newDocumentBuilder()
            .parse(new ByteArrayInputStream(svg(chart).getBytes(StandardCharsets.UTF_8)));
    assertEquals("svg", document.getDocumentElement().getTagName());
    NodeList found = document.getElementsByTagName(name);
    return IntStream.range(0, found.getLength()).mapToObj(i -> (Element) found.item(i)).toList();
  }

  private String svg(Chart chart) throws IOException {
    Path file = directory.resolve("chart.svg");
    chart.write("All-reduce", "2 ranks, threads", file);
    return Files.readString(file);
  }
}
