package io.collectives.bench;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.Repeatability;
import io.collectives.WireType;
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
import io.collectives.bench.report.Columns;
import io.collectives.bench.report.Progress;
import io.collectives.bench.report.Provenance;
import io.collectives.ps.store.Staleness;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
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
      "Batch norm, optimizers, sharded updates and the evaluation are those of "
          + "collectives-training. After each epoch all ranks evaluate; bits is a hash of all "
          + "weights, which two runs can be compared by.",
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
      "",
      "Exit status: 0 when the accuracy is at least --least, 1 when not, 2 wrong usage."
    })
final class Train implements Callable<Integer> {
  private static final String RESULT = "result ";
  private static final String END = "end";
  private static final int CHART = 40;

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

  @Mixin private HelpOption help;

  @Override
  public Integer call() throws IOException {
    DigitsTask wanted = task.checked(spec);
    Usage.require(
        transport != Transport.INPROCESS,
        spec,
        "--transport inprocess: processes share no such memory; use auto, shm, unix, tcp, or --placement threads");
    PrintWriter out = spec.commandLine().getOut();
    out.printf(
        "digits: %d ranks, %s by %s, %s, batches of %d, %d epochs%n%n",
        task.ranks,
        wanted.rule(),
        wanted.distribution().update(),
        wanted.reduction().algorithm().label(task.ranks),
        wanted.schedule().batch(),
        wanted.schedule().epochs());
    Columns table =
        new Columns(
            List.of(
                Columns.Column.numbers("epoch", 5),
                Columns.Column.numbers("loss", 8),
                Columns.Column.numbers("accuracy", 8),
                Columns.Column.words("bits", 16),
                Columns.Column.words("", CHART)));
    out.println(table.header());
    out.flush();
    List<DigitsResult> results;
    try (Progress progress = new Progress(spec.commandLine().getErr(), Progress.onTerminal())) {
      results = run(progress, result -> row(out, table, result));
    }
    double accuracy = 100 * results.get(results.size() - 1).accuracy();
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

  private static void row(PrintWriter out, Columns table, DigitsResult result) {
    // Two decades of the loss, from 0.02 to 2, as bars.
    double share = Math.min(1, Math.max(0, Math.log10(result.loss() / 0.02) / 2));
    out.println(
        table.line(
            List.of(
                Integer.toString(result.epoch()),
                String.format(Locale.ROOT, "%.4f", result.loss()),
                String.format(Locale.ROOT, "%.2f %%", 100 * result.accuracy()),
                String.format(Locale.ROOT, "%016x", result.bits()),
                "#".repeat((int) Math.round(CHART * share)))));
    out.flush();
  }

  private List<DigitsResult> run(Progress progress, Consumer<DigitsResult> found)
      throws IOException {
    int processes = placement == Placement.PROCESSES ? task.ranks : 1;
    List<String> command = JavaCommand.of(List.of("-Xmx256m"), task.arguments(placement));
    List<DigitsResult> results = new ArrayList<>();
    progress.stage("starting");
    List<Worker> workers = new ArrayList<>();
    try (ProcessGroup group = new ProcessGroup()) {
      int port = FreePort.find();
      for (int rank = 0; rank < processes; rank++) {
        Map<String, String> environment =
            placement == Placement.PROCESSES
                ? new RankEnvironment(rank, processes, port).variables(transport.toString())
                : Map.of();
        workers.add(Worker.start(group, rank, command, environment, System.err));
      }
      String line = workers.get(0).receive();
      while (line.startsWith(RESULT)) {
        DigitsResult result = DigitsResult.parse(line.substring(RESULT.length()));
        results.add(result);
        progress.clear();
        found.accept(result);
        progress.step("epoch " + (result.epoch() + 1));
        line = workers.get(0).receive();
      }
      for (Worker worker : workers) {
        worker.close();
      }
      group.awaitEnd();
    }
    return results;
  }

  /** The options that the command passes on to its workers. */
  static final class Task {
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
              new DigitsTask.Reduction(algorithm, wireType, repeatability),
              new DigitsTask.Schedule(epochs, batch, rate),
              normRanks,
              seed);
      Usage.require(
          !serves || DigitsRun.fitsServers(wanted),
          spec,
          "--optimizer "
              + rule
              + ": servers have parts of layers; use momentum or adam, or --update sharded");
      return wanted;
    }

    private List<String> arguments(Placement placement) {
      return List.of(
          "train-rank",
          "--placement=" + placement,
          "--ranks=" + ranks,
          "--update=" + update,
          "--optimizer=" + rule,
          "--servers=" + servers,
          "--staleness=" + staleness,
          "--algorithm=" + algorithm,
          "--wire-type=" + wireType,
          "--repeatability=" + repeatability,
          "--epochs=" + epochs,
          "--batch=" + batch,
          "--rate=" + rate,
          "--norm-ranks=" + normRanks,
          "--seed=" + seed);
    }
  }

  /** A process of the training: one rank, or all as threads. */
  @Command(name = "train-rank", hidden = true, description = "What train starts.")
  static final class Rank implements Callable<Integer> {
    @Spec private CommandSpec spec;

    @Mixin private Task task = new Task();

    @Option(names = "--placement", required = true)
    private Placement placement = Placement.PROCESSES;

    @Override
    public Integer call() throws InterruptedException {
      ParentLines parent = ParentLines.read(System.in);
      DigitsTask wanted = task.checked(spec);
      if (placement == Placement.PROCESSES) {
        try (Communicator world = Collectives.join()) {
          run(world, wanted);
        }
      } else {
        Collectives.inThreads(task.ranks, world -> run(world, wanted));
      }
      say(END);
      parent.next();
      return 0;
    }

    private static void run(Communicator world, DigitsTask wanted) {
      DigitsRun.run(
          world,
          wanted,
          result -> {
            if (world.rank() == 0) {
              say(RESULT + result.line());
            }
          });
    }

    private static void say(String line) {
      System.out.println(line);
      System.out.flush();
    }
  }
}
