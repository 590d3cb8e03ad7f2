package io.collectives.bench;

import io.collectives.Collectives;
import io.collectives.ElementType;
import io.collectives.Repeatability;
import io.collectives.WireType;
import io.collectives.bench.digits.DigitsEpoch;
import io.collectives.bench.digits.DigitsProfile;
import io.collectives.bench.digits.DigitsRun;
import io.collectives.bench.digits.DigitsTask;
import io.collectives.bench.perf.AlgorithmChoice;
import io.collectives.bench.report.Chart;
import io.collectives.bench.report.Progress;
import io.collectives.bench.report.Provenance;
import io.collectives.bench.report.Scale;
import io.collectives.bench.report.Spread;
import io.collectives.bench.report.Units;
import io.collectives.bench.simulate.CallPrices;
import io.collectives.bench.simulate.Fabric;
import io.collectives.bench.simulate.Hosts;
import io.collectives.bench.simulate.Quantities;
import io.collectives.bench.simulate.Size;
import io.collectives.bench.simulate.StepModel;
import io.collectives.bench.simulate.Wire;
import io.collectives.ps.store.Staleness;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.IntStream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code collectives scaling}: what overlap, sharding and fusion buy, by number of ranks. */
@Command(
    name = "scaling",
    customSynopsis = "collectives scaling [OPTION...]",
    sortOptions = false,
    descriptionHeading = "%n",
    optionListHeading = "%nOptions:%n",
    footerHeading = "%nExamples:%n",
    description = {
      "Measure how many images a second ranks learn from, and simulate it for more ranks than there are.",
      "",
      "The network is that of train, each rank a thread of this JVM with a batch of its "
          + "own. In plain steps each rank updates all weights after an all-reduce of each "
          + "tensor, after the backward pass. Then one thing after the other is switched on: "
          + "overlap, gradients are reduced during the backward pass; sharding, each rank updates"
          + " a shard; fusion, all gradients are reduced together. All are measured in turns; a "
          + "ratio is that of images a second to those with one thing less, in the same round.",
      "",
      "Simulated steps have the computing that was measured with one rank alone, and calls "
          + "on links that carry nothing else, each by the algorithm that takes the least time; "
          + "each pair of ranks has a link, but for a torus."
    },
    footer = {
      "  collectives scaling                                      1, 2 and 4 ranks, and 16 to 4,096 simulated",
      "  collectives scaling --alpha 20us --bandwidth 10Gbit/s --chart scaling.svg",
      "",
      "Exit status: 0 all went well; 1 the picture could not be written; 2 wrong usage."
    })
final class Scaling implements Callable<Integer> {
  /** Of epochs with all images; the last one counts. */
  private static final int EPOCHS = 2;

  /** Of which each simulated call takes the fastest. */
  private static final List<String> ALGORITHMS =
      List.of("torus", "halving-doubling", "double-binary-tree");

  @Spec private CommandSpec spec;

  @Option(
      names = {"-n", "--ranks"},
      split = ",",
      defaultValue = "1,2,4",
      paramLabel = "N,...",
      hideParamSyntax = true,
      description = "How many ranks are measured, from 1 to 16. Default: ${DEFAULT-VALUE}.")
  private List<Integer> ranks = List.of();

  @Option(
      names = "--simulate",
      split = ",",
      defaultValue = "4,16,64,256,1024,4096",
      paramLabel = "N,...",
      hideParamSyntax = true,
      description = "How many ranks are simulated, from 1 to 4096. Default: ${DEFAULT-VALUE}.")
  private List<Integer> simulated = List.of();

  @Option(
      names = "--batch",
      defaultValue = "16",
      paramLabel = "N",
      description = "Images of a step of each rank, from 1 to 64. Default: ${DEFAULT-VALUE}.")
  private int batch;

