package io.collectives.bench;

import io.collectives.Collective;
import io.collectives.bench.report.Chart;
import io.collectives.bench.report.Progress;
import io.collectives.bench.simulate.Calibration;
import io.collectives.bench.simulate.CallPrices;
import io.collectives.bench.simulate.Fabric;
import io.collectives.bench.simulate.Scenario;
import io.collectives.bench.simulate.Size;
import io.collectives.bench.simulate.Step;
import io.collectives.bench.simulate.StepModel;
import io.collectives.bench.simulate.Wire;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Model.CommandSpec;

/** The steps of one {@code collectives simulate --step}. */
final class StepRun {
  private final CommandSpec spec;
  private final StepOptions options;
  private final Fabric fabric;
  private final CallPrices.Software software;
  private final StepTable table = new StepTable();
  private final Chart picture = new Chart(Chart.RANKS, new Chart.Axis("time", Chart.TIME.unit()));
  private final List<String> below = new ArrayList<>();
  private final List<Step> steps = new ArrayList<>();
  private String title = "";

  StepRun(CommandSpec spec, StepOptions options, Fabric fabric, CallPrices.Software software) {
    this.spec = spec;
    this.options = options;
    this.fabric = fabric;
    this.software = software;
  }

  /**
   * Models every combination.
   *
   * @param assumed of the network, a line each
   */
  void run(List<String> algorithms, List<Size> sizes, List<String> assumed) {
    List<StepOptions.Wanted> all = options.all(spec);
    Optional<Calibration> calibration = options.calibration(spec);
    below.addAll(options.assumptions());
    below.addAll(assumed);
    try (Progress progress = new Progress(spec.commandLine().getErr())) {
      progress.expect((double) algorithms.size() * sizes.size());
      for (String algorithm : algorithms) {
        for (Size size : sizes) {
          progress.step("steps of " + size.ranks() + " ranks by " + algorithm);
          try {
            CallPrices prices =
                new CallPrices(
                    List.of(algorithm), size, fabric(calibration, algorithm, size), software);
            all.forEach(wanted -> row(wanted, algorithm, prices));
          } catch (IllegalArgumentException e) {
            throw Usage.error(spec, algorithm + ": " + e.getMessage());
          }
          progress.done(1);
        }
      }
    }
  }

  private Fabric fabric(Optional<Calibration> calibration, String algorithm, Size size) {
    if (calibration.isEmpty()) {
      return fabric;
    }
    Wire wire = calibration.get().wire(algorithm, size, fabric, software);
    below.add(StepOptions.found(algorithm + " of " + size.ranks(), wire));
    return new Fabric(wire, fabric.others(), fabric.pod(), fabric.hosts());
  }

  private void row(StepOptions.Wanted wanted, String algorithm, CallPrices prices) {
    StepModel model = new StepModel(wanted.compute(), prices);
    Step step = model.step(options.means(wanted.way()));
    Scenario scenario =
        prices.first(
            step.calls().isEmpty() ? Collective.ALL_REDUCE : step.calls().get(0).collective());
    table.row(
        wanted.model() + ":" + wanted.way(),
        wanted.batch(),
        scenario,
        step,
        wanted.compute().nanos());
    steps.add(step);
    String name = wanted.model() + " " + wanted.way() + ", batch " + wanted.batch();
    title = "A step of " + wanted.model().title() + " on " + scenario.members() + " ranks";
    long ranks = scenario.members();
    picture.point(name + ", " + algorithm, ranks, step.nanos());
    picture.point(name + ", " + algorithm + ", exposed", ranks, step.exposedNanos());
    picture.point(name + ", computing", ranks, wanted.compute().nanos());
  }

  /** Prints all rows, and what was assumed. */
  void print(Format format) {
    table.print(format, spec.commandLine().getOut(), below);
  }

  /**
   * Draws times over ranks, or a single step.
   *
   * @param where what the network is like
   */
  void draw(Path file, String where) throws IOException {
    if (steps.size() == 1) {
      StepChart.write(steps.get(0), title, where, file);
    } else {
      picture.write("Modelled steps: time over ranks", where, file);
    }
  }
}
