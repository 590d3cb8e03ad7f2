package io.collectives.bench;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.Mesh;
import io.collectives.Repeatability;
import io.collectives.WireType;
import io.collectives.bench.digits.DigitsEpoch;
import io.collectives.bench.digits.DigitsListener;
import io.collectives.bench.digits.DigitsResult;
import io.collectives.bench.digits.DigitsRun;
import io.collectives.bench.digits.DigitsTask;
import io.collectives.bench.perf.AlgorithmChoice;
import io.collectives.bench.process.FreePort;
import io.collectives.bench.process.JavaCommand;
import io.collectives.bench.process.ParentLines;
import io.collectives.bench.process.ProcessGroup;
import io.collectives.bench.process.RankEnvironment;
import io.collectives.bench.process.Worker;
import io.collectives.bench.report.ByteSize;
import io.collectives.bench.report.Columns;
import io.collectives.bench.report.LogChart;
import io.collectives.bench.report.Progress;
import io.collectives.bench.report.Provenance;
import io.collectives.bench.report.Units;
import io.collectives.ps.store.Staleness;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code collectives train}: several ranks learn to read real digits. */
@Command(
    name = "train",
    customSynopsis = "collectives train [OPTION...]",
    sortOptions = false,
    descriptionHeading = "%n",
    optionListHeading = "%nOptions:%n",
    footerHeading = "%nExamples:%n",
    description = {
      "Train a small convolutional network on 1,438 images of handwritten digits, and read 359 others.",
      "",
      "Batch norm, optimizers, sharded updates, tiles and the evaluation are those of "
          + "collectives-training. After each epoch all ranks evaluate; bits is a hash of all "
          + "weights, which two runs can be compared by; times of steps are those of one rank.",
      "",
      "The images are the test set of Optical Recognition of Handwritten Digits (E. Alpaydin, C. Kaynak, UCI Machine Learning "
          + "Repository, doi 10.24432/C50P49), CC BY 4.0."
    },
    footer = {
      "  collectives train                                        4 processes, sharded LAMB",
      "  collectives train --update allreduce --optimizer momentum",
      "  collectives train --algorithm torus:2x2 --wire-type int8",
      "  collectives train --update servers --servers 2 --staleness bounded:2 --optimizer momentum --ranks 6",
      "  collectives train --ranks 1                              the same batches in one process",
      "  collectives train --wire-type int8 --update allreduce --error-feedback off",
      "  collectives train --spatial 2x2                          each rank has a quarter of each image",
      "  collectives train --kill 2@6                             rank 2 is killed in epoch 6, and replaced",
      "  collectives train --slow 1=20 --chart loss.svg           rank 1 sleeps 20 ms in each step",
      "",
      "Exit status: 0 when the accuracy is at least --least, 1 when not, 2 wrong usage."
    })
final class Train implements Callable<Integer> {
  private static final String MIDDLE = "in the middle";
  private static final int BAR = 24;

  @Spec private CommandSpec spec;

  @Mixin private Task task = new Task();