  @Option(
      names = "--optimizer",
      defaultValue = "lamb",
      paramLabel = "OPTIMIZER",
      description = "${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
  private DigitsTask.Rule rule = DigitsTask.Rule.LAMB;

  @Option(
      names = "--rounds",
      defaultValue = "5",
      paramLabel = "N",
      description =
          "How often everything is measured, after a round that does not count; from 1 to 100. "
              + "Default: ${DEFAULT-VALUE}.")
  private int rounds;

  @Option(
      names = "--alpha",
      defaultValue = "1us",
      paramLabel = "TIME",
      description = "The latency of each simulated link. Default: ${DEFAULT-VALUE}.")
  private String alpha = "";

  @Option(
      names = "--bandwidth",
      defaultValue = "70GB/s",
      paramLabel = "RATE",
      description = "Of each simulated link, each way. Default: ${DEFAULT-VALUE}.")
  private String bandwidth = "";

  @Option(
      names = "--chart",
      paramLabel = "FILE",
      description =
          "Draw the images a second of each rank over the ranks, as FILE.png or FILE.svg.")
  private Optional<Path> chart = Optional.empty();

  @Mixin private FormatOption format;

  @Mixin private HelpOption help;

  /** The things that are switched on, one after the other. */
  private enum Means {
    PLAIN(false, false, false),
    OVERLAP(true, false, false),
    SHARDING(true, true, false),
    FUSION(true, true, true);

    private final boolean fuses;
    private final StepModel.Means model;

    Means(boolean overlaps, boolean shards, boolean fuses) {
      this.fuses = fuses;
      this.model = new StepModel.Means(StepModel.Fusion.reducer(length()), overlaps, shards, 0);
    }

    /** Returns the length of buffers; in short ones each tensor is alone. */
    int length() {
      return fuses ? DigitsTask.Reduction.BUFFER_LENGTH : 1;
    }

    @Override
    public String toString() {
      return (this == PLAIN ? "" : "+ ") + name().toLowerCase(Locale.ROOT);
    }
  }

  @Override
  public Integer call() throws IOException {
    for (int count : ranks) {
      Usage.require(count >= 1 && count <= 16, spec, "--ranks " + count + ": must be from 1 to 16");
    }
    for (int count : simulated) {
      Usage.require(
          count >= 1 && count <= 4096, spec, "--simulate " + count + ": must be from 1 to 4096");
    }
    Usage.require(batch >= 1 && batch <= 64, spec, "--batch " + batch + ": must be from 1 to 64");
    Usage.require(
        rounds >= 1 && rounds <= 100, spec, "--rounds " + rounds + ": must be from 1 to 100");
    Usage.requireChart(chart, spec);
    Fabric fabric = fabric();
    FigureTable table =
        new FigureTable(
            1,
            "",
            "ranks",
            "plain",
            "+ overlap",
            "ratio",
            "+ sharding",
            "ratio",
            "+ fusion",
            "ratio");
    Chart picture =
        new Chart(Chart.RANKS, new Chart.Axis("images a second of each rank", Scale.Unit.NUMBER));
    DigitsProfile profile;
    try (Progress progress = new Progress(spec.commandLine().getErr())) {
      for (Map.Entry<Integer, Map<Means, double[]>> found : measured(progress).entrySet()) {
        row(table, picture, true, found.getKey(), found.getValue());
      }
      progress.step("computing of one rank");
      profile = DigitsProfile.measure(task(Means.PLAIN, 1, 1), batch);
      for (int count : simulated) {
        progress.step("simulating " + count + " ranks");
        row(table, picture, false, count, simulated(profile, count, fabric));
        progress.done(1);
      }
    }
    table.print(
        format.wanted(),
        spec.commandLine().getOut(),
        List.of(
            "Images a second of all ranks, medians of "
                + rounds
                + " rounds; ratios with the least and the greatest.",
            "Simulated: "
                + Units.time(profile.computeNanos())
                + " to compute a batch of "
                + batch
                + ", "
                + Units.time(profile.updateNanos())
                + " to update, links of "
                + alpha
                + " and "
                + bandwidth
                + ".",
            Provenance.line()));
    if (chart.isPresent()) {
      picture.write(
          "What overlap, sharding and fusion buy in training, batches of "
              + batch
              + " for each rank",
          "measured with ranks as threads in process, "
              + Provenance.brief()
              + "; dashed: simulated, links of "
              + alpha
              + " and "
              + bandwidth,
          chart.get());
    }
    return 0;
  }

  private Fabric fabric() {
    try {
      return new Fabric(
          new Wire(Quantities.nanos(alpha), Quantities.nanosPerByte(bandwidth)),
          List.of(),
          Optional.empty(),
          Hosts.NONE);
    } catch (IllegalArgumentException e) {
      throw Usage.error(spec, "--alpha, --bandwidth: " + e.getMessage());
    }
  }

  private DigitsTask task(Means means, int count, int epochs) {
    return new DigitsTask(
        new DigitsTask.Distribution(
            means.model.shards() ? DigitsTask.Update.SHARDED : DigitsTask.Update.ALLREDUCE,
            0,
            Staleness.synchronous()),
        rule,
        new DigitsTask.Reduction(
            new AlgorithmChoice("auto"),
            WireType.AS_IN_MEMORY,
            Repeatability.FASTEST,
            true,
            means.model.overlaps(),
            means.length()),
        new DigitsTask.Schedule(epochs, batch * count, 1, 0),
        // Each rank normalises by itself, so that only the update communicates.
        DigitsTask.Layout.whole(1),
        DigitsTask.Trouble.none(),
        1);
  }

  /** Returns the images a second of each round, by number of ranks and means. */
  private Map<Integer, Map<Means, double[]>> measured(Progress progress) {
    Map<Integer, Map<Means, double[]>> found = new LinkedHashMap<>();
    int work = Means.values().length * ranks.stream().mapToInt(Integer::intValue).sum();
    progress.expect((rounds + 1.0) * work + simulated.size());
    for (int round = -1; round < rounds; round++) {
      for (int count : ranks) {
        for (Means means : Means.values()) {
          progress.step(
              (round < 0 ? "warming up" : "round " + (round + 1)) + ", " + count + " ranks");
          double rate = rate(means, count);
          progress.done(count);
          if (round >= 0) {
            found.computeIfAbsent(count, key -> new EnumMap<>(Means.class))
                    .computeIfAbsent(means, key -> new double[rounds])[round] =
                rate;
          }
        }
      }
    }
    return found;
  }

  private double rate(Means means, int count) {
    List<DigitsEpoch> epochs = new ArrayList<>();
    Collectives.inThreads(
        count,
        world ->
            DigitsRun.run(
                world,
                task(means, count, EPOCHS),
                epoch -> {
                  if (world.rank() == 0) {
                    epochs.add(epoch);
                  }
                }));
    return batch * count * 1e9 / epochs.get(EPOCHS - 1).medianNanos();
  }

  private Map<Means, double[]> simulated(DigitsProfile profile, int count, Fabric fabric) {
    int normCalls = rule == DigitsTask.Rule.LAMB ? 2 : 1;
    StepModel.Backward backward =
        new StepModel.Backward(
            ElementType.FLOAT32, profile.counts(), profile.readyNanos(), profile.computeNanos());
    StepModel model =
        new StepModel(
            new StepModel.Compute(backward, 0, profile.updateNanos(), 0, normCalls),
            new CallPrices(ALGORITHMS, Size.of(count), fabric, CallPrices.Software.NONE));
    Map<Means, double[]> found = new EnumMap<>(Means.class);
    for (Means means : Means.values()) {
      found.put(means, new double[] {batch * count * 1e9 / model.step(means.model).nanos()});
    }
    return found;
  }

  private static void row(
      FigureTable table, Chart picture, boolean isMeasured, int count, Map<Means, double[]> rates) {
    String how = isMeasured ? "measured" : "simulated";
    List<String> cells = new ArrayList<>(List.of(how, Integer.toString(count)));
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("how", how);
    fields.put("ranks", count);
    double[] before = {};
    for (Means means : Means.values()) {
      double[] rate = rates.get(means);
      double median = Spread.of(Arrays.stream(rate)).median();
      String name = means.name().toLowerCase(Locale.ROOT);
      cells.add(Units.grouped(Math.round(median)));
      fields.put(name, median);
      if (means != Means.PLAIN) {
        Spread ratio = ratios(rate, before);
        cells.add(
            rate.length == 1
                ? Units.ratio(ratio.median(), 2)
                : String.format(
                    Locale.ROOT,
                    "%.2f (%.2f to %.2f)",
                    ratio.median(),
                    ratio.least(),
                    ratio.greatest()));
        fields.put(name + "_ratio", ratio.median());
        fields.put(name + "_ratio_least", ratio.least());
        fields.put(name + "_ratio_greatest", ratio.greatest());
      }
      if (isMeasured) {
        picture.point(means.toString(), count, median / count);
      } else {
        picture.dashedPoint(means.toString(), count, median / count);
      }
      before = rate;
    }
    table.row(cells, fields);
  }

  private static Spread ratios(double[] rates, double[] before) {
    return Spread.of(IntStream.range(0, rates.length).mapToDouble(i -> rates[i] / before[i]));
  }
}
