package io.collectives.bench.report;

import io.collectives.bench.report.Drawing.Anchor;
import io.collectives.bench.report.Scale.Tick;
import io.collectives.bench.report.Scale.Unit;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Figures over numbers of ranks, of bytes, of steps or the like, as lines whose names stand at
 * their ends. The axis at the side is logarithmic, or begins with 0 if all figures lie close
 * together. Lines that are the same are drawn as one, with both names.
 */
public final class Chart {
  /** The axis of times, which are given in nanoseconds. */
  public static final Axis TIME = new Axis("time of a call", Unit.NANOS);

  /** The axis of payloads. */
  public static final Axis BYTES = new Axis("bytes", Unit.BYTES);

  /** The axis of numbers of ranks. */
  public static final Axis RANKS = new Axis("ranks", Unit.COUNT);

  /** The ratio of the greatest and the least figure from which on the axis is logarithmic. */
  private static final double LOGARITHMIC_FROM = 8;

  private static final double WIDTH = 960;
  private static final double PLOT_HEIGHT = 340;
  private static final double TITLE_SIZE = 17;
  private static final double SIZE = 13;

  /** The height of a line of text. */
  private static final double LINE = 18;

  private static final double EDGE = 16;

  /** The way from the side of the plot to the names. */
  private static final double TO_NAMES = 34;

  /** Pixels between two ticks at the side, at least. */
  private static final double TICK = 36;

  private final Axis below;
  private final Axis side;
  private final boolean isOverSteps;
  private final Map<String, Line> lines = new LinkedHashMap<>();

  /**
   * An axis.
   *
   * @param name what stands beside it
   * @param unit that of its values
   */
  public record Axis(String name, Unit unit) {}

  /** The points of a line; those of its dashed part are of another kind, as is said elsewhere. */
  private record Line(SortedMap<Long, Double> solid, SortedMap<Long, Double> dashed) {
    Stream<Map.Entry<Long, Double>> points() {
      return Stream.concat(solid.entrySet().stream(), dashed.entrySet().stream());
    }

    /** The point farthest to the right. */
    Map.Entry<Long, Double> end() {
      return points().max(Map.Entry.comparingByKey()).orElseThrow();
    }
  }

  /** The part of the picture that has the lines. */
  private record Plot(Scale x, Scale y, double left, double top, double right, double bottom) {
    double x(double at) {
      return left + x.at(at) * (right - left);
    }

    double y(double value) {
      return bottom - y.at(value) * (bottom - top);
    }
  }

  /** Makes an empty chart over what is doubled as a rule. */
  public Chart(Axis below, Axis side) {
    this(below, side, false);
  }

  private Chart(Axis below, Axis side, boolean isOverSteps) {
    this.below = below;
    this.side = side;
    this.isOverSteps = isOverSteps;
  }

  /** Makes an empty chart over steps or the like, which are as far apart as their numbers. */
  public static Chart overSteps(String below, Axis side) {
    return new Chart(new Axis(below, Unit.COUNT), side, true);
  }

  /** Returns the title of a chart of the times that something takes. */
  public static String title(String what, Axis below) {
    return what.substring(0, 1).toUpperCase(Locale.ROOT)
        + what.substring(1)
        + ": time over "
        + below.name();
  }

  /** A point of a line; the last one at a place counts, and what has no logarithm is left out. */
  public void point(String line, long at, double value) {
    put(line(line).solid(), at, value);
  }

  /** A point of the dashed part of a line, for figures of another kind. */
  public void dashedPoint(String line, long at, double value) {
    put(line(line).dashed(), at, value);
  }

  private Line line(String name) {
    return lines.computeIfAbsent(name, key -> new Line(new TreeMap<>(), new TreeMap<>()));
  }

  private static void put(SortedMap<Long, Double> points, long at, double value) {
    // One rank takes no time and makes no error, and no bytes are no place.
    if (at > 0 && value > 0) {
      points.put(at, value);
    } else {
      points.remove(at);
    }
  }

  /**
   * Writes a picture.
   *
   * @param title what it shows
   * @param where how many ranks made it, over what, and on which machine
   * @param file its name ends with {@code .png} or {@code .svg}
   */
  public void write(String title, String where, Path file) throws IOException {
    if (lines.values().stream().flatMap(Line::points).findAny().isEmpty()) {
      throw new IOException("nothing to draw in " + file + ": every " + side.name() + " is 0");
    }
    drawing(title, where).write(file);
  }

