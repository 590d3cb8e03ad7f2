package io.collectives.bench;

import io.collectives.bench.chaos.ChaosSettings;
import io.collectives.bench.chaos.ChaosWorker;
import io.collectives.bench.chaos.Connections;
import io.collectives.bench.chaos.DummyListener;
import io.collectives.bench.chaos.Endurance;
import io.collectives.bench.chaos.Fault;
import io.collectives.bench.chaos.Fault.Kind;
import io.collectives.bench.chaos.Fault.Phase;
import io.collectives.bench.chaos.FaultOutcome;
import io.collectives.bench.chaos.FaultRun;
import io.collectives.bench.chaos.MemoryDirectory;
import io.collectives.bench.chaos.PauseRun;
import io.collectives.bench.chaos.PriceRun;
import io.collectives.bench.chaos.PriceSettings;
import io.collectives.bench.chaos.PriceWorker;
import io.collectives.bench.chaos.Range;
import io.collectives.bench.chaos.Site;
import io.collectives.bench.network.Network;
import io.collectives.bench.process.JavaCommand;
import io.collectives.bench.process.ParentLines;
import io.collectives.bench.report.ByteSize;
import io.collectives.bench.report.Progress;
import io.collectives.bench.report.Provenance;
import io.collectives.bench.report.Units;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * {@code collectives chaos}: what jobs of real processes do when something bad happens.
 *
 * <p>One class because most of it is options, which picocli binds to the fields of one object, and
 * checks that compare these options with each other.
 */
@Command(
    name = "chaos",
    customSynopsis = "collectives chaos [OPTION...]",
    sortOptions = false,
    descriptionHeading = "%n",
    optionListHeading = "%nOptions:%n",
    footerHeading = "%nExamples:%n",
    description = {
      "Kill, stop and disconnect real processes while they join or sum, and time what the others "
          + "do; or connect unauthenticated peers (strangers) to their ports.",
      "",
      "Each fault hits a job of its own (unless --faults-per-job says otherwise), whose ranks sum "
          + "whole numbers with 8 asynchronous calls of 1 to 150,001 elements under way. It comes "
          + "at a random moment: in the middle of calls, or while none is under way and the next "
          + "follow at once, or while the ranks start and meet by TCP. The survivors must name "
          + "the culprit, shrink, make the calls again that not all had completed, and get sums "
          + "that are right to the last bit until the job ends. If they cannot even meet, all "
          + "must name the culprit and end.",
      "",
      "kill is SIGKILL. stop is SIGSTOP, and SIGCONT once the others have gone on: the stopped "
          + "rank must find that it was given up. reset resets the connections between two ranks "
          + "that live, by 'ss -K' of Linux, which needs root: the higher one must give way, and "
          + "all must name it. cut lets all packets between two ranks that live vanish, with the "
          + "same end. Both hit neighbours of a ring, by which these jobs sum. isolate lets all "
          + "packets from and to a rank vanish. cut and isolate put each rank into a network "
          + "namespace of Linux, which needs root too. What is not possible is skipped. Ranks "
          + "that share memory or talk by Unix-domain sockets can only be killed and stopped.",
      "",
      "'known' is from the fault until the last survivor had the error, 'sum' until the last "
          + "survivor had the first right sum of the group that was left. Faults while joining "
          + "are told apart by how far their victims had come: 'awaited' had not come to the "
          + "rendezvous, so that the others wait until --join-timeout; 'announced' had come, and "
          + "its rank is kept for it until the silence limit in case it comes again; 'met' had "
          + "joined: times count from when the others had joined.",
      "",
      "Several faults in one job come one after the other or at once. All survivors must name the "
          + "same ranks, and only ranks that were hit. --soak runs one job for as long as it "
          + "says, with faults every few seconds, and lets new processes take the ranks of those "
          + "that were lost. One rank is never hit: its heap, buffers, memory, threads and open "
          + "files must not grow.",
      "",
      "'leftovers' are files and directories for shared memory and sockets that are still there "
          + "when all jobs are over, and one more has been.",
      "",
      "A pause is SIGSTOP for less than the silence limit: no call may fail.",
      "",
      "Strangers are unauthenticated peers: they scan ports, speak HTTP and TLS, send noise, the "
          + "greatest lengths, what a rank has sent before, and that one byte a second. One job of "
          + "ranks with a job secret sums all the time; each round has, in turn, about 5 s without "
          + "strangers, 5 s with strangers at another process of this machine, which closes each "
          + "connection at once, and 5 s with strangers at the ranks. No call may fail. A ratio is "
          + "that of the mean times of calls in the same round; its median and range are printed."
    },
    footer = {
      "  collectives chaos --faults 20 --kinds kill",
      "  collectives chaos --faults 100 --kinds kill,stop --silence 2    2 seconds until a silent rank is given up",
      "  collectives chaos --faults 20 --while joining                   while ranks start and meet",
      "  collectives chaos --faults 20 --kinds cut,isolate               packets vanish, connections stay",
      "  collectives chaos --transport tcp,shm,unix,auto --faults-per-job 1..2",
      "  collectives chaos --soak 1h --transport shm                     one job for an hour, a fault every few seconds",
      "  collectives chaos --pauses 100 --pause 3s                       false alarms only",
      "  collectives chaos --strangers 10000 --strangers-per-second 100  what unauthenticated peers cost, in 6 minutes",
      "",
      "Exit status: 0 when all culprits and sums were right, nobody hung, no call failed without a "
          + "fault, there was no false alarm, and nothing grew or was left over, else 1; 2 wrong "
          + "usage. How long it took does not count: what was within its limit is printed."
    })
