package io.collectives.bench.report;

import java.awt.BasicStroke;
import java.awt.Color;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.VectorGraphicsEncoder;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.XYSeries;
import org.knowm.xchart.style.Styler;
import org.knowm.xchart.style.lines.SeriesLines;
import org.knowm.xchart.style.markers.Marker;
import org.knowm.xchart.style.markers.SeriesMarkers;

/**
 * Figures over numbers of ranks, of bytes, of steps or the like, as lines in a picture. The axis at
 * the side is logarithmic, or begins with 0 if all figures lie close together; that below has
 * powers of two, unless it counts steps. Lines that are the same are drawn as one, with both names.
 */
public final class LogChart {
  /** The label of times. */
  public static final String TIME = "time (ms)";

  /** The ratio of the greatest and the least figure from which on the axis is logarithmic. */
  private static final double LOGARITHMIC_FROM = 8;

  /** Colors that differ for the color-blind, too (Okabe and Ito 2008), without the yellow. */
  private static final Color[] COLORS = {
    new Color(0x0072b2),
    new Color(0xd55e00),
    new Color(0x009e73),
    new Color(0xcc79a7),
    new Color(0x56b4e9),
    new Color(0xe69f00),
    new Color(0x000000),
    new Color(0x7f7f7f)
  };

  private static final Marker[] MARKERS = {
    SeriesMarkers.CIRCLE, SeriesMarkers.DIAMOND, SeriesMarkers.SQUARE, SeriesMarkers.TRIANGLE_UP
  };

  private final String over;
  private final String figure;
  private final boolean isOverSteps;
  private final Map<String, SortedMap<Long, Double>> lines = new LinkedHashMap<>();
  private final Map<String, String> sameColor = new HashMap<>();

  /**
   * Makes an empty chart.
   *
   * @param over what stands below
   * @param figure what stands at the side
   */
  public LogChart(String over, String figure) {
    this(over, figure, false);
  }

  private LogChart(String over, String figure, boolean isOverSteps) {
    this.over = over;
    this.figure = figure;
    this.isOverSteps = isOverSteps;
  }

  /** Makes an empty chart over steps or the like, which are as far apart as their numbers. */
  public static LogChart overSteps(String over, String figure) {
    return new LogChart(over, figure, true);
  }

  /** A point of a line; the last one at a place counts, and what has no logarithm is left out. */
  public void point(String line, long at, double value) {
    lines.computeIfAbsent(line, name -> new TreeMap<>()).put(at, value);
  }

  /** Gives a line the color of an earlier one; its points look different. */
  public void colorAs(String line, String other) {
    sameColor.put(line, other);
  }

  /** Returns whether a picture of this name can be written. */
  public static boolean canWrite(Path file) {
    String name = file.toString().toLowerCase(Locale.ROOT);
    return name.endsWith(".png") || name.endsWith(".svg");
  }

  /**
   * Writes a picture.
   *
   * @param file its name ends with {@code .png} or {@code .svg}
   */
  public void write(String title, Path file) throws IOException {
    XYChart chart =
        new XYChartBuilder()
            .width(1000)
            .height(500)
            .title(title)
            .xAxisTitle(over)
            .yAxisTitle(figure)
            .build();
    chart
        .getStyler()
        .setxAxisTickLabelsFormattingFunction(isOverSteps ? LogChart::whole : LogChart::power);
    chart.getStyler().setLegendPosition(Styler.LegendPosition.OutsideE);
    chart.getStyler().setChartBackgroundColor(Color.WHITE);
    // Dashes would be written one by one: most of an SVG.
    chart.getStyler().setPlotGridLinesStroke(new BasicStroke(0.5f));
    Map<String, Integer> styles = new LinkedHashMap<>();
    double least = Double.MAX_VALUE;
    double most = 0;
    for (Map.Entry<SortedMap<Long, Double>, String> line : different().entrySet()) {
      List<Double> places = new ArrayList<>();
      List<Double> values = new ArrayList<>();
      for (Map.Entry<Long, Double> point : line.getKey().entrySet()) {
        double value = point.getValue();
        // One rank takes no time and makes no error, and no bytes are no place.
        if (value > 0 && point.getKey() > 0) {
          places.add(place(point.getKey()));
          values.add(value);
          least = Math.min(least, value);
          most = Math.max(most, value);
        }
      }
      if (!places.isEmpty()) {
        paint(chart.addSeries(line.getValue(), places, values), styles);
      }
    }
    if (most == 0) {
      throw new IOException("nothing to draw in " + file + ": every " + figure + " is 0");
    }
    if (most < LOGARITHMIC_FROM * least) {
      chart.getStyler().setYAxisMin(0.0).setYAxisDecimalPattern(most >= 10 ? "#,##0" : "0.###");
    } else {
      // Only powers of ten are labelled: so let there be two.
      double bottom = Math.pow(10, Math.floor(Math.log10(least)));
      double top = Math.pow(10, Math.ceil(Math.log10(most)));
      chart.getStyler().setYAxisLogarithmic(true);
      chart.getStyler().setYAxisMin(bottom).setYAxisMax(top > bottom ? top : 10 * bottom);
    }
    String path = file.toString();
    if (path.toLowerCase(Locale.ROOT).endsWith(".png")) {
      BitmapEncoder.saveBitmap(chart, path, BitmapEncoder.BitmapFormat.PNG);
    } else {
      VectorGraphicsEncoder.saveVectorGraphic(
          chart, path, VectorGraphicsEncoder.VectorGraphicsFormat.SVG);
    }
  }

  /**
   * Chooses the color and the points of a line.
   *
   * @param styles the indexes of the colors of the lines before
   */
  private void paint(XYSeries line, Map<String, Integer> styles) {
    String name = line.getName();
    Integer other = styles.get(sameColor.getOrDefault(name, name));
    int color = other != null ? other : (int) styles.values().stream().distinct().count();
    long alike = styles.values().stream().filter(index -> index == color).count();
    styles.put(name, color);
    line.setLineColor(COLORS[color % COLORS.length]);
    line.setMarkerColor(COLORS[color % COLORS.length]);
    line.setMarker(MARKERS[(int) (alike + color / COLORS.length) % MARKERS.length]);
    line.setLineStyle(SeriesLines.SOLID);
  }

  private double place(long at) {
    return isOverSteps ? at : Math.log(at) / Math.log(2);
  }

  /** The names of each line, in the order of the first. */
  private Map<SortedMap<Long, Double>, String> different() {
    Map<SortedMap<Long, Double>, String> names = new LinkedHashMap<>();
    lines.forEach((name, line) -> names.merge(line, name, (first, next) -> first + " = " + next));
    return names;
  }

  private static String whole(double step) {
    return Math.abs(step - Math.rint(step)) > 1e-6 ? " " : String.format(Locale.ROOT, "%.0f", step);
  }

  /** Two to the power of a whole number; a blank for others, since XChart draws no empty label. */
  private static String power(double exponent) {
    double whole = Math.rint(exponent);
    return Math.abs(exponent - whole) > 1e-6 || whole < 0 || whole > 62
        ? " "
        : String.format(Locale.ROOT, "%,d", 1L << (int) whole);
  }
}
