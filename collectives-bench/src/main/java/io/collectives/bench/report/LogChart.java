package io.collectives.bench.report;

import java.awt.BasicStroke;
import java.awt.Color;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
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
import org.knowm.xchart.style.Styler;

/**
 * Figures over numbers of ranks, of bytes, of steps or the like, as lines in a picture. The axis at
 * the side is logarithmic; so is that below, with powers of two, unless it counts steps. Lines that
 * are the same are drawn as one, with both names.
 */
public final class LogChart {
  /** The label of times. */
  public static final String TIME = "time (ms)";

  private final String over;
  private final String figure;
  private final boolean isOverSteps;
  private final Map<String, SortedMap<Long, Double>> lines = new LinkedHashMap<>();

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
    chart.getStyler().setYAxisLogarithmic(true);
    chart
        .getStyler()
        .setxAxisTickLabelsFormattingFunction(isOverSteps ? LogChart::whole : LogChart::power);
    chart.getStyler().setLegendPosition(Styler.LegendPosition.OutsideE);
    chart.getStyler().setChartBackgroundColor(Color.WHITE);
    // Dashes would be written one by one: most of an SVG.
    chart.getStyler().setPlotGridLinesStroke(new BasicStroke(0.5f));
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
        chart.addSeries(line.getValue(), places, values);
      }
    }
    if (most == 0) {
      throw new IOException("nothing to draw in " + file + ": every " + figure + " is 0");
    }
    // Only powers of ten are labelled: so let there be two.
    double bottom = Math.pow(10, Math.floor(Math.log10(least)));
    double top = Math.pow(10, Math.ceil(Math.log10(most)));
    chart.getStyler().setYAxisMin(bottom).setYAxisMax(top > bottom ? top : 10 * bottom);
    String path = file.toString();
    if (path.toLowerCase(Locale.ROOT).endsWith(".png")) {
      BitmapEncoder.saveBitmap(chart, path, BitmapEncoder.BitmapFormat.PNG);
    } else {
      VectorGraphicsEncoder.saveVectorGraphic(
          chart, path, VectorGraphicsEncoder.VectorGraphicsFormat.SVG);
    }
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