final class Chaos implements Callable<Integer> {
  private static final int FAULTS = 100;
  private static final int RANKS = 4;

  /** The time that ranks wait for the answer of rank 0 beyond the timeout that they sent it. */
  private static final Duration ANSWER_GRACE = Duration.ofSeconds(2);

  private static final String RANK = "chaos-rank";
  private static final long MOST_BYTES = 256L << 20;
  private static final int RANK_MEGABYTES = 64;

  @Spec private CommandSpec spec;

  @Option(
      names = "--faults",
      paramLabel = "N",
      description =
          "How many faults, from 0 to 100000. Default: 100, or 0 with --pauses or --strangers.")
  private @Nullable Integer faults;

  @Option(
      names = "--faults-per-job",
      paramLabel = "N|A..B",
      description =
          "How many faults hit one job, one after the other or at once; with --soak, how many at "
              + "once. At least two ranks must be left. Default: 1, with --soak 1..2.")
  private @Nullable Range faultsPerJob;

  @Option(
      names = "--soak",
      paramLabel = "TIME",
      description = "For how long one job runs, with faults every few seconds, from 1s to 200h.")
  private @Nullable Duration soak;

  @Option(
      names = {"-n", "--ranks"},
      paramLabel = "N",
      description =
          "How many processes each job has, from 3 to 64. Default: 4. With --strangers from 2, default 2.")
  private @Nullable Integer ranks;

  @Option(
      names = "--transport",
      split = ",",
      defaultValue = "tcp",
      paramLabel = "TRANSPORT,...",
      hideParamSyntax = true,
      description =
          "How ranks talk: tcp, shm, unix, auto. Each has its share of the faults, pauses and time. Default: ${DEFAULT-VALUE}.")
  private List<Transport> transports = List.of();

  @Option(
      names = "--hosts",
      defaultValue = "1",
      paramLabel = "N",
      description =
          "As how many hosts the ranks count, in blocks, for --transport auto: by TCP between "
              + "them, by shared memory within. Default: ${DEFAULT-VALUE}.")
  private int hosts;

  @Option(
      names = "--kinds",
      split = ",",
      defaultValue = "kill,stop",
      paramLabel = "KIND,...",
      hideParamSyntax = true,
      description = "What is done, in turn: ${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
  private List<Kind> kinds = List.of();

  @Option(
      names = "--while",
      split = ",",
      defaultValue = "calling,idle",
      paramLabel = "PHASE,...",
      hideParamSyntax = true,
      converter = PhaseName.class,
      description = "When, by chance one of: calling, idle, joining. Default: ${DEFAULT-VALUE}.")
  private List<Phase> phases = List.of();

  @Option(
      names = "--join-timeout",
      defaultValue = "10",
      paramLabel = "SECONDS",
      description =
          "How long ranks wait until all have met, in jobs that are hit while joining, from 1 to "
              + "600. Default: ${DEFAULT-VALUE}.")
  private Duration joinTimeout = Duration.ZERO;

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
      names = "--strangers",
      defaultValue = "0",
      paramLabel = "N",
      description =
          "How many unauthenticated peers connect to the ranks, and as many to another process, from 0 to 10000000. Default: ${DEFAULT-VALUE}.")
  private int intruders;

