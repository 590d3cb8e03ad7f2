package io.collectives.bench;

import io.collectives.bench.report.Fields;
import io.collectives.bench.report.Progress;
import io.collectives.bench.report.Units;
import io.collectives.bench.simulate.Scenario;
import io.collectives.bench.simulate.Step;
import io.collectives.bench.simulate.StepFigure;
import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The table that {@code collectives paper} prints of a figure about whole steps. */
final class StepFigureTable {
  private final StepFigure figure;
  private final FigureTable table;

  StepFigureTable(StepFigure figure) {
    this.figure = figure;
    this.table =
        new FigureTable(
            3,
            "step",
            "algorithm",
            "network",
            "ranks",
            "batch",
            "time",
            "computing",
            "calls",
            "hidden",
            "exposed",
            figure.unit(),
            "paper",
            "ratio",
            "for the paper's number");
  }

  /** Models all steps of the figure. */
  void fill(Progress progress) {
    for (StepFigure.Case each : figure.cases()) {
      progress.step(figure + ": " + each.label() + " of " + each.model().prices().ranks());
      row(each);
    }
  }

  private void row(StepFigure.Case each) {
    Step step = each.run();
    Scenario scenario = each.model().prices().first(step.calls().get(0).collective());
    double found = figure.figure(each, step);
    boolean printed = !Double.isNaN(each.paper());
    double computing = step.nanos() - step.exposedNanos();
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("figure", figure);
    fields.put("step", each.label());
    fields.put("algorithm", scenario.label());
    fields.put("network", scenario.network());
    fields.put("ranks", scenario.members());
    fields.put("batch", each.batch());
    StepTable.put(fields, step);
    fields.put("unit", figure.unit());
    fields.put("modelled", Fields.decimal(found, 3));
    fields.put("paper", printed ? Fields.decimal(each.paper(), 3) : Fields.NONE);
    fields.put("ratio", printed ? Fields.decimal(found / each.paper(), 4) : Fields.NONE);
    fields.put("needed", printed ? figure.needed(each, step) : Fields.NONE);
    table.row(
        List.of(
            each.label(),
            scenario.label(),
            scenario.network().toString(),
            Units.grouped(scenario.members()),
            Units.grouped(each.batch()),
            Units.time(step.nanos()),
            Units.time(computing),
            Units.time(step.callNanos()),
            step.hiddenNanos() < 1 ? Fields.NONE : Units.time(step.hiddenNanos()),
            Units.time(step.exposedNanos()),
            String.format(Locale.ROOT, "%.1f", found),
            printed ? String.format(Locale.ROOT, "%.1f", each.paper()) : Fields.NONE,
            printed ? Units.ratio(found / each.paper(), 2) : Fields.NONE,
            printed ? figure.needed(each, step) : Fields.NONE),
        fields);
  }

  /** Prints all rows, a table with the assumptions below. */
  void print(Format format, PrintWriter out) {
    table.print(format, out, figure.notes());
  }
}
