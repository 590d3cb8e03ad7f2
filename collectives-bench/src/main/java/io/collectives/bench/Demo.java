package io.collectives.bench;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.WireType;
import io.collectives.bench.model.Model;
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
import io.collectives.bench.report.Units;
import io.collectives.bench.train.TrainingResult;
import io.collectives.bench.train.TrainingRun;
import io.collectives.bench.train.TrainingTask;
import java.io.IOException;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code collectives demo}: the library at its work, and the proof that its sums are right. */
@Command(
    name = "demo",
    customSynopsis = "collectives demo [OPTION...]",
    sortOptions = false,
    descriptionHeading = "%n",
    optionListHeading = "%nOptions:%n",
    footerHeading = "%nExamples:%n",
    description = {
      "Average the gradients of a well-known model and check every sum.",
      "",
      "Data-parallel training does this after each step. Here it is done first in processes that "
          + "this program starts and that find each other by RANK, WORLD_SIZE, MASTER_ADDR and "
          + "MASTER_PORT, then in threads of one process. Every tensor is an array of its own; a "
          + "gradient reducer fuses them into buffers.",
      "",
      "The gradients are made up, but have the model's shapes. Every element of every step is "
          + "compared with an average in double precision that is computed apart; the relative "
          + "error is relative to the average magnitude of what was averaged, and, where int8 "
          + "crosses the links, to the greatest magnitude of all. A 64-bit hash tells whether all "
          + "ranks hold the same bits.",
      "",
      "Times are those of all tensors together on the slowest rank. algbw is bytes / median, busbw algbw x 2(n-1)/n."
    },
    footer = {
      "  collectives demo",
      "  collectives demo --model bert-large --steps 3        1.34 GB of gradients a rank: takes 6 GB of memory",
      "  collectives demo --ranks 8 --algorithm torus:4x2",
      "  collectives demo --transport tcp --wire-type bfloat16   half the bytes",
      "  collectives demo --type bfloat16",
      "",
      "Exit status: 0 when every check passed, 1 when one failed, 2 wrong usage."
    })
final class Demo implements Callable<Integer> {
  private static final String RESULT = "result ";
  private static final String PROGRESS = "progress ";

  @Spec private CommandSpec spec;

  @Mixin private Task task = new Task();

  @Option(
      names = "--placement",
      split = ",",
      defaultValue = "processes,threads",
      paramLabel = "PLACEMENT,...",
      hideParamSyntax = true,
      description =
          "Where the ranks run: ${COMPLETION-CANDIDATES}, or both. Default: ${DEFAULT-VALUE}.")
  private List<Placement> placements = List.of();

  @Option(
      names = "--transport",
      defaultValue = "auto",
      paramLabel = "TRANSPORT",
      description =
          "How processes talk: shm (shared memory), unix (Unix-domain sockets), tcp, or auto (the fastest that reaches). Default: ${DEFAULT-VALUE}.")
  private Transport transport = Transport.AUTO;

  @Mixin private HelpOption help;

  @Override
  public Integer call() throws IOException {
    TrainingTask wanted = task.checked(spec);
    Usage.require(
        transport != Transport.INPROCESS,
        spec,
        "--transport inprocess: processes share no such memory; use auto, shm, unix, tcp, or --placement threads");
    requireMemory(wanted.model());
    String type =
        wanted.type() == ElementType.FLOAT32 && wanted.wireType() != WireType.AS_IN_MEMORY
            ? wanted.type() + " crossing as " + wanted.wireType()
            : wanted.type().toString();
    PrintWriter out = spec.commandLine().getOut();
    Model model = wanted.model();
    out.printf(
        "%s: %s tensors, %s parameters, %s; average over %d ranks by %s, %d steps%n%n",
        model.title(),
        model.tensors().size(),
        Units.grouped(model.parameters()),
        type,
        task.ranks,
        wanted.algorithm().label(task.ranks),
        wanted.steps());
    out.flush();
    List<TrainingResult> results = new ArrayList<>();
    try (Progress progress = new Progress(spec.commandLine().getErr())) {
      for (Placement placement : placements) {
        results.add(run(placement, progress));
      }
    }
    print(out, wanted, results);
    boolean good = results.stream().allMatch(TrainingResult::good);
    out.println();
    out.println(verdict(results, good));
    out.println(Provenance.line() + ", seed " + wanted.seed());
    out.flush();
    return good ? 0 : ExitStatus.FAILED;
  }