  @Option(
      names = "--placement",
      defaultValue = "processes",
      paramLabel = "PLACEMENT",
      description = "Where the ranks run: ${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
  private Placement placement = Placement.PROCESSES;

  @Option(
      names = "--transport",
      defaultValue = "auto",
      paramLabel = "TRANSPORT",
      description =
          "How processes talk: shm, unix, tcp, or auto (the fastest that reaches). Default: ${DEFAULT-VALUE}.")
  private Transport transport = Transport.AUTO;

  @Option(
      names = "--least",
      defaultValue = "97",
      paramLabel = "PERCENT",
      description =
          "The accuracy that is wanted at the end, in percent. Default: ${DEFAULT-VALUE}.")
  private double least;

  @Option(
      names = "--chart",
      paramLabel = "FILE",
      description = "Draw the loss over the epochs, as FILE.png or FILE.svg.")
  private Optional<Path> chart = Optional.empty();

  @Mixin private HelpOption help;

  @Override
  public Integer call() throws IOException {
    DigitsTask wanted = task.checked(spec);
    Usage.require(
        wanted.trouble().kill().isEmpty() || placement == Placement.PROCESSES,
        spec,
        "--kill: a thread cannot be killed; use --placement processes");
    chart.ifPresent(
        file ->
            Usage.require(
                LogChart.canWrite(file), spec, "--chart " + file + ": must end with .png or .svg"));
    Usage.require(
        transport != Transport.INPROCESS,
        spec,
        "--transport inprocess: processes share no such memory; use auto, shm, unix, tcp, or --placement threads");
    PrintWriter out = spec.commandLine().getOut();
    out.println("digits: " + title(wanted));
    out.println();
    Columns table =
        new Columns(
            List.of(
                Columns.Column.numbers("epoch", 5),
                Columns.Column.numbers("loss", 8),
                Columns.Column.numbers("accuracy", 8),
                Columns.Column.words("bits", 16),
                Columns.Column.numbers("step", 8),
                Columns.Column.numbers("slowest", 8),
                Columns.Column.numbers("images/s", 8),
                Columns.Column.words("", BAR)));
    out.println(table.header());
    out.flush();
    List<DigitsEpoch> epochs;
    try (Progress progress = new Progress(spec.commandLine().getErr(), Progress.onTerminal())) {
      epochs = run(wanted.trouble().kill(), progress, epoch -> row(out, table, epoch));
    }
    if (chart.isPresent()) {
      LogChart picture = LogChart.overSteps("epoch", "loss");
      epochs.forEach(
          epoch -> picture.point("images held out", epoch.result().epoch(), epoch.result().loss()));
      picture.write(title(wanted), chart.get());
    }
    double accuracy = 100 * epochs.get(epochs.size() - 1).result().accuracy();
    boolean good = accuracy >= least;
    out.printf(
        Locale.ROOT,
        "%n%s: %.2f %% of the images that were held out are read right%n",
        good ? "passed" : "FAILED",
        accuracy);
    out.println(Provenance.line() + ", seed " + wanted.seed());
    out.flush();
    return good ? 0 : ExitStatus.FAILED;
  }

  private String title(DigitsTask wanted) {
    DigitsTask.Reduction reduction = wanted.reduction();
    List<String> parts =
        new ArrayList<>(
            List.of(
                task.ranks + " ranks",
                wanted.rule() + " by " + wanted.distribution().update(),
                reduction.algorithm().label(task.ranks)));
    if (reduction.wireType() != WireType.AS_IN_MEMORY) {
      boolean feedsBack = reduction.canFeedBack() && reduction.feedsBack();
      parts.add(reduction.wireType() + (feedsBack ? " with" : " without") + " error feedback");
    }
    if (wanted.layout().tiles().ranks() > 1) {
      parts.add("tiles " + wanted.layout().tiles().x() + "x" + wanted.layout().tiles().y());
    }
    parts.add("batches of " + wanted.schedule().batch());
    parts.add(wanted.schedule().epochs() + " epochs");
    wanted
        .trouble()
        .kill()
        .ifPresent(kill -> parts.add("rank " + kill.rank() + " killed in epoch " + kill.epoch()));
    wanted
        .trouble()
        .slow()
        .ifPresent(slow -> parts.add("rank " + slow.rank() + " sleeps " + slow.millis() + " ms"));
    return String.join(", ", parts);
  }

  private static void row(PrintWriter out, Columns table, DigitsEpoch epoch) {
    DigitsResult result = epoch.result();
    // Two decades of the loss, from 0.02 to 2, as bars.
    double share = Math.min(1, Math.max(0, Math.log10(result.loss() / 0.02) / 2));
    out.println(
        table.line(
            List.of(
                Integer.toString(result.epoch()),
                String.format(Locale.ROOT, "%.4f", result.loss()),
                String.format(Locale.ROOT, "%.2f %%", 100 * result.accuracy()),
                String.format(Locale.ROOT, "%016x", result.bits()),
                Units.time(epoch.medianNanos()),
                Units.time(epoch.slowestNanos()),
                String.format(Locale.ROOT, "%.0f", epoch.imagesPerSecond()),
                "#".repeat((int) Math.round(BAR * share)))));
    out.flush();
  }

  private List<DigitsEpoch> run(
      Optional<DigitsTask.Kill> kill, Progress progress, Consumer<DigitsEpoch> found)
      throws IOException {
    List<DigitsEpoch> epochs = new ArrayList<>();
    progress.stage("starting");
    try (ProcessGroup group = new ProcessGroup();
        Checkpoints checkpoints = new Checkpoints(kill.isPresent())) {
      int processes = placement == Placement.PROCESSES ? task.ranks : 1;
      Starter starter = new Starter(group, processes, FreePort.find(), checkpoints.arguments());
      List<Worker> workers = new ArrayList<>();
      for (int rank = 0; rank < processes; rank++) {
        workers.add(starter.start(rank, false));
      }
      Worker teller = workers.get(kill.map(DigitsTask.Kill::survivor).orElse(0));
      for (int epoch = 1; epoch <= task.epochs; epoch++) {
        if (kill.isPresent() && kill.get().epoch() == epoch) {
          int victim = kill.get().rank();
          workers.get(victim).receive(); // It is in the middle of the epoch.
          progress.say(
              "rank " + victim + " is killed in epoch " + epoch + ", and another takes its place");
          workers.get(victim).process().destroyForcibly();
          workers.get(victim).close();
          workers.set(victim, starter.start(victim, true));
        }
        DigitsEpoch result = DigitsEpoch.parse(teller.receive());
        epochs.add(result);
        progress.clear();
        found.accept(result);
        progress.step("epoch " + (epoch + 1));
      }
      for (Worker worker : workers) {
        worker.close();
      }
      group.awaitEnd();
    }
    return epochs;
  }

  /** Starts processes of one job. */
  private final class Starter {
    private final ProcessGroup group;
    private final int processes;
    private final int port;
    private final List<String> more;

    Starter(ProcessGroup group, int processes, int port, List<String> more) {
      this.group = group;
      this.processes = processes;
      this.port = port;
      this.more = more;
    }

    Worker start(int rank, boolean isNew) throws IOException {
      List<String> arguments = new ArrayList<>(task.arguments(placement));
      arguments.addAll(more);
      if (isNew) {
        arguments.add("--new");
      }
      return Worker.start(
          group,
          rank,
          JavaCommand.of(List.of("-Xmx256m"), arguments),
          placement == Placement.PROCESSES
              ? new RankEnvironment(rank, processes, port).variables(transport.toString())
              : Map.of(),
          System.err);
    }
  }

  /** A directory for shards, which is gone when all is over. */
  private static final class Checkpoints implements AutoCloseable {
    private final Optional<Path> directory;

    Checkpoints(boolean areWanted) throws IOException {
      directory =
          areWanted
              ? Optional.of(Files.createTempDirectory("collectives-train"))
              : Optional.empty();
    }

    List<String> arguments() {
      return directory.map(path -> List.of("--checkpoints=" + path)).orElse(List.of());
    }

    @Override
    public void close() throws IOException {
      if (directory.isPresent()) {
        try (Stream<Path> files = Files.walk(directory.get())) {
          for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
            Files.delete(file);
          }
        }
      }
    }
  }

