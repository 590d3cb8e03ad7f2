package io.collectives.bench;

import io.collectives.Mesh;
import io.collectives.bench.perf.CaseResult;
import io.collectives.bench.perf.PerfCase;
import io.collectives.bench.report.ByteSize;
import io.collectives.bench.report.Fields;
import io.collectives.bench.report.Spread;
import io.collectives.bench.report.Units;
import io.collectives.bench.simulate.LinkClass;
import io.collectives.bench.simulate.LinkLoad;
import io.collectives.bench.simulate.Scenario;
import io.collectives.bench.simulate.Task;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;

/** The table of {@code perf --mesh}: what was measured, what the model says, what papers say. */
final class MeshTable {
  private static final List<LinkClass> CLASSES = List.of(LinkClass.X, LinkClass.Y, LinkClass.PODS);

  private final boolean severalCollectives;

  private final FigureTable table =
      new FigureTable(
          3,
          "mesh",
          "algorithm",
          "collective",
          "ranks",
          "bytes",
          "time",
          "from..to",
          "model",
          "ratio",
          "least",
          "share",
          "busbw",
          "speedup",
          "by model",
          "paper",
          "on x",
          "plan",
          "on y",
          "plan",
          "on pods",
          "plan",
          "y/x",
          "wire/plan",
          "wrong");

  /**
   * Makes an empty one.
   *
   * @param severalCollectives whether it has to say which they are
   */
  MeshTable(boolean severalCollectives) {
    this.severalCollectives = severalCollectives;
  }

  /**
   * A case on a mesh in all rounds.
   *
   * @param mesh where it ran
   * @param work what was measured
   * @param scenario the same in the simulator
   * @param modelNanos what it takes there
   * @param rounds the results
   */
  record Line(
      Mesh mesh, PerfCase work, Scenario scenario, double modelNanos, List<CaseResult> rounds) {

    /** The algorithm, without the mesh. */
    String name() {
      return scenario.label().replaceFirst(":\\d+x\\d+( wrap=\\w+)?", "");
    }

    /** In nanoseconds. */
    Spread time() {
      return spread(result -> result.times().medianNanos());
    }

    private Spread spread(ToDoubleFunction<CaseResult> figure) {
      return Spread.of(rounds.stream().mapToDouble(figure));
    }

    /** The time of another line divided by this one's, in each round. */
    Spread speedup(Line other) {
      return Spread.of(
          DoubleStream.iterate(0, i -> i < rounds.size(), i -> i + 1)
              .map(
                  i ->
                      (double) other.rounds.get((int) i).times().medianNanos()
                          / Math.max(1, rounds.get((int) i).times().medianNanos())));
    }

    /** Returns what each link carried, as the median of the rounds. */
    double wire(LinkLoad load) {
      return spread(result -> result.linkBytes().get(load.link())).median();
    }

    /** Returns the number of wrong elements in all rounds; -1 if they were not checked. */
    long wrong() {
      return work.method().check() ? rounds.stream().mapToLong(CaseResult::wrong).sum() : -1;
    }

    /**
     * Returns how many times as fast as the other line a paper says that it is, if one says so
     * (Ying et al. 2018, section 3.3).
     */
    OptionalDouble paper(Line other) {
      return other.scenario.label().equals("ring") && scenario.label().startsWith("torus:")
          ? OptionalDouble.of(2)
          : OptionalDouble.empty();
    }
  }