  private TrainingResult run(Placement placement, Progress progress) throws IOException {
    progress.step(title(placement) + ": starting");
    int processes = placement == Placement.PROCESSES ? task.ranks : 1;
    List<String> command =
        JavaCommand.of(memory(task.ranks / processes), task.arguments(placement));
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
      while (!line.startsWith(RESULT)) {
        String text = title(placement) + ": " + line.substring(PROGRESS.length());
        progress.step(text);
        line = workers.get(0).receive();
      }
      for (Worker worker : workers) {
        worker.close();
      }
      group.awaitEnd();
      return TrainingResult.parse(line.substring(RESULT.length()));
    }
  }

  private String title(Placement placement) {
    if (placement == Placement.THREADS) {
      return "threads in process";
    }
    return "processes over " + (transport == Transport.TCP ? "TCP" : transport);
  }

  private void print(PrintWriter out, TrainingTask wanted, List<TrainingResult> results) {
    Model model = wanted.model();
    List<Columns.Column> columns = new ArrayList<>();
    columns.add(Columns.Column.words("", 18));
    placements.forEach(placement -> columns.add(Columns.Column.numbers(title(placement), 20)));
    Columns table = new Columns(columns);
    out.println(table.header());
    row(out, table, "ranks", results, r -> Integer.toString(r.ranks()));
    row(out, table, "tensors", results, r -> Integer.toString(model.tensors().size()));
    row(out, table, "bytes a rank", results, r -> Units.grouped(wanted.bytes()));
    row(out, table, "median time", results, r -> Units.time(r.medianNanos()));
    row(out, table, "best time", results, r -> Units.time(r.bestNanos()));
    row(out, table, "algbw", results, r -> Units.rate(algbw(wanted, r)));
    row(
        out,
        table,
        "busbw",
        results,
        r -> Units.rate(algbw(wanted, r) * 2 * (r.ranks() - 1) / r.ranks()));
    row(out, table, "absolute error", results, r -> exponential(r.absoluteError()));
    row(out, table, "relative error", results, r -> exponential(r.relativeError()));
    row(out, table, "identical bits", results, r -> r.identicalBits() ? "yes" : "NO");
  }

  private static void row(
      PrintWriter out,
      Columns table,
      String name,
      List<TrainingResult> results,
      Function<TrainingResult, String> cell) {
    List<String> cells = new ArrayList<>();
    cells.add(name);
    results.forEach(result -> cells.add(cell.apply(result)));
    out.println(table.line(cells));
  }

  private static String verdict(List<TrainingResult> results, boolean good) {
    String tolerance = exponential(results.get(0).tolerance());
    if (good) {
      return "passed: every element is within a relative error of "
          + tolerance
          + ", what rounding explains; identical bits: yes";
    }
    return results.stream().allMatch(TrainingResult::identicalBits)
        ? "FAILED: relative error above " + tolerance + ", what rounding explains"
        : "FAILED: the ranks do not hold identical bits";
  }

  private static double algbw(TrainingTask wanted, TrainingResult result) {
    return (double) wanted.bytes() / result.medianNanos();
  }

  private static String exponential(double value) {
    return String.format(Locale.ROOT, "%.1e", value);
  }

  /**
   * Heap for the gradients and little else. They are large arrays that live long: the serial
   * collector keeps them where they are, whereas the default one would round each up to a number of
   * its regions.
   */
  private List<String> memory(int ranksInside) {
    return List.of(
        "-XX:+UseSerialGC", "-Xmn32m", "-Xmx" + heapMebibytes(task.model, ranksInside) + "m");
  }

  private long heapMebibytes(Model model, int ranksInside) {
    boolean isFloat32 = task.type == ElementType.FLOAT32;
    boolean hasResiduals = isFloat32 && task.wireType == WireType.INT8;
    long bytes = model.parameters() * (task.type.bytes() + (hasResiduals ? Float.BYTES : 0));
    return ranksInside * (bytes * 102 / 100 / (1 << 20) + 32) + 256;
  }

  private void requireMemory(Model model) {
    long mebibytes =
        placements.contains(Placement.PROCESSES)
            ? task.ranks * heapMebibytes(model, 1)
            : heapMebibytes(model, task.ranks);
    if (ManagementFactory.getOperatingSystemMXBean()
        instanceof com.sun.management.OperatingSystemMXBean system) {
      long present = system.getTotalMemorySize() / (1 << 20);
      Usage.require(
          mebibytes < present,
          spec,
          task.ranks
              + " ranks of "
              + model.title()
              + " take "
              + Units.grouped(mebibytes)
              + " MiB, this machine has "
              + Units.grouped(present)
              + "; use fewer --ranks");
    }
  }

  /** The options that the command passes on to its workers. */
  static final class Task {
    @Option(
        names = "--model",
        defaultValue = "resnet50",
        paramLabel = "MODEL",
        description = "Whose gradients: ${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
    private Model model = Model.RESNET50;

    @Option(
        names = {"-n", "--ranks"},
        defaultValue = "4",
        paramLabel = "N",
        description = "How many ranks, from 1 to 64. Default: ${DEFAULT-VALUE}.")
    private int ranks;

    @Option(
        names = "--steps",
        paramLabel = "N",
        description =
            "How many steps are timed and checked, from 1 to 100000. Default: 10 for resnet50, 3 for bert-large.")
    private Optional<Integer> steps = Optional.empty();

    @Option(
        names = "--algorithm",
        defaultValue = "auto",
        paramLabel = "ALGORITHM",
        completionCandidates = AlgorithmChoice.Forms.class,
        description =
            "The route of the gradients: ${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
    private AlgorithmChoice algorithm = new AlgorithmChoice("auto");

    @Option(
        names = "--type",
        defaultValue = "float32",
        paramLabel = "TYPE",
        description =
            "The element type of the gradients: float32, float64, bfloat16 or float16. Default: ${DEFAULT-VALUE}.")
    private ElementType type = ElementType.FLOAT32;

    @Option(
        names = "--wire-type",
        defaultValue = "as-in-memory",
        paramLabel = "TYPE",
        description =
            "As what float32 elements cross the links: ${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
    private WireType wireType = WireType.AS_IN_MEMORY;

    @Option(
        names = "--warmup",
        defaultValue = "3",
        paramLabel = "SECONDS",
        description =
            "How long the all-reduce is repeated before, for the JIT compiler; at least 3 times. "
                + "Default: ${DEFAULT-VALUE}.")
    private double warmUpSeconds;

    @Option(
        names = "--seed",
        defaultValue = "1",
        paramLabel = "N",
        description = "Of the gradients. Default: ${DEFAULT-VALUE}.")
    private long seed;

    TrainingTask checked(CommandSpec spec) {
      Usage.require(ranks >= 1 && ranks <= 64, spec, "--ranks " + ranks + ": must be from 1 to 64");
      int count = steps.orElse(model == Model.RESNET50 ? 10 : 3);
      Usage.require(
          count >= 1 && count <= 100_000, spec, "--steps " + count + ": must be from 1 to 100000");
      Usage.requireSeconds(warmUpSeconds, spec, "--warmup");
      Usage.require(
          !type.isInteger(),
          spec,
          "--type " + type + ": gradients are float32, float64, bfloat16 or float16");
      try {
        algorithm.forWorkers(ranks);
      } catch (IllegalArgumentException e) {
        throw Usage.error(spec, "--algorithm: " + e.getMessage());
      }
      return new TrainingTask(
          model,
          algorithm,
          type,
          wireType,
          count,
          Duration.ofNanos((long) (warmUpSeconds * 1e9)),
          seed);
    }

    private List<String> arguments(Placement placement) {
      List<String> arguments = new ArrayList<>();
      arguments.add("demo-rank");
      arguments.add("--placement=" + placement);
      arguments.add("--model=" + model);
      arguments.add("--ranks=" + ranks);
      steps.ifPresent(count -> arguments.add("--steps=" + count));
      arguments.add("--algorithm=" + algorithm);
      arguments.add("--type=" + type);
      arguments.add("--wire-type=" + wireType);
      arguments.add("--warmup=" + warmUpSeconds);
      arguments.add("--seed=" + seed);
      return arguments;
    }
  }

  /** A process of the demo: one rank, or all as threads. */
  @Command(name = "demo-rank", hidden = true, description = "What demo starts.")
  static final class Rank implements Callable<Integer> {
    @Spec private CommandSpec spec;

    @Mixin private Task task = new Task();

    @Option(names = "--placement", required = true)
    private Placement placement = Placement.PROCESSES;

    @Override
    public Integer call() throws InterruptedException {
      ParentLines parent = ParentLines.read(System.in);
      TrainingTask wanted = task.checked(spec);
      if (placement == Placement.PROCESSES) {
        try (Communicator world = Collectives.join()) {
          TrainingResult result = TrainingRun.run(world, wanted, Rank::progress);
          if (world.rank() == 0) {
            say(RESULT + result.line());
          }
        }
      } else {
        AtomicReference<String> line = new AtomicReference<>("");
        Collectives.inThreads(
            task.ranks,
            world -> {
              TrainingResult result = TrainingRun.run(world, wanted, Rank::progress);
              if (world.rank() == 0) {
                line.set(RESULT + result.line());
              }
            });
        say(line.get());
      }
      parent.next();
      return 0;
    }

    private static void progress(String text) {
      say(PROGRESS + text);
    }

    private static void say(String line) {
      System.out.println(line);
      System.out.flush();
    }
  }
}
