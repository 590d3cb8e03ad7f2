package io.collectives.bench;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.Mesh;
import io.collectives.Repeatability;
import io.collectives.WireType;
import io.collectives.bench.digits.DigitsRun;
import io.collectives.bench.digits.DigitsTask;
import io.collectives.bench.perf.AlgorithmChoice;
import io.collectives.bench.report.ByteSize;
import io.collectives.bench.simulate.PlanChoice;
import io.collectives.bench.simulate.Size;
import io.collectives.plan.Additions;
import io.collectives.ps.store.Staleness;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;

/** The options of {@code train} that it passes on to its workers. */
final class TrainOptions {
  private static final Pattern SHAPE = Pattern.compile("([1-4])x([1-4])");

  @Option(
      names = {"-n", "--ranks"},
      defaultValue = "4",
      paramLabel = "N",
      description = "How many ranks, servers included, from 1 to 64. Default: ${DEFAULT-VALUE}.")
  private int ranks;

  @Option(
      names = "--update",
      defaultValue = "sharded",
      paramLabel = "WHO",
      description =
          "Who updates the weights: ${COMPLETION-CANDIDATES}; each rank all of them by "
              + "all-reduced gradients, each rank a shard, or parameter servers. Default: "
              + "${DEFAULT-VALUE}.")
  private DigitsTask.Update update = DigitsTask.Update.SHARDED;