  /** The options that the command passes on to its workers. */
  static final class Task {
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
        defaultValue = "auto",
        paramLabel = "ALGORITHM",
        completionCandidates = AlgorithmChoice.Forms.class,
        description =
            "The route of the gradients: ${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
    private AlgorithmChoice algorithm = new AlgorithmChoice("auto");

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
        defaultValue = "25M",
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
        description =
            "Of the first weights and the order of the images. Default: ${DEFAULT-VALUE}.")
    private long seed;

    DigitsTask checked(CommandSpec spec) {
      Usage.require(ranks >= 1 && ranks <= 64, spec, "--ranks " + ranks + ": must be from 1 to 64");
      Usage.require(
          epochs >= 1 && epochs <= 1000, spec, "--epochs " + epochs + ": must be from 1 to 1000");
      Usage.require(
          batch >= 1 && batch <= 1024, spec, "--batch " + batch + ": must be from 1 to 1024");
      Usage.require(
          rate >= 0 && rate < 1e6, spec, "--rate " + rate + ": must be from 0 to 1000000");
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
      } catch (IllegalArgumentException e) {
        throw Usage.error(spec, e.getMessage());
      }
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
                ranks > 1
                    && wanted.rank() < ranks
                    && wanted.epoch() >= 1
                    && wanted.epoch() <= epochs,
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

    private List<String> arguments(Placement placement) {
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

  /** A process of the training: one rank, or all as threads. */
  @Command(name = "train-rank", hidden = true, description = "What train starts.")
  static final class Rank implements Callable<Integer> {
    @Spec private CommandSpec spec;

    @Mixin private Task task = new Task();

    @Option(names = "--placement", required = true)
    private Placement placement = Placement.PROCESSES;

    @Option(names = "--checkpoints")
    private Optional<Path> checkpoints = Optional.empty();

    @Option(names = "--new")
    private boolean isNew;

    @Override
    public Integer call() throws InterruptedException {
      ParentLines parent = ParentLines.read(System.in);
      DigitsTask wanted = task.checked(spec);
      int teller = wanted.trouble().kill().map(DigitsTask.Kill::survivor).orElse(0);
      if (placement == Placement.THREADS) {
        Collectives.inThreads(
            task.ranks,
            world -> DigitsRun.run(world, wanted, new Listener(world.rank() == teller)));
      } else {
        try (Communicator world = Collectives.join()) {
          Listener listener = new Listener(world.rank() == teller);
          if (checkpoints.isPresent()) {
            DigitsRun.runThroughDeath(world, wanted, isNew, checkpoints.get(), listener);
          } else {
            DigitsRun.run(world, wanted, listener);
          }
        }
      }
      parent.next();
      return 0;
    }
  }

  /** Tells the process that started this one, by lines on standard output. */
  private static final class Listener implements DigitsListener {
    private final boolean tells;

    Listener(boolean tells) {
      this.tells = tells;
    }

    @Override
    public void found(DigitsEpoch epoch) {
      if (tells) {
        say(epoch.line());
      }
    }

    @Override
    public void awaitDeath() {
      say(MIDDLE);
      while (true) {
        LockSupport.park();
      }
    }

    private static void say(String line) {
      System.out.println(line);
      System.out.flush();
    }
  }
}