  @Option(
      names = "--strangers-per-second",
      defaultValue = "100",
      paramLabel = "N",
      description = "How many of them in a second, from 1 to 10000. Default: ${DEFAULT-VALUE}.")
  private int intrudersPerSecond;

  @Option(
      names = "--bytes",
      defaultValue = "1M",
      paramLabel = "SIZE",
      description =
          "Of each all-reduce (float32) while strangers come, from 8 to 256M. Default: ${DEFAULT-VALUE}.")
  private ByteSize bytes = new ByteSize(0);

  @Option(
      names = "--warmup",
      defaultValue = "10",
      paramLabel = "SECONDS",
      description =
          "For how long the ranks sum before the first stranger, up to 600. Default: ${DEFAULT-VALUE}.")
  private Duration warmUp = Duration.ZERO;

  @Option(
      names = "--seed",
      defaultValue = "1",
      paramLabel = "N",
      description = "Of victims, moments and noise. Default: ${DEFAULT-VALUE}.")
  private long seed;

  @Mixin private FormatOption format;

  @Mixin private HelpOption help;

  @Override
  public Integer call() throws IOException, InterruptedException {
    check();
    return intruders > 0 ? price() : soak != null ? soak(soak) : harm();
  }

  /** Returns the number of faults that hit one job, or with {@code --soak} at once. */
  private Range perJob() {
    return faultsPerJob != null
        ? faultsPerJob
        : new Range(1, soak == null ? 1 : Math.min(2, ranks() - 2));
  }

  /** Returns the sites of jobs, one for each transport. */
  private List<Site> sites() {
    return transports.stream()
        .distinct()
        .map(
            transport ->
                new Site(transport.toString(), transport == Transport.AUTO ? hosts : 1, null))
        .toList();
  }

  private ChaosSettings settings(Site site, MemoryDirectory directory) {
    return new ChaosSettings(
        ranks(), faultCommand(), site.in(directory.path()), silence, joinTimeout, System.err);
  }

  private int faults() {
    return faults != null ? faults : intruders > 0 || pauses > 0 ? 0 : FAULTS;
  }

  private int ranks() {
    return ranks != null ? ranks : intruders > 0 ? 2 : RANKS;
  }

  /** Measures what unauthenticated peers cost. */
  private int price() throws IOException, InterruptedException {
    PriceSettings settings =
        new PriceSettings(
            ranks(),
            intruders,
            intrudersPerSecond,
            warmUp,
            seed,
            priceCommand(),
            command(List.of(), "--role", Role.LISTENER.toString()));
    PriceFigures figures;
    try (Progress progress = new Progress(spec.commandLine().getErr())) {
      figures = new PriceFigures(PriceRun.run(settings, System.err, progress));
    }
    if (figures.outcome().slices().isEmpty()) {
      spec.commandLine()
          .getErr()
          .println("collectives chaos: " + figures.lines().get(figures.lines().size() - 1));
      return ExitStatus.FAILED;
    }
    List<String> below = new ArrayList<>(figures.lines());
    below.add(
        provenance()
            + ", all-reduce of "
            + bytes
            + ", "
            + intrudersPerSecond
            + " strangers a second, "
            + settings.rounds()
            + " rounds");
    figures.table().print(format.wanted(), spec.commandLine().getOut(), below);
    return figures.good() ? 0 : ExitStatus.FAILED;
  }

  private String provenance() {
    return Provenance.line()
        + ", "
        + ranks()
        + " ranks, "
        + sites().stream().map(Site::toString).collect(Collectors.joining(" and "))
        + ", seed "
        + seed;
  }

