package io.collectives.bench;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.bench.chaos.ChaosWorker;
import io.collectives.bench.chaos.Connections;
import io.collectives.bench.chaos.Fault;
import io.collectives.bench.chaos.Fault.Kind;
import io.collectives.bench.chaos.FaultOutcome;
import io.collectives.bench.chaos.FaultRun;
import io.collectives.bench.chaos.PauseRun;
import io.collectives.bench.process.JavaCommand;
import io.collectives.bench.process.ParentLines;
import io.collectives.bench.report.Progress;
import io.collectives.bench.report.Provenance;
import io.collectives.bench.report.Units;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.random.RandomGenerator;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code collectives chaos}: what jobs of real processes do when something bad happens. */
@Command(
    name = "chaos",
    customSynopsis = "collectives chaos [OPTION...]",
    sortOptions = false,
    descriptionHeading = "%n",
    optionListHeading = "%nOptions:%n",
    footerHeading = "%nExamples:%n",
    description = {
      "Kill, stop and disconnect real processes while they sum, and time what the others do.",
      "",
      "Each fault hits a job of its own, whose ranks sum whole numbers with 8 asynchronous calls of 1 to 150,001 elements under "
          + "way. It comes at a random moment, in the middle of calls or while none is under way and the next follow at once. "
          + "The survivors must name the culprit, shrink, make the calls again that not all had completed, and get sums that "
          + "are right to the last bit until the job ends.",
      "",
      "kill is SIGKILL. stop is SIGSTOP, and SIGCONT once the others have gone on: the stopped rank must find that it was given "
          + "up. reset resets the connections between two ranks that live, by 'ss -K' of Linux, which needs root: the "
          + "higher one must give way, and all must name it. Silent loss of packets is not made here.",
      "",
      "'known' is from the fault until the last survivor had the error, 'sum' until the last survivor had the first right sum of "
          + "the group that was left. A pause is SIGSTOP for less than the silence limit: no call may fail."
    },
    footer = {
      "  collectives chaos --faults 20 --kinds kill",
      "  collectives chaos --faults 100 --kinds kill,stop --silence 2    2 seconds until a silent rank is given up",
      "  collectives chaos --faults 0 --pauses 100 --pause 3s            false alarms only",
      "",
      "Exit status: 0 when all culprits and sums were right, nobody hung and there was no false alarm, else 1; 2 wrong usage."
    })
final class Chaos implements Callable<Integer> {
  private static final Duration KILL_KNOWN = Duration.ofSeconds(1);
  private static final Duration KILL_SUM = Duration.ofSeconds(2);
  private static final Duration STOP_MORE = Duration.ofSeconds(1);

  @Spec private CommandSpec spec;

  @Option(
      names = "--faults",
      defaultValue = "100",
      paramLabel = "N",
      description = "How many faults, from 0 to 100000. Default: ${DEFAULT-VALUE}.")
  private int faults;

  @Option(
      names = {"-n", "--ranks"},
      defaultValue = "4",
      paramLabel = "N",
      description = "How many processes each job has, from 3 to 64. Default: ${DEFAULT-VALUE}.")
  private int ranks;

  @Option(
      names = "--transport",
      defaultValue = "tcp",
      paramLabel = "TRANSPORT",
      description = "Between processes there is only tcp. Default: ${DEFAULT-VALUE}.")
  private Perf.Transport transport = Perf.Transport.TCP;

