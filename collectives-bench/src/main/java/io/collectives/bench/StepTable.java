package io.collectives.bench;

import io.collectives.bench.report.Fields;
import io.collectives.bench.report.Units;
import io.collectives.bench.simulate.Scenario;
import io.collectives.bench.simulate.Step;
import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The table that {@code collectives simulate --step} prints. */
final class StepTable {
  private final FigureTable table =
      new FigureTable(
          3,
          "step of",
          "algorithm",
          "network",
          "ranks",
          "batch",
          "calls",
          "step",
          "input wait",
          "forward",
          "backward",
          "update",
          "exposed",
          "all-reduce",
          "hidden",
          "of linear",
          "samples/s");

  /**
   * A step.
   *
   * @param model whose gradients, and how they are fused
   * @param batch the samples of a rank
   * @param scenario of its first call
   * @param alone what it takes a rank by itself, in nanoseconds
   */
  void row(String model, int batch, Scenario scenario, Step step, double alone) {
    double rate = step.nanos() == 0 ? 0 : scenario.members() * batch * 1e9 / step.nanos();
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("model", model);
    fields.put("algorithm", scenario.label());
    fields.put("network", scenario.network());
    fields.put("ranks", scenario.members());
    fields.put("batch", batch);
    put(fields, step);
    fields.put("of_linear", Fields.decimal(step.share(alone), 6));
    fields.put("samples_per_s", Fields.decimal(rate, 3));
    table.row(
        List.of(
            model,
            scenario.label(),
            scenario.network().toString(),
            Units.grouped(scenario.members()),
            Units.grouped(batch),
            Units.grouped(step.calls().size()),
            Units.time(step.nanos()),
            part(step, step.inputNanos()),
            part(step, step.forwardNanos()),
            part(step, step.backwardNanos()),
            part(step, step.updateNanos()),
            part(step, step.exposedNanos()),
            part(step, step.callNanos()),
            part(step, step.hiddenNanos()),
            percent(step.share(alone)),
            Units.grouped(Math.round(rate))),
        fields);
  }

  /** Adds the times of a step, in milliseconds, and their shares of it. */
  static void put(Map<String, Object> fields, Step step) {
    fields.put("calls", step.calls().size());
    fields.put("step_ms", Fields.decimal(step.nanos() / 1e6, 6));
    put(fields, "input_wait", step, step.inputNanos());
    put(fields, "forward", step, step.forwardNanos());
    put(fields, "backward", step, step.backwardNanos());
    put(fields, "update", step, step.updateNanos());
    put(fields, "exposed", step, step.exposedNanos());
    put(fields, "all_reduce", step, step.callNanos());
    put(fields, "hidden", step, step.hiddenNanos());
  }

  private static void put(Map<String, Object> fields, String name, Step step, double nanos) {
    fields.put(name + "_ms", Fields.decimal(nanos / 1e6, 6));
    fields.put(name + "_share", Fields.decimal(step.share(nanos), 6));
  }

  private static String part(Step step, double nanos) {
    return nanos == 0 ? Fields.NONE : Units.time(nanos) + " " + percent(step.share(nanos));
  }

  private static String percent(double share) {
    return String.format(Locale.ROOT, "%.1f %%", 100 * share);
  }

  /** Prints all rows, a table with lines below. */
  void print(Format format, PrintWriter out, List<String> below) {
    table.print(format, out, below);
  }
}