  /** Hits ranks by faults and pauses. */
  private int harm() throws IOException, InterruptedException {
    RandomGenerator random = new SplittableRandom(seed);
    Harm harm = new Harm(random);
    List<Site> sites = sites();
    try (Progress progress = new Progress(spec.commandLine().getErr())) {
      progress.expect((double) faults() + pauses);
      List<Kind> possible = faults() == 0 ? List.of() : possible(progress);
      for (int i = 0; i < sites.size(); i++) {
        try (MemoryDirectory directory = new MemoryDirectory()) {
          ChaosSettings settings = settings(sites.get(i), directory);
          if (possible.stream().anyMatch(kind -> phases(kind).contains(Phase.JOINING))) {
            progress.step("how long ranks take to meet");
            harm.meetMillis = FaultRun.meetMillis(settings);
          }
          if (!possible.isEmpty()) {
            harm.hit(settings, possible, share(faults(), i), progress);
          }
          harm.pause(settings, share(pauses, i), progress);
          harm.leftovers.put(settings.site(), directory.leftovers(settings));
        }
      }
    }
    if (harm.outcomes.isEmpty() && harm.pauseRuns.isEmpty()) {
      spec.commandLine().getErr().println("collectives chaos: nothing was done");
      return ExitStatus.FAILED;
    }
    ChaosFigures figures = harm.figures();
    Duration awaited = joinTimeout.plusMillis(harm.meetMillis).plus(ANSWER_GRACE);
    List<String> below = new ArrayList<>(figures.bars(silence, awaited));
    below.add(figures.verdict());
    below.add(
        provenance()
            + ", silence limit "
            + Units.time(silence.toNanos())
            + (harm.meetMillis == 0
                ? ""
                : ", ranks met within " + Units.time(harm.meetMillis * 1e6)));
    figures.table().print(format.wanted(), spec.commandLine().getOut(), below);
    return figures.good() ? 0 : ExitStatus.FAILED;
  }

  /** The part of a number that falls to one of the transports. */
  private int share(int number, int transport) {
    int parts = sites().size();
    return (int) ((transport + 1L) * number / parts - (long) transport * number / parts);
  }

  /** The faults and pauses of jobs, with their outcomes. */
  private final class Harm {
    private final RandomGenerator random;
    private final List<FaultOutcome> outcomes = new ArrayList<>();
    private final List<PauseRun> pauseRuns = new ArrayList<>();
    private final List<String> complaints = new ArrayList<>();
    private final Map<Site, Integer> leftovers = new LinkedHashMap<>();
    private long meetMillis;

    Harm(RandomGenerator random) {
      this.random = random;
    }

    ChaosFigures figures() {
      return new ChaosFigures(outcomes, pauseRuns, complaints, leftovers);
    }

    void hit(ChaosSettings settings, List<Kind> kinds, int faults, Progress progress)
        throws IOException, InterruptedException {
      for (int i = 0; i < faults; ) {
        String text = settings.site() + ", fault " + (i + 1) + " of " + faults + ": ";
        int count = Math.min(faults - i, perJob().draw(random));
        if (count > 1) {
          progress.step(text + count + " in one job");
          Endurance job = new Endurance(settings.site(), random);
          job.job(settings, kinds, phases, count);
          outcomes.addAll(job.outcomes());
          complaints.addAll(job.complaints());
          job.complaints().forEach(complaint -> progress.say(text + complaint));
          i += count;
          progress.done(count);
        } else {
          Kind kind = kinds.get(i % kinds.size());
          List<Phase> own = phases(kind);
          Fault fault =
              Fault.any(
                  kind,
                  own.get(random.nextInt(own.size())),
                  ranks(),
                  settings.site().victims(kind, ranks()),
                  meetMillis,
                  random);
          progress.step(text + fault);
          FaultOutcome outcome = FaultRun.run(fault, settings);
          outcomes.add(outcome);
          outcome.complaints().forEach(complaint -> progress.say(text + fault + ": " + complaint));
          i++;
          progress.done(1);
        }
      }
    }

    void pause(ChaosSettings settings, int pauses, Progress progress)
        throws IOException, InterruptedException {
      for (int left = pauses; left > 0; ) {
        String before = settings.site() + ", pause ";
        int done = pauses - left;
        PauseRun run =
            PauseRun.run(
                left,
                pause,
                settings,
                random,
                over -> progress.step(before + (done + over) + " of " + pauses));
        pauseRuns.add(run);
        run.complaints()
            .forEach(complaint -> progress.say(before + (done + run.pauses()) + ": " + complaint));
        left -= Math.max(1, run.pauses());
        progress.done(Math.max(1, run.pauses()));
      }
    }
  }