  /**
   * Draws it; there is a point.
   *
   * @param title what it shows
   * @param where how many ranks made it, over what, and on which machine
   */
  public Drawing drawing(String title, String where) {
    Map<Line, String> named = different();
    List<Line> all = List.copyOf(named.keySet());
    List<String> heads = wrapped(where, SIZE);
    double names =
        all.stream().mapToDouble(line -> Drawing.width(named.get(line), SIZE)).max().orElse(0);
    double top = EDGE + TITLE_SIZE + heads.size() * LINE + 2.4 * LINE;
    double plotHeight = Math.max(PLOT_HEIGHT, all.size() * LINE);
    Scale y = sideScale();
    List<Tick> ticks = y.ticks((int) (plotHeight / TICK));
    double left =
        EDGE
            + 10
            + ticks.stream().mapToDouble(tick -> Drawing.width(tick.label(), SIZE)).max().orElse(0);
    Plot plot =
        new Plot(belowScale(), y, left, top, WIDTH - EDGE - TO_NAMES - names, top + plotHeight);
    Drawing to = new Drawing(WIDTH, plot.bottom() + 2 * LINE + EDGE + 6, title + "; " + where);
    to.text(EDGE, EDGE + TITLE_SIZE, title, Anchor.START, TITLE_SIZE, Ink.TEXT);
    for (int i = 0; i < heads.size(); i++) {
      double base = EDGE + TITLE_SIZE + (i + 1) * LINE + 4;
      to.text(EDGE, base, heads.get(i), Anchor.START, SIZE, Ink.FAINT);
    }
    to.text(EDGE, top - 12, side.name(), Anchor.START, SIZE, Ink.FAINT);
    for (Tick tick : ticks) {
      double at = plot.y(tick.value());
      to.line(Ink.GRID, 1, false, left, at, plot.right(), at);
      to.text(left - 8, at + 4.5, tick.label(), Anchor.END, SIZE, Ink.FAINT);
    }
    for (Tick tick : belowTicks(plot)) {
      double at = plot.x(tick.value());
      to.line(Ink.GRID, 1, false, at, plot.top(), at, plot.bottom());
      to.text(at, plot.bottom() + LINE, tick.label(), Anchor.MIDDLE, SIZE, Ink.FAINT);
    }
    double middle = (left + plot.right()) / 2;
    to.text(middle, plot.bottom() + 2 * LINE + 6, below.name(), Anchor.MIDDLE, SIZE, Ink.FAINT);
    for (int i = 0; i < all.size(); i++) {
      draw(to, plot, all.get(i).solid(), named.get(all.get(i)), i, false);
      draw(to, plot, all.get(i).dashed(), named.get(all.get(i)), i, true);
    }
    name(to, plot, all, named);
    return to;
  }

  private void draw(
      Drawing to,
      Plot plot,
      SortedMap<Long, Double> points,
      String name,
      int index,
      boolean dashed) {
    Ink ink = Ink.ofLine(index);
    double[] path =
        points.entrySet().stream()
            .flatMap(point -> Stream.of(plot.x(point.getKey()), plot.y(point.getValue())))
            .mapToDouble(Double::doubleValue)
            .toArray();
    if (path.length > 2) {
      to.line(ink, 2, dashed, path);
    }
    points.forEach(
        (at, value) ->
            to.mark(
                shape(index),
                plot.x(at),
                plot.y(value),
                ink,
                String.format(
                    "%s, %s%s: %s",
                    name,
                    below.unit().label(at, 6),
                    below.unit() == Unit.BYTES ? "" : " " + below.name(),
                    side.unit().label(value, 3))));
  }

  /** Lines of the same ink have different marks. */
  private static int shape(int index) {
    return index + index / Ink.LINES;
  }

  /** Writes the names at the right, each as near to the end of its line as the others allow. */
  private static void name(Drawing to, Plot plot, List<Line> all, Map<Line, String> named) {
    double[] ends = all.stream().mapToDouble(line -> plot.y(line.end().getValue())).toArray();
    double[] places = apart(ends, LINE, plot.top(), plot.bottom());
    double key = plot.right() + TO_NAMES - 12;
    for (int i = 0; i < ends.length; i++) {
      Ink ink = Ink.ofLine(i);
      double end = plot.x(all.get(i).end().getKey());
      to.line(ink, 1, plot.right() - end > 1, end, ends[i], key - 8, places[i], key, places[i]);
      to.mark(shape(i), key, places[i], ink, "");
      to.text(key + 10, places[i] + 4.5, named.get(all.get(i)), Anchor.START, SIZE, Ink.TEXT);
    }
  }

