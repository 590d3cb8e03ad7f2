package io.collectives.bench;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.WireType;
import io.collectives.bench.digits.DigitsEpoch;
import io.collectives.bench.digits.DigitsListener;
import io.collectives.bench.digits.DigitsResult;
import io.collectives.bench.digits.DigitsRun;
import io.collectives.bench.digits.DigitsTask;
import io.collectives.bench.process.FreePort;
import io.collectives.bench.process.JavaCommand;
import io.collectives.bench.process.ParentLines;
import io.collectives.bench.process.ProcessGroup;
import io.collectives.bench.process.RankEnvironment;
import io.collectives.bench.process.Worker;
import io.collectives.bench.report.Chart;
import io.collectives.bench.report.Columns;
import io.collectives.bench.report.Progress;
import io.collectives.bench.report.Provenance;
import io.collectives.bench.report.Scale;
import io.collectives.bench.report.Units;
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
      "The images are the test set of Optical Recognition of Handwritten Digits (E. "
          + "Alpaydin, C. Kaynak, UCI Machine Learning Repository, doi 10.24432/C50P49), CC BY "
          + "4.0."
    },
    footer = {
      "  collectives train                                        4 processes, sharded LAMB",
      "  collectives train --update allreduce --optimizer momentum",
      "  collectives train --algorithm torus:2x2 --wire-type int8",
      "  collectives train --update servers --servers 2 --staleness bounded:2 --optimizer momentum --ranks 6",
      "  collectives train --algorithm auto,direct,exchange --repeatability rank-order --chart loss.svg",
      "  collectives train --ranks 1                              the same batches in one process",
      "  collectives train --wire-type int8 --update allreduce --error-feedback off",
      "  collectives train --spatial 2x2                          each rank has a quarter of each image",
      "  collectives train --kill 2@6                             rank 2 is killed in epoch 6, and replaced",
      "  collectives train --slow 1=20 --chart loss.svg           rank 1 sleeps 20 ms in each step",
      "",
      "Exit status: 0 when the accuracy is at least --least, and bits are the same that have to be; 1 when not; 2 wrong",
      "usage."
    })
final class Train implements Callable<Integer> {
  private static final String MIDDLE = "in the middle";
  private static final int BAR = 24;

  @Spec private CommandSpec spec;