  /** Runs one job of each site for a long time. */
  private int soak(Duration time) throws IOException, InterruptedException {
    RandomGenerator random = new SplittableRandom(seed);
    List<Site> sites = sites();
    Duration share = time.dividedBy(sites.size());
    SoakFigures figures = new SoakFigures();
    try (Progress progress = new Progress(spec.commandLine().getErr())) {
      for (Site site : sites) {
        try (MemoryDirectory directory = new MemoryDirectory()) {
          ChaosSettings settings = settings(site, directory);
          Endurance run = new Endurance(site, random);
          run.soak(
              settings,
              kinds,
              phases,
              perJob(),
              share,
              directory,
              now -> progress.step(SoakFigures.progress(now, share)));
          run.complaints().forEach(complaint -> progress.say(site + ": " + complaint));
          figures.add(run, directory.leftovers(settings));
        }
      }
    }
    figures
        .table()
        .print(
            format.wanted(),
            spec.commandLine().getOut(),
            List.of(
                figures.verdict(),
                provenance() + ", silence limit " + Units.time(silence.toNanos())));
    return figures.good() ? 0 : ExitStatus.FAILED;
  }

  /** Returns the phases in which a kind of fault can come. */
  private List<Phase> phases(Kind kind) {
    return phases.stream()
        .distinct()
        .filter(phase -> phase != Phase.JOINING || kind.hitsJoining())
        .toList();
  }

  private void check() {
    int faults = faults();
    range("--faults", faults, 0, 100_000);
    range("--pauses", pauses, 0, 100_000);
    range("--strangers", intruders, 0, 10_000_000);
    range("--strangers-per-second", intrudersPerSecond, 1, 10_000);
    Usage.require(
        faults + pauses + intruders > 0, spec, "--faults 0 and --pauses 0: there is nothing to do");
    Usage.require(
        intruders == 0 || faults + pauses == 0,
        spec,
        "--strangers " + intruders + " with --faults or --pauses: strangers come alone");
    range("--ranks", ranks(), intruders > 0 ? 2 : 3, 64);
    Usage.require(
        bytes.bytes() >= 8 && bytes.bytes() <= MOST_BYTES,
        spec,
        "--bytes " + bytes.bytes() + ": must be from 8 to 256M");
    Usage.require(
        bytes.bytes() % Float.BYTES == 0,
        spec,
        "--bytes " + bytes.bytes() + ": must be a multiple of 4 (one float32)");
    Usage.require(
        warmUp.compareTo(Duration.ofSeconds(600)) <= 0,
        spec,
        "--warmup " + seconds(warmUp) + ": must be from 0 to 600 seconds");
    checkTransports();
    checkSeveral();
    Usage.require(
        silence.compareTo(Duration.ofMillis(100)) >= 0
            && silence.compareTo(Duration.ofSeconds(600)) <= 0,
        spec,
        "--silence " + seconds(silence) + ": must be from 0.1 to 600 seconds");
    Usage.require(
        joinTimeout.compareTo(Duration.ofSeconds(1)) >= 0
            && joinTimeout.compareTo(Duration.ofSeconds(600)) <= 0,
        spec,
        "--join-timeout " + seconds(joinTimeout) + ": must be from 1 to 600 seconds");
    for (Kind kind : kinds) {
      Usage.require(
          !phases(kind).isEmpty(),
          spec,
          "--kinds "
              + kind
              + " --while joining: while ranks join, only kill and stop are possible");
    }
    Usage.require(
        pauses == 0 || pause.compareTo(silence) < 0,
        spec,
        "--pause "
            + seconds(pause)
            + ": must be less than the silence limit of "
            + seconds(silence)
            + " seconds");
  }

  private void checkTransports() {
    for (Transport transport : transports) {
      Usage.require(
          transport != Transport.INPROCESS,
          spec,
          "--transport inprocess: ranks are processes; there are tcp, shm, unix and auto");
      Usage.require(
          intruders == 0 || transport == Transport.TCP,
          spec,
          "--strangers " + intruders + " --transport " + transport + ": strangers come by tcp");
    }
    range("--hosts", hosts, 1, ranks());
    Usage.require(
        hosts == 1 || transports.contains(Transport.AUTO),
        spec,
        "--hosts " + hosts + ": only --transport auto tells hosts apart");
    for (Site site : sites()) {
      for (Kind kind : kinds) {
        Usage.require(
            !site.victims(kind, ranks()).isEmpty(),
            spec,
            "--kinds "
                + kind
                + " --transport "
                + site.transport()
                + ": it hits what is between ranks that talk by tcp; there are kill and stop, and"
                + " with --transport auto --hosts 2 reset and cut");
      }
    }
  }

