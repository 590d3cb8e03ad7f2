package io.collectives.bench.simulate;

import java.awt.Color;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.VectorGraphicsEncoder;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.style.Styler;

/** Times over numbers of ranks as lines in a picture; both axes are logarithmic. */
public final class TimeChart {
  private TimeChart() {}

  /** Whether a picture of this name can be written. */
  public static boolean canWrite(Path file) {
    String name = file.toString().toLowerCase(Locale.ROOT);
    return name.endsWith(".png") || name.endsWith(".svg");
  }

  /**
   * Writes a picture.
   *
   * @param lines by name, nanoseconds by ranks
   * @param file its name ends with {@code .png} or {@code .svg}
   */
  public static void write(String title, Map<String, SortedMap<Integer, Double>> lines, Path file)
      throws IOException {
    XYChart chart =
        new XYChartBuilder()
            .width(900)
            .height(600)
            .title(title)
            .xAxisTitle("ranks")
            .yAxisTitle("time (ms)")
            .build();
    chart.getStyler().setXAxisLogarithmic(true).setYAxisLogarithmic(true);
    chart.getStyler().setLegendPosition(Styler.LegendPosition.InsideNW);
    chart.getStyler().setChartBackgroundColor(Color.WHITE);
    double least = Double.MAX_VALUE;
    double most = 0;
    for (Map.Entry<String, SortedMap<Integer, Double>> line : lines.entrySet()) {
      List<Integer> ranks = new ArrayList<>();
      List<Double> millis = new ArrayList<>();
      for (Map.Entry<Integer, Double> point : line.getValue().entrySet()) {
        double time = point.getValue() / 1e6;
        // One rank takes no time, which has no logarithm.
        if (time > 0) {
          ranks.add(point.getKey());
          millis.add(time);
          least = Math.min(least, time);
          most = Math.max(most, time);
        }
      }
      if (!ranks.isEmpty()) {
        chart.addSeries(line.getKey(), ranks, millis);
      }
    }
    if (most == 0) {
      throw new IOException("nothing to draw in " + file + ": nothing takes any time");
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
}