  @Mixin private TrainOptions task = new TrainOptions();

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
    List<DigitsTask> all = task.checked(spec);
    DigitsTask wanted = all.get(0);
    Usage.require(
        wanted.trouble().kill().isEmpty() || placement == Placement.PROCESSES,
        spec,
        "--kill: a thread cannot be killed; use --placement processes");
    Usage.requireChart(chart, spec);
    Usage.require(
        transport != Transport.INPROCESS,
        spec,
        "--transport inprocess: processes share no such memory; use auto, shm, unix, tcp, or --placement threads");
    PrintWriter out = spec.commandLine().getOut();
    Chart picture = Chart.overSteps("epoch", new Chart.Axis("loss", Scale.Unit.NUMBER));
    List<List<DigitsResult>> curves = new ArrayList<>();
    try (Progress progress = new Progress(spec.commandLine().getErr())) {
      progress.expect((double) all.size() * task.epochs());
      for (DigitsTask each : all) {
        List<DigitsResult> curve = run(each, progress, out);
        for (DigitsResult result : curve) {
          picture.point(label(each), result.epoch(), result.loss());
        }
        curves.add(curve);
      }
    }
    if (chart.isPresent()) {
      picture.write(
          "Loss of images that were held out from training, digits",
          title(wanted)
              + "; "
              + placement
              + (placement == Placement.PROCESSES ? " over " + transport : " in process")
              + ", "
              + Provenance.brief(),
          chart.get());
    }
    boolean same = curves.stream().distinct().count() == 1;
    boolean good = same || !wanted.reduction().repeatability().needsAllAtOnce();
    for (int i = 0; i < all.size(); i++) {
      List<DigitsResult> curve = curves.get(i);
      double accuracy = 100 * curve.get(curve.size() - 1).accuracy();
      good &= accuracy >= least;
      out.printf(
          Locale.ROOT,
          "%s: %.2f %% of the images that were held out are read right%s%n",
          accuracy >= least ? "passed" : "FAILED",
          accuracy,
          all.size() == 1 ? "" : ", " + label(all.get(i)));
    }
    if (all.size() > 1) {
      out.println(same ? "All curves are the same to the last bit." : "The curves differ.");
    }
    out.println(Provenance.line() + ", seed " + wanted.seed());
    out.flush();
    return good ? 0 : ExitStatus.FAILED;
  }

  /** Runs a task, with a table. */
  private List<DigitsResult> run(DigitsTask wanted, Progress progress, PrintWriter out)
      throws IOException {
    out.println("digits: " + label(wanted) + ", " + title(wanted));
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
    List<DigitsResult> curve = run(wanted, progress, epoch -> row(out, table, epoch));
    progress.clear();
    out.println();
    return curve;
  }

  private String label(DigitsTask wanted) {
    return wanted.reduction().algorithm().label(task.ranks());
  }

  private String title(DigitsTask wanted) {
    DigitsTask.Reduction reduction = wanted.reduction();
    List<String> parts =
        new ArrayList<>(
            List.of(
                task.ranks() + " ranks", wanted.rule() + " by " + wanted.distribution().update()));
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

  private List<DigitsResult> run(DigitsTask wanted, Progress progress, Consumer<DigitsEpoch> found)
      throws IOException {
    Optional<DigitsTask.Kill> kill = wanted.trouble().kill();
    List<DigitsResult> curve = new ArrayList<>();
    progress.step("starting");
    try (ProcessGroup group = new ProcessGroup();
        Checkpoints checkpoints = new Checkpoints(kill.isPresent())) {
      int processes = placement == Placement.PROCESSES ? task.ranks() : 1;
      Starter starter =
          new Starter(
              group,
              processes,
              FreePort.find(),
              task.arguments(placement, wanted.reduction().algorithm()),
              checkpoints.arguments());
      List<Worker> workers = new ArrayList<>();
      for (int rank = 0; rank < processes; rank++) {
        workers.add(starter.start(rank, false));
      }
      Worker teller = workers.get(kill.map(DigitsTask.Kill::survivor).orElse(0));
      for (int epoch = 1; epoch <= task.epochs(); epoch++) {
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
        curve.add(result.result());
        progress.clear();
        found.accept(result);
        progress.done(1);
        progress.step("after epoch " + epoch + " of " + task.epochs());
      }
      for (Worker worker : workers) {
        worker.close();
      }
      group.awaitEnd();
    }
    return curve;
  }

  /** Starts processes of one job. */
  private final class Starter {
    private final ProcessGroup group;
    private final int processes;
    private final int port;
    private final List<String> arguments;
    private final List<String> more;

    Starter(
        ProcessGroup group, int processes, int port, List<String> arguments, List<String> more) {
      this.group = group;
      this.processes = processes;
      this.port = port;
      this.arguments = arguments;
      this.more = more;
    }

    Worker start(int rank, boolean isNew) throws IOException {
      List<String> all = new ArrayList<>(arguments);
      all.addAll(more);
      if (isNew) {
        all.add("--new");
      }
      return Worker.start(
          group,
          rank,
          JavaCommand.of(List.of("-Xmx256m"), all),
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

  /** A process of the training: one rank, or all as threads. */
  @Command(name = "train-rank", hidden = true, description = "What train starts.")
  static final class Rank implements Callable<Integer> {
    @Spec private CommandSpec spec;

    @Mixin private TrainOptions task = new TrainOptions();

    @Option(names = "--placement", required = true)
    private Placement placement = Placement.PROCESSES;

    @Option(names = "--checkpoints")
    private Optional<Path> checkpoints = Optional.empty();

    @Option(names = "--new")
    private boolean isNew;

    @Override
    public Integer call() throws InterruptedException {
      ParentLines parent = ParentLines.read(System.in);
      DigitsTask wanted = task.checked(spec).get(0);
      int teller = wanted.trouble().kill().map(DigitsTask.Kill::survivor).orElse(0);
      if (placement == Placement.THREADS) {
        Collectives.inThreads(
            task.ranks(),
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