  private void checkSeveral() {
    Range perJob = perJob();
    Usage.require(
        intruders > 0 || perJob.least() >= 1 && perJob.most() <= ranks() - 2,
        spec,
        "--faults-per-job "
            + perJob
            + ": must be from 1 to "
            + (ranks() - 2)
            + ", so that two of "
            + ranks()
            + " ranks are left");
    if (soak != null) {
      Usage.require(
          soak.compareTo(Duration.ofSeconds(1)) >= 0 && soak.compareTo(Duration.ofHours(200)) <= 0,
          spec,
          "--soak " + seconds(soak) + ": must be from 1s to 200h");
      Usage.require(
          faults == null && pauses == 0 && intruders == 0,
          spec,
          "--soak with --faults, --pauses or --strangers: faults come every few seconds");
    }
    String many = soak != null ? "--soak" : "--faults-per-job " + perJob;
    if (soak != null || perJob.most() > 1) {
      for (Kind kind : kinds) {
        Usage.require(
            kind.hitsJoining(),
            spec,
            "--kinds " + kind + " with " + many + ": there are kill and stop");
      }
      Usage.require(
          !phases.contains(Phase.JOINING),
          spec,
          "--while joining with " + many + ": there are calling and idle");
    }
  }

  private void range(String option, int value, int least, int most) {
    Usage.require(
        value >= least && value <= most,
        spec,
        option + " " + value + ": must be from " + least + " to " + most);
  }

  private static String seconds(Duration duration) {
    return Double.toString(duration.toMillis() / 1e3).replaceFirst("\\.0$", "");
  }

  /** The kinds that can be made on this machine; the others are said to be skipped. */
  private List<Kind> possible(Progress progress) {
    List<Kind> possible = new ArrayList<>(new LinkedHashSet<>(kinds));
    if (possible.contains(Kind.RESET)) {
      Connections.whyNot().ifPresent(why -> skip(possible, List.of(Kind.RESET), why, progress));
    }
    List<Kind> silent = possible.stream().filter(Kind::needsNetwork).toList();
    if (!silent.isEmpty()) {
      Network.whyNot().ifPresent(why -> skip(possible, silent, why, progress));
    }
    return possible;
  }

  private static void skip(List<Kind> possible, List<Kind> kinds, String why, Progress progress) {
    possible.removeAll(kinds);
    kinds.forEach(kind -> progress.say("SKIPPED: " + kind + ": not possible here: " + why));
  }

  private static List<String> faultCommand() {
    return command(List.of("-Xmx64m", "-XX:TieredStopAtLevel=1"), "--role", Role.FAULTS.toString());
  }

  /** All of the heap is there from the beginning, so that a rank grows by what is beside it. */
  private List<String> priceCommand() {
    String heap = (RANK_MEGABYTES + 4 * (bytes.bytes() >> 20)) + "m";
    return command(
        List.of("-Xms" + heap, "-Xmx" + heap, "-XX:+AlwaysPreTouch"),
        "--role",
        Role.PRICE.toString(),
        "--bytes",
        Long.toString(bytes.bytes()));
  }

  private static List<String> command(List<String> options, String... arguments) {
    List<String> all = new ArrayList<>(options);
    all.add("-XX:+UseSerialGC");
    // Warnings of lost ranks and refused connections are expected here.
    all.add("-Dorg.slf4j.simpleLogger.defaultLogLevel=error");
    List<String> words = new ArrayList<>(List.of(RANK));
    words.addAll(List.of(arguments));
    return JavaCommand.of(all, words);
  }

  /** The roles of processes that chaos starts. */
  enum Role {
    FAULTS,
    PRICE,
    LISTENER
  }

  /** A process of a job, or beside it. */
  @Command(name = RANK, hidden = true, description = "What chaos starts.")
  static final class Rank implements Callable<Integer> {
    @Option(names = "--role")
    private Role role = Role.FAULTS;

    @Option(names = "--bytes")
    private long bytes;

    @Option(names = ChaosSettings.BY_RING)
    private boolean byRing;

    @Override
    public Integer call() throws IOException, InterruptedException {
      ParentLines parent = ParentLines.read(System.in);
      switch (role) {
        case FAULTS -> ChaosWorker.run(byRing, parent, System.out);
        case PRICE -> PriceWorker.run(bytes, parent, System.out);
        case LISTENER -> DummyListener.run(parent, System.out);
      }
      return 0;
    }
  }

  /** Reads a phase. */
  static final class PhaseName implements ITypeConverter<Phase> {
    @Override
    public Phase convert(String text) throws Exception {
      return Usage.labels(Phase.class).convert(text);
    }
  }
}