  /** A case, beside the first one with the same payload on the same mesh. */
  void row(Line line, Line first) {
    PerfCase work = line.work();
    Spread time = line.time();
    Spread speedup = line.speedup(first);
    double modelSpeedup = first.modelNanos() / line.modelNanos();
    OptionalDouble least = line.scenario().least(work.bytes());
    OptionalDouble paper = line == first ? OptionalDouble.empty() : line.paper(first);
    List<LinkLoad> loads = line.scenario().loads(work.bytes());
    double algbw = work.bytes() / time.median();
    double busbw = algbw * Task.of(work.collective()).busFactor(line.scenario().parties());
    double most =
        loads.stream()
            .filter(load -> load.bytes() > 0)
            .mapToDouble(load -> line.wire(load) / load.bytes())
            .max()
            .orElse(Double.NaN);

    List<String> cells = new ArrayList<>();
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("mesh", line.mesh());
    fields.put("algorithm", line.scenario().label());
    fields.put("collective", work.collective());
    fields.put("ranks", work.ranks());
    fields.put("groups", work.members().groups().size());
    fields.put("type", work.operand().type());
    fields.put("op", work.reduces() ? work.operand().op() : Fields.NONE);
    fields.put("bytes", work.bytes());
    fields.put("rounds", line.rounds().size());
    fields.put("iterations", line.rounds().get(0).times().iterations());
    fields.put("median_us", Fields.decimal(time.median() / 1e3, 3));
    fields.put("least_us", Fields.decimal(time.least() / 1e3, 3));
    fields.put("greatest_us", Fields.decimal(time.greatest() / 1e3, 3));
    fields.put("model_us", Fields.decimal(line.modelNanos() / 1e3, 3));
    fields.put("bound_us", least.isPresent() ? us(least.getAsDouble()) : Fields.NONE);
    fields.put("busbw_GBps", Fields.decimal(busbw, 6));
    fields.put("speedup", Fields.decimal(speedup.median(), 4));
    fields.put("speedup_least", Fields.decimal(speedup.least(), 4));
    fields.put("speedup_greatest", Fields.decimal(speedup.greatest(), 4));
    fields.put("model_speedup", Fields.decimal(modelSpeedup, 4));
    fields.put("paper_speedup", paper.isPresent() ? paper.getAsDouble() : Fields.NONE);
    cells.add(line.mesh().toString());
    cells.add(line.name());
    cells.add(severalCollectives ? work.collective().toString() : Fields.NONE);
    cells.add(Units.grouped(work.ranks()));
    cells.add(new ByteSize(work.bytes()).toString());
    cells.add(Units.time(time.median()));
    cells.add(
        line.rounds().size() == 1
            ? Fields.NONE
            : Units.time(time.least()) + ".." + Units.time(time.greatest()));
    cells.add(Units.time(line.modelNanos()));
    cells.add(Units.ratio(time.median() / line.modelNanos(), 2));
    cells.add(least.isPresent() ? Units.time(least.getAsDouble()) : Fields.NONE);
    cells.add(
        least.isPresent()
            ? String.format(Locale.ROOT, "%.0f %%", 100 * least.getAsDouble() / time.median())
            : Fields.NONE);
    cells.add(Units.rate(busbw));
    cells.add(Units.ratio(speedup.median(), 2));
    cells.add(Units.ratio(modelSpeedup, 2));
    cells.add(paper.isPresent() ? Units.ratio(paper.getAsDouble(), 0) : Fields.NONE);
    double[] wires = new double[CLASSES.size()];
    for (int i = 0; i < wires.length; i++) {
      LinkClass of = CLASSES.get(i);
      List<LinkLoad> some = loads.stream().filter(load -> load.links() == of).toList();
      wires[i] = some.stream().mapToDouble(line::wire).sum();
      double plan = some.stream().mapToDouble(LinkLoad::bytes).sum();
      fields.put(of + "_bytes", some.isEmpty() ? Fields.NONE : Math.round(wires[i]));
      fields.put(of + "_plan_bytes", some.isEmpty() ? Fields.NONE : Math.round(plan));
      cells.add(some.isEmpty() ? Fields.NONE : megabytes(wires[i]));
      cells.add(some.isEmpty() ? Fields.NONE : megabytes(plan));
    }
    boolean both = wires[0] > 0 && wires[1] > 0;
    fields.put("y_to_x_bytes", both ? Fields.decimal(wires[1] / wires[0], 4) : Fields.NONE);
    fields.put("most_wire_to_plan", Fields.decimal(most, 4));
    fields.put("wrong", line.wrong() < 0 ? Fields.NONE : line.wrong());
    fields.put(
        "links",
        loads.stream()
            .map(
                load ->
                    load.name()
                        + "="
                        + Math.round(line.wire(load))
                        + "/"
                        + Math.round(load.bytes()))
            .collect(Collectors.joining(" ")));
    cells.add(both ? Units.ratio(wires[1] / wires[0], 2) : Fields.NONE);
    cells.add(Double.isNaN(most) ? Fields.NONE : Units.ratio(most, 3));
    cells.add(line.wrong() < 0 ? Fields.NONE : Units.grouped(line.wrong()));
    table.row(cells, fields);
  }

  /** Prints what was not printed yet if that is TSV. */
  void printSoFar(Format format, PrintWriter out) {
    table.printSoFar(format, out);
  }

  /** Prints all rows, a table with lines below. */
  void print(Format format, PrintWriter out, List<String> below) {
    table.print(format, out, below);
  }

  private static Object us(double nanos) {
    return Fields.decimal(nanos / 1e3, 3);
  }

  private static String megabytes(double bytes) {
    return bytes < 1e5
        ? String.format(Locale.ROOT, "%.1f KB", bytes / 1e3)
        : String.format(Locale.ROOT, "%.2f MB", bytes / 1e6);
  }
}