  /**
   * Moves places apart, as little as it takes.
   *
   * @param wanted where they would be
   * @param gap how far one is from the next one, at least
   * @param from no place is less, unless there is not enough room
   * @param to no place is greater
   */
  static double[] apart(double[] wanted, double gap, double from, double to) {
    Integer[] order = new Integer[wanted.length];
    Arrays.setAll(order, i -> i);
    Arrays.sort(order, Comparator.comparingDouble(i -> wanted[i]));
    // Neighbors that are too near make a block, which stands around the middle of what they want.
    List<double[]> blocks = new ArrayList<>();
    for (int i : order) {
      double[] block = {wanted[i], 1};
      while (!blocks.isEmpty()) {
        double[] before = blocks.get(blocks.size() - 1);
        double room = held(block, gap, from, to) - held(before, gap, from, to);
        if (room >= (before[1] + block[1]) / 2 * gap) {
          break;
        }
        blocks.remove(blocks.size() - 1);
        double count = before[1] + block[1];
        block = new double[] {(before[0] * before[1] + block[0] * block[1]) / count, count};
      }
      blocks.add(block);
    }
    double[] places = new double[wanted.length];
    int next = 0;
    for (double[] block : blocks) {
      double first = held(block, gap, from, to) - (block[1] - 1) / 2 * gap;
      for (int i = 0; i < block[1]; i++) {
        places[order[next++]] = first + i * gap;
      }
    }
    return places;
  }

  /** The middle of a block, which is moved until the whole block has its place. */
  private static double held(double[] block, double gap, double from, double to) {
    double half = (block[1] - 1) / 2 * gap;
    return Math.max(from + half, Math.min(to - half, block[0]));
  }

  private Scale sideScale() {
    double[] values =
        lines.values().stream()
            .flatMap(Line::points)
            .mapToDouble(Map.Entry::getValue)
            .sorted()
            .toArray();
    double least = values[0];
    double most = values[values.length - 1];
    if (most < LOGARITHMIC_FROM * least) {
      return new Scale(side.unit(), false, 0, most * 1.05);
    }
    double margin = Math.pow(most / least, 0.04);
    return new Scale(side.unit(), true, least / margin, most * margin);
  }

  private Scale belowScale() {
    SortedSet<Long> places = places();
    double first = places.first();
    double last = places.last();
    if (first == last) {
      return new Scale(below.unit(), !isOverSteps, first / 2.0, last * 2.0);
    }
    return new Scale(below.unit(), !isOverSteps, first, last);
  }

  private SortedSet<Long> places() {
    SortedSet<Long> places = new TreeSet<>();
    lines.values().forEach(line -> line.points().forEach(point -> places.add(point.getKey())));
    return places;
  }

  /** The places of the points, as many as have room; round ones over steps. */
  private List<Tick> belowTicks(Plot plot) {
    List<Tick> ticks =
        isOverSteps && places().size() > 1
            ? plot.x().ticks(16)
            : places().stream().map(at -> new Tick(at, below.unit().label(at))).toList();
    List<Tick> kept = ticks;
    for (int step = 2; overlap(kept, plot); step++) {
      List<Tick> fewer = new ArrayList<>();
      for (int i = 0; i < ticks.size(); i += step) {
        fewer.add(ticks.get(i));
      }
      kept = fewer;
    }
    return kept;
  }

  private static boolean overlap(List<Tick> ticks, Plot plot) {
    double before = Double.NEGATIVE_INFINITY;
    for (Tick tick : ticks) {
      double half = Drawing.width(tick.label(), SIZE) / 2 + 3;
      if (plot.x(tick.value()) - half < before) {
        return true;
      }
      before = plot.x(tick.value()) + half;
    }
    return false;
  }

  /** The lines that have points, with their names, in the order of the first. */
  private Map<Line, String> different() {
    Map<Line, String> names = new LinkedHashMap<>();
    lines.forEach(
        (name, line) -> {
          if (line.points().findAny().isPresent()) {
            names.merge(line, name, (first, next) -> first + " = " + next);
          }
        });
    return names;
  }

  /** Lines of text that fit the picture, which are broken at blanks. */
  private static List<String> wrapped(String text, double size) {
    List<String> wrapped = new ArrayList<>();
    String line = "";
    for (String word : text.split(" ")) {
      String longer = line.isEmpty() ? word : line + " " + word;
      if (!line.isEmpty() && Drawing.width(longer, size) > WIDTH - 2 * EDGE) {
        wrapped.add(line);
        longer = word;
      }
      line = longer;
    }
    wrapped.add(line);
    return wrapped;
  }
}
