package io.collectives.bench;

import io.collectives.Collectives;
import io.collectives.bench.model.Model;
import io.collectives.bench.report.Progress;
import io.collectives.bench.report.Provenance;
import io.collectives.bench.report.Spread;
import io.collectives.bench.report.Units;
import io.collectives.bench.train.UpdateRun;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.ToDoubleFunction;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code collectives update}: the optimizer's share of a step, with and without shards. */
@Command(
    name = "update",
    customSynopsis = "collectives update [OPTION...]",
    sortOptions = false,
    descriptionHeading = "%n",
    optionListHeading = "%nOptions:%n",
    footerHeading = "%nExamples:%n",
    description = {
      "Measure what an optimizer's update takes when each rank updates all weights, and when each updates a shard.",
      "",
      "Ranks are threads of this JVM. A round measures, in turns: an all-reduce of the "
          + "gradients; the update of all weights by each rank; a step of shards that changes "
          + "nothing; a step of shards. The update of shards is the difference of the last two, "
          + "with all calls for norms. Ranks that share processors update one after the other, so"
          + " that without shards their updates add up.",
      "",
      "The last columns say what becomes of a step of which the update by each rank is so "
          + "large a share: of p and a ratio of r, p r / (1 - p + p r). Papers say 6 %% for "
          + "ResNet-50 with LARS, 18 %% for BERT with LAMB, and 45 %% for a transformer with Adam"
          + " (Kumar et al. 2019 and 2021)."
    },
    footer = {
      "  collectives update                                       ResNet-50 with LARS and LAMB",
      "  collectives update --model bert-large --scale 8 --optimizer lamb,adam --ranks 2,4",
      "",
      "Exit status: 0 all went well; 2 wrong usage."
    })
final class Update implements Callable<Integer> {
  private static final int WARM_UP = 3;
  private static final int TURNS = 3;
  private static final List<Integer> SHARES = List.of(6, 18, 45);

  @Spec private CommandSpec spec;