  @Option(
      names = "--optimizer",
      defaultValue = "lamb",
      paramLabel = "OPTIMIZER",
      description = "${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
  private DigitsTask.Rule rule = DigitsTask.Rule.LAMB;

  @Option(
      names = "--servers",
      defaultValue = "0",
      paramLabel = "S",
      description = "With --update servers, how many of the ranks keep parameters, at least 1.")
  private int servers;

  @Option(
      names = "--staleness",
      defaultValue = "synchronous",
      paramLabel = "STALENESS",
      description =
          "With --update servers: synchronous, bounded:STEPS or asynchronous. Default: ${DEFAULT-VALUE}.")
  private String staleness = "synchronous";

  @Option(
      names = "--algorithm",
      split = ",",
      defaultValue = "auto",
      paramLabel = "ALGORITHM,...",
      hideParamSyntax = true,
      completionCandidates = AlgorithmChoice.Forms.class,
      description =
          "The route of the gradients: ${COMPLETION-CANDIDATES}. With several there is a run of each, "
              + "whose bits have to be the same with --repeatability rank-order or exact. Default: "
              + "${DEFAULT-VALUE}.")
  private List<AlgorithmChoice> algorithms = List.of();

  @Option(
      names = "--wire-type",
      defaultValue = "as-in-memory",
      paramLabel = "TYPE",
      description =
          "As what gradients cross the links: ${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
  private WireType wireType = WireType.AS_IN_MEMORY;

  @Option(
      names = "--error-feedback",
      defaultValue = "on",
      paramLabel = "on|off",
      description =
          "Whether rounding errors of a step are added in the next one, with --wire-type int8. "
              + "off goes with --update allreduce. Default: ${DEFAULT-VALUE}.")
  private String errorFeedback = "on";

  @Option(
      names = "--overlap",
      description = "Reduce gradients while the backward pass computes others.")
  private boolean overlap;

  @Option(
      names = "--buffer",
      defaultValue = "8M",
      paramLabel = "BYTES",
      description =
          "The most bytes of gradients that are reduced together, at least 1; 1 is each tensor by "
              + "itself. Default: ${DEFAULT-VALUE}.")
  private ByteSize buffer = new ByteSize(DigitsTask.Reduction.BUFFER_LENGTH);

  @Option(
      names = "--repeatability",
      defaultValue = "fastest",
      paramLabel = "WHAT",
      description =
          "What the bits of gradients may depend on: ${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
  private Repeatability repeatability = Repeatability.FASTEST;

  @Option(
      names = "--epochs",
      defaultValue = "12",
      paramLabel = "N",
      description = "How often all images are seen, from 1 to 1000. Default: ${DEFAULT-VALUE}.")
  private int epochs;

  @Option(
      names = "--batch",
      defaultValue = "64",
      paramLabel = "N",
      description =
          "Images of a step, of all workers together, from 1 to 1024. Default: ${DEFAULT-VALUE}.")
  private int batch;

  @Option(
      names = "--micro-batches",
      defaultValue = "1",
      paramLabel = "N",
      description =
          "With --update sharded: each rank computes its share of a batch in N parts, from 1 to "
              + "64, and accumulates their gradients. Default: ${DEFAULT-VALUE}.")
  private int microBatches;

  @Option(
      names = "--rate",
      defaultValue = "0",
      paramLabel = "RATE",
      description = "The greatest learning rate. Default: what suits the optimizer.")
  private double rate;

  @Option(
      names = "--norm-ranks",
      defaultValue = "64",
      paramLabel = "N",
      description = "How many ranks normalise batches together, from 1 on. Default: all.")
  private int normRanks;

  @Option(
      names = "--spatial",
      defaultValue = "1x1",
      paramLabel = "XxY",
      description =
          "Cut each image into X columns and Y rows of tiles, from 1 to 4 each, and give one to "
              + "each rank of X times Y. Default: ${DEFAULT-VALUE}.")
  private String spatial = "1x1";

  @Option(
      names = "--kill",
      paramLabel = "RANK@EPOCH",
      description =
          "Kill the process of a rank in the middle of an epoch, from 1 on. The others take in a "
              + "new process and all do that epoch again from its beginning, which ends with the "
              + "bits of a run without this (except with int8 and error feedback).")
  private Optional<DigitsTask.Kill> kill = Optional.empty();

  @Option(
      names = "--slow",
      paramLabel = "RANK=MILLISECONDS",
      description = "A rank sleeps in each step, for 1 to 10000 milliseconds.")
  private Optional<DigitsTask.Slow> slow = Optional.empty();

  @Option(
      names = "--seed",
      defaultValue = "1",
      paramLabel = "N",
      description = "Of the first weights and the order of the images. Default: ${DEFAULT-VALUE}.")
  private long seed;

  /** Returns a task for each algorithm. */
  List<DigitsTask> checked(CommandSpec spec) {
    return algorithms.stream().map(algorithm -> checked(spec, algorithm)).toList();
  }

  private DigitsTask checked(CommandSpec spec, AlgorithmChoice algorithm) {
    Usage.require(ranks >= 1 && ranks <= 64, spec, "--ranks " + ranks + ": must be from 1 to 64");
    Usage.require(
        epochs >= 1 && epochs <= 1000, spec, "--epochs " + epochs + ": must be from 1 to 1000");
    Usage.require(
        batch >= 1 && batch <= 1024, spec, "--batch " + batch + ": must be from 1 to 1024");
    Usage.require(rate >= 0 && rate < 1e6, spec, "--rate " + rate + ": must be from 0 to 1000000");
    Usage.require(normRanks >= 1, spec, "--norm-ranks " + normRanks + ": must be at least 1");
    checkReduction(spec);
    checkTrouble(spec);
    DigitsTask.Layout layout = layout(spec);
    boolean serves = update == DigitsTask.Update.SERVERS;
    Usage.require(
        serves ? servers >= 1 && servers < ranks : servers == 0,
        spec,
        "--servers "
            + servers
            + ": goes with --update servers, and must be from 1 to "
            + (ranks - 1));
    Staleness bound;
    try {
      bound = Staleness.parse(staleness);
      algorithm.forWorkers(ranks - servers);
      CallSettings.defaults().withWireType(wireType).withRepeatability(repeatability);
    } catch (IllegalArgumentException e) {
      throw Usage.error(spec, e.getMessage());
    }
    int workers = ranks - servers;
    Usage.require(
        !repeatability.needsAllAtOnce() || workers <= 2 || addsAtOnce(algorithm, workers),
        spec,
        "--repeatability "
            + repeatability
            + " with --algorithm "
            + algorithm
            + ": it passes on partial sums; use auto, exchange, direct or parameter-server");
    DigitsTask wanted =
        new DigitsTask(
            new DigitsTask.Distribution(update, servers, bound),
            rule,
            new DigitsTask.Reduction(
                algorithm,
                wireType,
                repeatability,
                errorFeedback.equals("on"),
                overlap,
                (int) buffer.bytes()),
            new DigitsTask.Schedule(epochs, batch, microBatches, rate),
            layout,
            new DigitsTask.Trouble(kill, slow),
            seed);
    Usage.require(
        !serves || DigitsRun.fitsServers(wanted),
        spec,
        "--optimizer "
            + rule
            + ": servers have parts of layers; use momentum or adam, or --update sharded");
    return wanted;
  }

  private static boolean addsAtOnce(AlgorithmChoice algorithm, int workers) {
    return algorithm.forRanks(workers) instanceof Algorithm.Auto
        || Additions.areAtOnce(new PlanChoice(algorithm.text()).plan(Size.of(workers)));
  }

  private void checkReduction(CommandSpec spec) {
    boolean forgets = errorFeedback.equals("off");
    Usage.require(
        forgets || errorFeedback.equals("on"),
        spec,
        "--error-feedback " + errorFeedback + ": must be on or off");
    Usage.require(
        !forgets || wireType == WireType.INT8 && update == DigitsTask.Update.ALLREDUCE,
        spec,
        "--error-feedback off: goes with --wire-type int8 and --update allreduce");
    Usage.require(
        buffer.bytes() >= 1 && buffer.bytes() <= 1 << 30,
        spec,
        "--buffer " + buffer.bytes() + ": must be from 1 to 1G");
    Usage.require(
        update != DigitsTask.Update.SERVERS
            || !overlap && buffer.bytes() == DigitsTask.Reduction.BUFFER_LENGTH,
        spec,
        "--overlap and --buffer: go with --update allreduce or sharded");
    Usage.require(
        microBatches == 1
            || microBatches > 1 && microBatches <= 64 && update == DigitsTask.Update.SHARDED,
        spec,
        "--micro-batches "
            + microBatches
            + ": must be from 1 to 64, and goes with --update sharded");
  }

  private void checkTrouble(CommandSpec spec) {
    kill.ifPresent(
        wanted -> {
          Usage.require(
              update != DigitsTask.Update.SERVERS,
              spec,
              "--kill: goes with --update allreduce or sharded");
          Usage.require(
              ranks > 1 && wanted.rank() < ranks && wanted.epoch() >= 1 && wanted.epoch() <= epochs,
              spec,
              "--kill "
                  + wanted
                  + ": must be one of several ranks, from 0 to "
                  + (ranks - 1)
                  + ", and an epoch from 1 to "
                  + epochs);
        });
    slow.ifPresent(
        wanted ->
            Usage.require(
                wanted.rank() < ranks - servers
                    && wanted.millis() >= 1
                    && wanted.millis() <= 10_000,
                spec,
                "--slow "
                    + wanted
                    + ": must be a rank from 0 to "
                    + (ranks - servers - 1)
                    + ", and 1 to 10000 milliseconds"));
  }

  private DigitsTask.Layout layout(CommandSpec spec) {
    Matcher matcher = SHAPE.matcher(spatial);
    Usage.require(
        matcher.matches(), spec, "--spatial " + spatial + ": must be from 1x1 to 4x4, as 2x1");
    Mesh tiles =
        new Mesh(
            Integer.parseInt(matcher.group(1)), Integer.parseInt(matcher.group(2)), false, false);
    int workers = ranks - servers;
    Usage.require(
        workers % tiles.ranks() == 0,
        spec,
        "--spatial " + spatial + ": must divide the " + workers + " ranks that work");
    Usage.require(
        normRanks % tiles.ranks() == 0 || normRanks >= workers,
        spec,
        "--norm-ranks "
            + normRanks
            + ": must be a multiple of the "
            + tiles.ranks()
            + " ranks that share an image");
    return new DigitsTask.Layout(normRanks, tiles);
  }

  /** Returns the number of ranks, servers included. */
  int ranks() {
    return ranks;
  }

  /** Returns how often all images are seen. */
  int epochs() {
    return epochs;
  }

  /** Returns the arguments of a worker of a run with one of the algorithms. */
  List<String> arguments(Placement placement, AlgorithmChoice algorithm) {
    List<String> arguments = new ArrayList<>(List.of("train-rank"));
    kill.ifPresent(wanted -> arguments.add("--kill=" + wanted));
    slow.ifPresent(wanted -> arguments.add("--slow=" + wanted));
    if (overlap) {
      arguments.add("--overlap");
    }
    arguments.addAll(
        List.of(
            "--placement=" + placement,
            "--ranks=" + ranks,
            "--update=" + update,
            "--optimizer=" + rule,
            "--servers=" + servers,
            "--staleness=" + staleness,
            "--algorithm=" + algorithm,
            "--wire-type=" + wireType,
            "--error-feedback=" + errorFeedback,
            "--buffer=" + buffer.bytes(),
            "--repeatability=" + repeatability,
            "--epochs=" + epochs,
            "--batch=" + batch,
            "--micro-batches=" + microBatches,
            "--spatial=" + spatial,
            "--rate=" + rate,
            "--norm-ranks=" + normRanks,
            "--seed=" + seed));
    return arguments;
  }
}