  @Option(
      names = "--kinds",
      split = ",",
      defaultValue = "kill,stop",
      paramLabel = "KIND,...",
      hideParamSyntax = true,
      description = "What is done, in turn: ${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
  private List<Kind> kinds = List.of();

  @Option(
      names = "--silence",
      defaultValue = "5",
      paramLabel = "SECONDS",
      description =
          "After how long without a sign of life a rank is given up, from 0.1 to 600. Default: ${DEFAULT-VALUE}.")
  private Duration silence = Duration.ZERO;

  @Option(
      names = "--pauses",
      defaultValue = "0",
      paramLabel = "N",
      description = "How often a rank is paused, from 0 to 100000. Default: ${DEFAULT-VALUE}.")
  private int pauses;

  @Option(
      names = "--pause",
      defaultValue = "3",
      paramLabel = "SECONDS",
      description = "For how long, less than the silence limit. Default: ${DEFAULT-VALUE}.")
  private Duration pause = Duration.ZERO;

  @Option(
      names = "--seed",
      defaultValue = "1",
      paramLabel = "N",
      description = "Of victims and moments. Default: ${DEFAULT-VALUE}.")
  private long seed;

  @Option(
      names = "--format",
      defaultValue = "table",
      paramLabel = "FORMAT",
      description = "Of the figures: ${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
  private PerfRow.Format format = PerfRow.Format.TABLE;

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Print this help.")
  private boolean help;

  @Override
  public Integer call() throws IOException, InterruptedException {
    check();
    RandomGenerator random = new SplittableRandom(seed);
    List<FaultOutcome> outcomes = new ArrayList<>();
    List<PauseRun> pauseRuns = new ArrayList<>();
    try (Progress progress = new Progress(spec.commandLine().getErr(), Progress.onTerminal())) {
      List<Kind> possible = possible(progress);
      for (int i = 0; i < faults && !possible.isEmpty(); i++) {
        Fault fault = Fault.any(possible.get(i % possible.size()), ranks, random);
        String text = "fault " + (i + 1) + " of " + faults + ": " + fault;
        progress.step(text);
        FaultOutcome outcome = FaultRun.run(fault, ranks, command(), silence, System.err);
        outcomes.add(outcome);
        outcome.complaints().forEach(complaint -> progress.say(text + ": " + complaint));
      }
      for (int left = pauses; left > 0; ) {
        int before = pauses - left;
        PauseRun run =
            PauseRun.run(
                left,
                pause,
                ranks,
                command(),
                silence,
                random,
                over -> progress.step("pause " + (before + over) + " of " + pauses),
                System.err);
        pauseRuns.add(run);
        run.complaints()
            .forEach(
                complaint -> progress.say("pause " + (before + run.pauses()) + ": " + complaint));
        left -= Math.max(1, run.pauses());
      }
    }
    if (outcomes.isEmpty() && pauseRuns.isEmpty()) {
      spec.commandLine().getErr().println("collectives chaos: nothing was done");
      return Main.FAILED;
    }
    ChaosFigures figures = new ChaosFigures(outcomes, pauseRuns);
    List<String> below =
        new ArrayList<>(figures.bars(KILL_KNOWN, KILL_SUM, silence.plus(STOP_MORE)));
    below.add(figures.verdict());
    below.add(
        Provenance.line()
            + ", "
            + ranks
            + " ranks, "
            + transport
            + ", silence limit "
            + Units.time(silence.toNanos())
            + ", seed "
            + seed);
    figures.table().print(format, spec.commandLine().getOut(), below);
    return figures.good() ? 0 : Main.FAILED;
  }

  private void check() {
    Usage.require(
        faults >= 0 && faults <= 100_000,
        spec,
        "--faults " + faults + ": must be from 0 to 100000");
    Usage.require(
        pauses >= 0 && pauses <= 100_000,
        spec,
        "--pauses " + pauses + ": must be from 0 to 100000");
    Usage.require(faults + pauses > 0, spec, "--faults 0 and --pauses 0: there is nothing to do");
    Usage.require(ranks >= 3 && ranks <= 64, spec, "--ranks " + ranks + ": must be from 3 to 64");
    Usage.require(
        transport == Perf.Transport.TCP,
        spec,
        "--transport " + transport + ": ranks are processes, which only tcp connects");
    Usage.require(
        silence.compareTo(Duration.ofMillis(100)) >= 0
            && silence.compareTo(Duration.ofSeconds(600)) <= 0,
        spec,
        "--silence " + seconds(silence) + ": must be from 0.1 to 600 seconds");
    Usage.require(
        pauses == 0 || pause.compareTo(silence) < 0,
        spec,
        "--pause "
            + seconds(pause)
            + ": must be less than the silence limit of "
            + seconds(silence)
            + " seconds");
  }

  private static String seconds(Duration duration) {
    return Double.toString(duration.toMillis() / 1e3).replaceFirst("\\.0$", "");
  }

  /** The kinds that can be made on this machine; the others are said to be skipped. */
  private List<Kind> possible(Progress progress) {
    List<Kind> possible = new ArrayList<>(new LinkedHashSet<>(kinds));
    if (faults > 0 && possible.contains(Kind.RESET)) {
      Optional<String> whyNot = Connections.whyNot();
      whyNot.ifPresent(
          why -> {
            progress.say("SKIPPED: reset: connections cannot be reset here: " + why);
            possible.remove(Kind.RESET);
          });
    }
    return possible;
  }

  private static List<String> command() {
    return JavaCommand.of(
        Main.class,
        List.of(
            "-XX:+UseSerialGC",
            "-Xmx64m",
            "-XX:TieredStopAtLevel=1",
            // That a rank is lost is no news here.
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"),
        List.of("chaos-rank"));
  }

  /** A process of a job. */
  @Command(name = "chaos-rank", hidden = true, description = "What chaos starts.")
  static final class Rank implements Callable<Integer> {
    @Override
    public Integer call() throws InterruptedException {
      ParentLines parent = ParentLines.read(System.in);
      try (Communicator world = Collectives.join()) {
        ChaosWorker.run(world, parent, System.out);
      }
      return 0;
    }
  }
}