  @Option(
      names = "--model",
      split = ",",
      defaultValue = "resnet50",
      paramLabel = "MODEL,...",
      hideParamSyntax = true,
      description = "Whose tensors: ${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
  private List<Model> models = List.of();

  @Option(
      names = "--optimizer",
      split = ",",
      defaultValue = "lars,lamb",
      paramLabel = "OPTIMIZER,...",
      hideParamSyntax = true,
      description = "${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
  private List<UpdateRun.Rule> rules = List.of();

  @Option(
      names = {"-n", "--ranks"},
      split = ",",
      defaultValue = "2,4",
      paramLabel = "N,...",
      hideParamSyntax = true,
      description = "How many ranks, from 1 to 64. Default: ${DEFAULT-VALUE}.")
  private List<Integer> ranks = List.of();

  @Option(
      names = "--scale",
      defaultValue = "1",
      paramLabel = "N",
      description =
          "Divide the length of each tensor by N, from 1 to 1000000. Default: ${DEFAULT-VALUE}.")
  private int scale;

  @Option(
      names = "--rounds",
      defaultValue = "7",
      paramLabel = "N",
      description =
          "Each time is the least of N rounds, from 1 to 1000, because others may use the processors; "
              + "ratios are of such times, three times over. Default: ${DEFAULT-VALUE}.")
  private int rounds;

  @Mixin private FormatOption format;

  @Mixin private HelpOption help;

  @Override
  public Integer call() {
    Usage.require(
        scale >= 1 && scale <= 1_000_000, spec, "--scale " + scale + ": must be from 1 to 1000000");
    Usage.require(
        rounds >= 1 && rounds <= 1000, spec, "--rounds " + rounds + ": must be from 1 to 1000");
    for (int count : ranks) {
      Usage.require(count >= 1 && count <= 64, spec, "--ranks " + count + ": must be from 1 to 64");
      for (Model model : models) {
        long needed = UpdateRun.bytes(model, scale, count);
        Usage.require(
            needed < Runtime.getRuntime().maxMemory(),
            spec,
            String.format(
                Locale.ROOT,
                "--ranks %d of %s take %,d MiB, the heap has %,d: set COLLECTIVES_JAVA_OPTS=-Xmx..., or --scale",
                count,
                model,
                needed >> 20,
                Runtime.getRuntime().maxMemory() >> 20));
      }
    }
    FigureTable table =
        new FigureTable(
            2,
            "model",
            "optimizer",
            "ranks",
            "all-reduce",
            "update",
            "exchange",
            "sharded",
            "ratio",
            "of steps",
            "of " + SHARES.get(0) + " %",
            "of " + SHARES.get(1) + " %",
            "of " + SHARES.get(2) + " %");
    try (Progress progress = new Progress(spec.commandLine().getErr())) {
      long parameters = models.stream().mapToLong(Model::parameters).sum();
      int threads = ranks.stream().mapToInt(Integer::intValue).sum();
      progress.expect((double) parameters * threads * rules.size());
      for (Model model : models) {
        for (UpdateRun.Rule rule : rules) {
          for (int count : ranks) {
            progress.step(model + ", " + rule + ", " + count + " ranks");
            row(table, model, rule, count, measured(model, rule, count));
            progress.done((double) model.parameters() * count);
          }
        }
      }
    }
    table.print(
        format.wanted(),
        spec.commandLine().getOut(),
        List.of(
            "Times are the least of "
                + rounds
                + " rounds on the slowest rank, the median of three; ratios with the least and the"
                + " greatest.",
            "Ratio: sharded / update; of steps: (exchange + sharded) / (all-reduce + update).",
            Provenance.line()));
    return 0;
  }

  private List<UpdateRun.Times> measured(Model model, UpdateRun.Rule rule, int count) {
    List<UpdateRun.Times> times = new ArrayList<>();
    Collectives.inThreads(
        count,
        world -> {
          try (UpdateRun run = new UpdateRun(world, model, scale, rule)) {
            least(run, WARM_UP);
            for (int turn = 0; turn < TURNS; turn++) {
              UpdateRun.Times found = least(run, rounds);
              if (world.rank() == 0) {
                times.add(found);
              }
            }
          }
        });
    return times;
  }

  private static UpdateRun.Times least(UpdateRun run, int rounds) {
    UpdateRun.Times least = run.round();
    for (int round = 1; round < rounds; round++) {
      least = least.least(run.round());
    }
    return least;
  }

  private void row(
      FigureTable table, Model model, UpdateRun.Rule rule, int count, List<UpdateRun.Times> times) {
    Spread ratio = spread(times, each -> (double) each.shardedUpdate() / each.update());
    Spread steps = spread(times, UpdateRun.Times::ratioOfSteps);
    double reduction = spread(times, UpdateRun.Times::reduction).median();
    double update = spread(times, UpdateRun.Times::update).median();
    double exchange = spread(times, UpdateRun.Times::exchange).median();
    double sharded = spread(times, UpdateRun.Times::shardedUpdate).median();
    String name = scale == 1 ? model.toString() : model + "/" + scale;
    List<String> cells =
        new ArrayList<>(
            List.of(
                name,
                rule.toString(),
                Integer.toString(count),
                Units.time(reduction),
                Units.time(update),
                Units.time(exchange),
                Units.time(sharded),
                text(ratio),
                text(steps)));
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("model", name);
    fields.put("optimizer", rule.toString());
    fields.put("ranks", count);
    fields.put("all_reduce_us", reduction / 1e3);
    fields.put("update_us", update / 1e3);
    fields.put("exchange_us", exchange / 1e3);
    fields.put("sharded_update_us", sharded / 1e3);
    fields.put("ratio", ratio.median());
    fields.put("ratio_least", ratio.least());
    fields.put("ratio_greatest", ratio.greatest());
    fields.put("ratio_of_steps", steps.median());
    for (int share : SHARES) {
      double part = share / 100.0 * ratio.median();
      double left = part / (1 - share / 100.0 + part);
      cells.add(String.format(Locale.ROOT, "%.1f %%", 100 * left));
      fields.put("of_" + share + "_percent", 100 * left);
    }
    table.row(cells, fields);
  }

  private static String text(Spread ratio) {
    return String.format(
        Locale.ROOT, "%.2f (%.2f to %.2f)", ratio.median(), ratio.least(), ratio.greatest());
  }

  private static Spread spread(
      List<UpdateRun.Times> times, ToDoubleFunction<UpdateRun.Times> figure) {
    return Spread.of(times.stream().mapToDouble(figure));
  }
}
