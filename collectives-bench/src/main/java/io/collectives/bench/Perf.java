package io.collectives.bench;

import io.collectives.Algorithm;
import io.collectives.Algorithm.ParameterServer;
import io.collectives.CallSettings;
import io.collectives.Collective;
import io.collectives.Collectives;
import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.Repeatability;
import io.collectives.WireType;
import io.collectives.bench.network.Hosts;
import io.collectives.bench.network.Network;
import io.collectives.bench.perf.AlgorithmChoice;
import io.collectives.bench.perf.CaseResult;
import io.collectives.bench.perf.CoreDistance;
import io.collectives.bench.perf.CoreProbe;
import io.collectives.bench.perf.Memory;
import io.collectives.bench.perf.ModelTensors;
import io.collectives.bench.perf.PerfCase;
import io.collectives.bench.perf.ProcessRanks;
import io.collectives.bench.perf.Ranks;
import io.collectives.bench.perf.Seating;
import io.collectives.bench.perf.ThreadRanks;
import io.collectives.bench.process.FreePort;
import io.collectives.bench.process.JavaCommand;
import io.collectives.bench.process.ParentLines;
import io.collectives.bench.report.ByteSize;
import io.collectives.bench.report.Chart;
import io.collectives.bench.report.Progress;
import io.collectives.bench.report.Provenance;
import io.collectives.bench.report.Scale;
import io.collectives.bench.report.Units;
import io.collectives.bench.simulate.PlanChoice;
import io.collectives.bench.simulate.Size;
import io.collectives.plan.Additions;
import io.collectives.plan.Plan;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * {@code collectives perf}: what a collective takes here.
 *
 * <p>One class because most of it is options, which picocli binds to the fields of one object, and
 * checks that compare these options with each other.
 */
@Command(
    name = "perf",
    customSynopsis = "collectives perf [OPTION...]",
    sortOptions = false,
    descriptionHeading = "%n",
    optionListHeading = "%nOptions:%n",
    footerHeading = "%nExamples:%n",
    description = {
      "Measure collectives, as nccl-tests does for NCCL.",
      "",
      "Options with ',...' take several values with commas between, and every combination is "
          + "measured. The time of an iteration is that of the slowest rank after a barrier; the "
          + "median counts. Bytes are those of the whole payload: what goes into an all-reduce, "
          + "what comes out of an all-gather. algbw is bytes / median; busbw is algbw x 2(n-1)/n "
          + "for an all-reduce, x 1 for a broadcast or reduce, x (n-1)/n for others.",
      "",
      "Before and after each case, while all ranks sleep, this process measures how long a cache "
          + "line takes from one core to another: below 35 ns they are threads of one core, below "
          + "100 ns they are near, below 400 ns far, else disturbed. On a virtual machine that "
          + "changes every few seconds, and the figures with it; a case during which it changed "
          + "is measured again, at most twice.",
      "",
      "speedup is the time of the first line with the same payload divided by this line's; by "
          + "bytes: the same of what the busiest link carries, which is what it comes to if links "
          + "are the limit.",
      "",
      "With --rounds all cases of a job are measured in turn, again and again, so that what "
          + "disturbs one disturbs all. The table has the medians of the rounds, beside the least "
          + "and the greatest; speedup is the median of the ratios within a round. tsv and json "
          + "have every round.",
      "",
      "auto is tuned before it is measured, auto:shipped goes by the shipped table alone. Where "
          + "several algorithms are measured, the fastest for each payload follows the table, as "
          + "a row that COLLECTIVES_AUTO understands; behind it stands how many times as long the "
          + "others took.",
      "",
      "Processes join as the environment says: with COLLECTIVES_SECRET_FILE, COLLECTIVES_TLS_... or COLLECTIVES_CHECKSUMS set, "
          + "what they cost is measured as well."
    },
    footer = {
      "  collectives perf                                                      2 processes, 8 B to 100 MiB",
      "  collectives perf --transport shm --ranks 4                            processes that share memory",
      "  collectives perf --placement threads --transport inprocess --ranks 4  threads that share memory",
      "  collectives perf --algorithm ring,direct --bytes 64K,1M --check       two algorithms, results checked",
      "  collectives perf --algorithm ring,auto --rounds 5                     in turn, five times",
      "  collectives perf --ranks 2,4,8 --algorithm ring,direct,auto:shipped,auto --tune-table my.table",
      "                                                                        a table for this machine, and what auto is worth",
      "  collectives perf --collective broadcast,all-gather --ranks 4          other collectives",
      "  collectives perf --ranks 6 --algorithm ring,direct,parameter-server --servers 3 --dedicated",
      "                                                                        3 workers with a server each, beside 6 ranks",
      "  collectives perf --ranks 8 --algorithm parameter-server --servers 2 --dedicated --proxies 2 --workers-per-host 2",
      "                                                                        2 hosts of 2 workers, 2 servers of 2 proxies",
      "  collectives perf --tensors resnet50,bert-large --transport shm         gradients of a model, fused or not",
      "  collectives perf --workers 4,8 --algorithm ring,parameter-server:0+n --bytes 16M --link-bandwidth 100Mbit/s",
      "                                                                        hosts with slow links, as many servers as workers",
      "  collectives perf --workers 4 --algorithm ring,parameter-server:0+n --tensors table2 --scale 16 --way fused,atomic,negotiated",
      "                                                                        whole tensors on servers, and what negotiation costs",
      "  collectives perf --mesh 4x4 --link 20Mbit/s --bytes 4M --algorithm ring,bidirectional-ring,torus --check",
      "                                                                        16 hosts, each with a link to each neighbor",
      "  collectives perf --ranks 2,4,8,16 --bytes 1M --chart growth.svg       how time grows, drawn",
      "  collectives perf --start-up                                           from JVM start to the first sum, and to steady sums",
      "  collectives perf --format tsv --wait-near > figures.tsv               for a program to read",
      "",
      "Exit status: 0 all went well; 1 a rank failed or --check found wrong elements; 2 wrong usage."
    })
final class Perf implements Callable<Integer> {
  private static final int ATTEMPTS = 3;

  /**
   * Larger payloads are not repeated to warm up: they need more time, and compile nothing that
   * smaller ones do not.
   */
  private static final long WARM_UP_BYTES = 16 << 20;

  @Spec private CommandSpec spec;

  @Option(
      names = {"-n", "--ranks"},
      split = ",",
      defaultValue = "2",
      paramLabel = "N,...",
      hideParamSyntax = true,
      description = "How many ranks, from 1 to 256. Default: ${DEFAULT-VALUE}.")
  private List<Integer> rankCounts = List.of();

  @Option(
      names = "--workers",
      split = ",",
      paramLabel = "N,...",
      hideParamSyntax = true,
      description =
          "Instead of --ranks: how many ranks bring payloads. The dedicated servers of an "
              + "algorithm are ranks besides, so that it can be compared with those that have "
              + "none.")
  private List<Integer> workerCounts = List.of();

  @Option(
      names = "--placement",
      paramLabel = "PLACEMENT",
      description =
          "Where they run: ${COMPLETION-CANDIDATES}. Default: processes, or threads with --transport inprocess.")
  private Optional<Placement> wantedPlacement = Optional.empty();

  @Option(
      names = "--transport",
      paramLabel = "TRANSPORT",
      description =
          "How they talk: ${COMPLETION-CANDIDATES}. auto takes for each pair of ranks the fastest that reaches from one to the other. Default: auto for processes, inprocess for threads.")
  private Optional<Transport> wantedTransport = Optional.empty();

  @Mixin private final LinkOptions links = new LinkOptions();

  @Option(
      names = "--collective",
      split = ",",
      defaultValue = "all-reduce",
      paramLabel = "COLLECTIVE,...",
      hideParamSyntax = true,
      description =
          "What is measured: ${COMPLETION-CANDIDATES}. The root is rank 0. Default: ${DEFAULT-VALUE}.")
  private List<Collective> collectives = List.of();

  @Option(
      names = "--algorithm",
      split = ",",
      defaultValue = "auto",
      paramLabel = "ALGORITHM,...",
      hideParamSyntax = true,
      completionCandidates = AlgorithmChoice.Forms.class,
      description = "The route: ${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
  private List<AlgorithmChoice> algorithms = List.of();

  @Option(
      names = "--servers",
      paramLabel = "S",
      description = "How many of the ranks serve with --algorithm parameter-server. Default: half.")
  private Optional<Integer> servers = Optional.empty();

  @Option(
      names = "--dedicated",
      description =
          "The servers of --servers are the last ranks and do nothing else; the others work. "
              + "Without, they are the first ranks and work, too.")
  private boolean dedicated;

  @Option(
      names = "--proxies",
      defaultValue = "1",
      paramLabel = "P",
      description =
          "Of how many ranks, its proxies, each server of --dedicated is made; so S*P ranks only serve. Default: ${DEFAULT-VALUE}.")
  private int proxies;

  @Option(
      names = "--proxies-in",
      defaultValue = "processes",
      paramLabel = "PLACEMENT",
      description =
          "Whether the proxies of a server are ${COMPLETION-CANDIDATES} (of one process), with --placement processes. Default: ${DEFAULT-VALUE}.")
  private Placement proxiesIn = Placement.PROCESSES;

  @Option(
      names = "--workers-per-host",
      defaultValue = "1",
      paramLabel = "G",
      description =
          "With --servers: so many workers are taken to be on one host, and reduce among "
              + "themselves first. With this or --proxies, each process is told its host "
              + "(COLLECTIVES_HOST), so that --transport auto takes TCP between hosts. Default: "
              + "${DEFAULT-VALUE}.")
  private int workersPerHost;

  @Option(
      names = "--type",
      split = ",",
      defaultValue = "float32",
      paramLabel = "TYPE,...",
      hideParamSyntax = true,
      description = "Of the elements: ${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
  private List<ElementType> types = List.of();

  @Option(
      names = "--op",
      split = ",",
      defaultValue = "sum",
      paramLabel = "OP,...",
      hideParamSyntax = true,
      description = "How they are reduced: ${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
  private List<ReduceOp.Standard> ops = List.of();

  @Option(
      names = "--bytes",
      split = ",",
      defaultValue = "8,1K,64K,1M,16M,100M",
      paramLabel = "BYTES,...",
      hideParamSyntax = true,
      description =
          "The length of each rank's payload; K, M and G are powers of 1024. Default: ${DEFAULT-VALUE}.")
  private List<ByteSize> sizes = List.of();

  @Mixin private TensorOptions tensors = new TensorOptions();

  @Mixin private MeshOptions mesh = new MeshOptions();

  @Option(
      names = "--memory",
      defaultValue = "array",
      paramLabel = "MEMORY",
      description = "Where the payload lies: ${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
  private Memory memory = Memory.ARRAY;

  @Option(names = "--out-of-place", description = "The result goes into memory of its own.")
  private boolean outOfPlace;

  @Option(
      names = "--persistent",
      description =
          "Measure each case by a persistent call, too, which is prepared once; of --tensors those in one call.")
  private boolean persistent;

  @Option(
      names = "--check",
      description = "Compare every element of the first and the last result with the exact one.")
  private boolean check;

  @Option(
      names = "--iterations",
      defaultValue = "0",
      paramLabel = "N",
      description =
          "How many are timed for each case; 0 for as many as --min-time takes, at least 9. Default: ${DEFAULT-VALUE}.")
  private int iterations;

  @Option(
      names = "--min-time",
      defaultValue = "0.5",
      paramLabel = "SECONDS",
      description =
          "How long the timed iterations of a case take together. Default: ${DEFAULT-VALUE}.")
  private double minSeconds;

  @Option(
      names = "--rounds",
      defaultValue = "1",
      paramLabel = "R",
      description =
          "How often each case is measured, from 1 to 1000: all cases of a job, then all of them "
              + "again. Default: ${DEFAULT-VALUE}.")
  private int rounds;

  @Option(
      names = "--warmup",
      defaultValue = "3",
      paramLabel = "SECONDS",
      description =
          "How long each algorithm, type and op runs before the first case of its job, for the "
              + "JIT compiler. Default: ${DEFAULT-VALUE}.")
  private double warmUpSeconds;

  @Mixin private CoreWait cores = new CoreWait();

  @Mixin private Calls calls = new Calls();

  @Option(
      names = "--seed",
      defaultValue = "1",
      paramLabel = "N",
      description = "Of the values. Default: ${DEFAULT-VALUE}.")
  private long seed;

  @Mixin private StartUpOptions startUp = new StartUpOptions();

  @Option(
      names = "--tune-table",
      paramLabel = "FILE",
      description =
          "Write the fastest algorithm for each payload as a table that auto reads: COLLECTIVES_AUTO=@FILE.")
  private Optional<Path> tuneTable = Optional.empty();

  @Option(
      names = "--chart",
      paramLabel = "FILE",
      description =
          "Draw the medians too, over the ranks if there are several numbers of them and one "
              + "size, else over the bytes; FILE ends with .png or .svg.")
  private Optional<Path> chart = Optional.empty();

  @Mixin private FormatOption format;

  @Mixin private HelpOption help;

  @Override
  public Integer call() throws Exception {
    mesh.check(spec);
    Placement placement = placement();
    Transport transport = transport(placement);
    CallSettings settings = calls.checked(spec);
    List<List<PerfCase>> jobs = counts().stream().map(this::cases).toList();
    Usage.requireChart(chart, spec);
    startUp.check(spec);
    if (mesh.areWanted()) {
      return new PerfMesh(spec, mesh, onMesh(settings)).run(jobs);
    }
    if (startUp.isWanted()) {
      Usage.require(
          wantedTransport.orElse(Transport.AUTO) != Transport.INPROCESS
              && placement == Placement.PROCESSES,
          spec,
          "--start-up is of processes; --placement threads and --transport inprocess have none");
      Usage.require(
          links.rate().isEmpty() && workerCounts.isEmpty(),
          spec,
          "--start-up is of --ranks on this host, without --link-bandwidth and --workers");
      startUp
          .measured(spec, rankCounts, wantedTransport)
          .print(format.wanted(), spec.commandLine().getOut());
      return 0;
    }
    if (links.rate().isPresent()) {
      Optional<String> whyNot = Network.whyNoRates();
      if (whyNot.isPresent()) {
        throw new IOException("--link-bandwidth: " + whyNot.get());
      }
    }
    Chart picture = new Chart(belowPicture(), Chart.TIME);
    long wrong = 0;
    String via = transport.toString();
    try (Progress progress = new Progress(spec.commandLine().getErr())) {
      CoreProbe probe = new CoreProbe();
      probe.warmUp();
      PerfPrinter printer = new PerfPrinter(format.wanted(), spec.commandLine().getOut());
      PerfBaselines baselines = new PerfBaselines();
      PerfBest best = new PerfBest();
      printer.start(jobs, links.rate(), algorithms.size() > 1 || tensors.areSeveral(), rounds);
      progress.expect(jobs.stream().mapToDouble(this::seconds).sum());
      for (List<PerfCase> cases : jobs) {
        int ranks = cases.stream().mapToInt(PerfCase::ranks).max().orElseThrow();
        progress.step("starting " + ranks + " " + placement);
        try (Hosts network = network(ranks);
            Ranks job =
                network != null
                    ? ProcessRanks.start(
                        network, seating(ranks), rankCommand(calls.arguments()), System.err)
                    : start(seating(ranks), placement, transport, settings, calls.arguments())) {
          progress.clear();
          via = via(transport, job);
          warmUp(job, cases, placement, progress);
          List<List<PerfRow>> lines = new ArrayList<>();
          cases.forEach(work -> lines.add(new ArrayList<>()));
          for (int round = 1; round <= rounds; round++) {
            for (int i = 0; i < cases.size(); i++) {
              PerfCase work = cases.get(i);
              progress.step(step(cases, i, placement, round));
              PerfRow row =
                  baselines.compared(measure(job, work, round, probe, placement, via, progress));
              progress.done(minSeconds);
              progress.clear();
              printer.row(row);
              lines.get(i).add(row);
              if (round == rounds) {
                PerfLine line = new PerfLine(lines.get(i));
                printer.line(line);
                best.add(where(transport, job), line);
                draw(picture, line);
                wrong += Math.max(0, line.wrong());
              }
            }
          }
        }
      }
      String provenance =
          Provenance.line()
              + "; "
              + placement
              + " over "
              + via
              + links()
              + ", "
              + settings(settings);
      printer.end(best.rows(), provenance);
      if (tuneTable.isPresent()) {
        best.write(tuneTable.get(), provenance);
      }
    }
    if (chart.isPresent()) {
      picture.write(title(), where(placement, via), chart.get());
    }
    if (wrong > 0) {
      spec.commandLine()
          .getErr()
          .println("collectives perf: " + Units.grouped(wrong) + " elements are wrong");
      return ExitStatus.FAILED;
    }
    return 0;
  }

  /** The word for it in tables of algorithms. */
  private static String where(Transport transport, Ranks job) {
    if (transport == Transport.INPROCESS) {
      return "threads";
    }
    List<String> names = job.transports();
    return names.size() > 1 ? "hosts" : names.contains("shm") ? "shared-memory" : "sockets";
  }

  /** Returns the numbers of ranks of the jobs, or of workers if {@code --workers} is given. */
  private List<Integer> counts() {
    return mesh.areWanted()
        ? mesh.groupSizes()
        : workerCounts.isEmpty() ? rankCounts : workerCounts;
  }

  private boolean overRanks() {
    return counts().size() > 1 && sizes.size() == 1;
  }

  private Chart.Axis belowPicture() {
    Chart.Axis workers = new Chart.Axis("workers", Scale.Unit.COUNT);
    return !overRanks() ? Chart.BYTES : workerCounts.isEmpty() ? Chart.RANKS : workers;
  }

  private String title() {
    return Chart.title(
        collectives.stream().map(Collective::toString).collect(Collectors.joining(", "))
            + (overRanks() ? " of " + sizes.get(0) : "")
            + " of "
            + types.stream().map(ElementType::toString).collect(Collectors.joining(", ")),
        belowPicture());
  }

  private String where(Placement placement, String via) {
    String how = placement + " over " + via + links();
    String rounded = rounds > 1 ? "; medians of " + rounds + " rounds" : "";
    return (counts().size() == 1 ? counts().get(0) + " " : "")
        + how
        + rounded
        + "; "
        + Provenance.brief();
  }

  /** About how long a job takes, which tells how far it is. */
  private double seconds(List<PerfCase> cases) {
    long codes =
        IntStream.range(0, cases.size())
            .filter(i -> cases.subList(0, i).stream().noneMatch(one -> sameCode(one, cases.get(i))))
            .count();
    return codes * warmUpSeconds + rounds * cases.size() * minSeconds;
  }

  private String links() {
    return links.rate().map(rate -> " with links of " + rate).orElse("");
  }

  /** Returns the line of progress that says which case is measured now. */
  private String step(List<PerfCase> cases, int at, Placement placement, int round) {
    PerfCase work = cases.get(at);
    return work.ranks()
        + " "
        + placement
        + (rounds > 1 ? ", round " + round + " of " + rounds : "")
        + ", case "
        + (at + 1)
        + " of "
        + cases.size()
        + ": "
        + work.title()
        + ", "
        + work.algorithm()
        + ", "
        + new ByteSize(work.bytes());
  }

  /** A line for everything that differs between cases but what it is drawn over. */
  private void draw(Chart picture, PerfLine line) {
    PerfCase work = line.work();
    List<String> name = new ArrayList<>();
    name.add(work.algorithm().toString());
    if (collectives.size() > 1 || tensors.areSeveral() || persistent) {
      name.add(work.title());
    }
    if (types.size() > 1) {
      name.add(work.operand().type().toString());
    }
    if (ops.size() > 1 && work.reduces()) {
      name.add(work.operand().op().toString());
    }
    if (counts().size() > 1 && !overRanks()) {
      name.add(workerCounts.isEmpty() ? work.ranks() + " ranks" : work.contributors() + " workers");
    }
    picture.point(
        String.join(", ", name),
        !overRanks() ? work.bytes() : workerCounts.isEmpty() ? work.ranks() : work.contributors(),
        line.time().median());
  }

  private PerfMesh.Manner onMesh(CallSettings settings) {
    return new PerfMesh.Manner(
        rounds, warmUpSeconds, settings.frameLength(), calls.arguments(), format.wanted(), chart);
  }

  private String settings(CallSettings settings) {
    return (settings.frameLength() == CallSettings.AUTO
            ? ""
            : "frames of " + new ByteSize(settings.frameLength()) + ", ")
        + settings.slabsInFlight()
        + " slabs in flight, "
        + (settings.wireType() == WireType.AS_IN_MEMORY ? "" : settings.wireType() + " wire, ")
        + (settings.repeatability() == Repeatability.FASTEST
            ? ""
            : settings.repeatability() + " sums, ")
        + (settings.finiteCheck() ? "finite check, " : "")
        + memory
        + " memory, "
        + (outOfPlace ? "out of place" : "in place")
        + (rounds > 1 ? ", medians of " + rounds + " rounds" : "")
        + ", warm-up "
        + warmUpSeconds
        + " s, seed "
        + seed;
  }

  private Placement placement() {
    String option = workerCounts.isEmpty() ? "--ranks " : "--workers ";
    for (int count : counts()) {
      Usage.require(count >= 1 && count <= 256, spec, option + count + ": must be from 1 to 256");
    }
    return placement(wantedPlacement, wantedTransport);
  }

  private Transport transport(Placement placement) {
    links.check(spec);
    if (links.rate().isPresent()) {
      Usage.require(
          placement == Placement.PROCESSES
              && wantedTransport.orElse(Transport.TCP) == Transport.TCP,
          spec,
          "--link-bandwidth: each rank is a process on a host of its own, and they talk by TCP; "
              + "leave out --placement and --transport");
      Usage.require(
          proxies == 1 && workersPerHost == 1
              || links.areShared() && proxiesIn == Placement.PROCESSES,
          spec,
          "--link-bandwidth: each rank is a process on a host of its own; leave out --proxies and "
              + "--workers-per-host, or give --endpoint-bandwidth, without --proxies-in");
      return Transport.TCP;
    }
    return transport(wantedTransport, placement, spec);
  }

  /** Returns the wanted placement, or the default for the wanted transport. */
  static Placement placement(
      Optional<Placement> wantedPlacement, Optional<Transport> wantedTransport) {
    return wantedPlacement.orElse(
        wantedTransport.equals(Optional.of(Transport.INPROCESS))
            ? Placement.THREADS
            : Placement.PROCESSES);
  }

  /** Returns the wanted transport, or the default for the placement. */
  static Transport transport(
      Optional<Transport> wantedTransport, Placement placement, CommandSpec spec) {
    Transport transport =
        wantedTransport.orElse(
            placement == Placement.PROCESSES ? Transport.AUTO : Transport.INPROCESS);
    Usage.require(
        transport != Transport.INPROCESS || placement != Placement.PROCESSES,
        spec,
        "--transport inprocess with --placement processes: ranks in different processes share no "
            + "memory; use --placement threads, or --transport auto, shm, unix or tcp");
    return transport;
  }

  /**
   * Checks the options and returns the cases that are measured in one job.
   *
   * @param ranksOrWorkers the number of ranks or of workers, as {@link #counts} says
   */
  private List<PerfCase> cases(int ranksOrWorkers) {
    tensors.check(spec);
    Usage.require(
        !tensors.areWanted()
            || collectives.equals(List.of(Collective.ALL_REDUCE))
                && types.equals(List.of(ElementType.FLOAT32))
                && memory == Memory.ARRAY
                && !outOfPlace
                && Set.of(ReduceOp.SUM, ReduceOp.AVERAGE).containsAll(ops),
        spec,
        "--tensors: gradients are all-reduced in place in float32 arrays, by --op sum or average");
    Usage.require(
        !outOfPlace || collectives.equals(List.of(Collective.ALL_REDUCE)),
        spec,
        "--out-of-place with --collective "
            + collectives
            + ": it is for all-reduce only; a broadcast is in place, all others are not");
    Usage.require(
        !calls.finiteCheck
            || outOfPlace
            || !collectives.contains(Collective.ALL_REDUCE)
            || Set.of(ReduceOp.AVERAGE, ReduceOp.MIN, ReduceOp.MAX).containsAll(ops),
        spec,
        "--finite-check in place by --op "
            + ops
            + ": results of results overflow; take --op average or --out-of-place");
    Usage.require(
        iterations >= 0 && iterations <= 10_000_000,
        spec,
        "--iterations " + iterations + ": must be from 0 to 10000000");
    Usage.require(
        calls.repeatability != Repeatability.EXACT || !ops.contains(ReduceOp.PRODUCT),
        spec,
        "--repeatability exact with --op product: it is for sums and averages");
    Usage.require(
        rounds >= 1 && rounds <= 1_000, spec, "--rounds " + rounds + ": must be from 1 to 1000");
    Usage.requireSeconds(minSeconds, spec, "--min-time");
    Usage.requireSeconds(warmUpSeconds, spec, "--warmup");
    cores.check(spec);
    Usage.require(
        servers.isEmpty() ? !dedicated : algorithms.contains(AlgorithmChoice.SERVERS_LEFT_OPEN),
        spec,
        "--servers goes with --algorithm parameter-server, and --dedicated with --servers");
    Usage.require(
        proxies == 1 || proxies > 1 && dedicated,
        spec,
        "--proxies " + proxies + ": must be at least 1, and goes with --servers and --dedicated");
    Usage.require(
        proxiesIn == Placement.PROCESSES || proxies > 1 && placement() == Placement.PROCESSES,
        spec,
        "--proxies-in threads goes with --proxies and --placement processes");
    Usage.require(
        workersPerHost == 1 || workersPerHost > 1 && servers.isPresent(),
        spec,
        "--workers-per-host " + workersPerHost + ": must be at least 1, and goes with --servers");
    List<PerfCase> cases = new ArrayList<>();
    List<Algorithm> allAlgorithms = new ArrayList<>();
    for (AlgorithmChoice wanted : algorithms) {
      AlgorithmChoice choice =
          servers
              .map(number -> wanted.withServers(number, dedicated, proxies, workersPerHost))
              .orElse(wanted);
      int ranks = workerCounts.isEmpty() ? ranksOrWorkers : choice.ranks(ranksOrWorkers);
      Algorithm algorithm = algorithm(choice, ranks);
      allAlgorithms.add(algorithm);
      for (Collective collective : collectives) {
        for (ElementType type : types) {
          for (ReduceOp.Standard op : ops) {
            for (ModelTensors model : tensors.of(algorithm)) {
              int count = Math.toIntExact(model.elements());
              Optional<ModelTensors> some = Optional.of(model);
              PerfCase work = newCase(collective, ranks, choice, type, op, count, some);
              cases.add(work);
              if (persistent && model.way() == ModelTensors.Way.ONE) {
                cases.add(work.asPersistent());
              }
            }
            for (ByteSize size : tensors.areWanted() ? List.<ByteSize>of() : sizes) {
              int count = count(size, type);
              PerfCase work = newCase(collective, ranks, choice, type, op, count, Optional.empty());
              boolean opMatters = work.reduces() || op == ops.get(0);
              boolean sizeMatters = collective != Collective.BARRIER || size == sizes.get(0);
              if (opMatters && sizeMatters) {
                cases.add(work);
                if (persistent) {
                  cases.add(work.asPersistent());
                }
              }
            }
          }
        }
      }
    }
    tensors.checkWays(spec, allAlgorithms);
    return cases;
  }

  private Algorithm algorithm(AlgorithmChoice choice, int ranks) {
    Usage.require(ranks <= 256, spec, "--workers with servers: " + ranks + " ranks: at most 256");
    Algorithm algorithm;
    @Nullable Plan plan = null;
    try {
      algorithm = choice.forRanks(ranks);
      if (!(algorithm instanceof Algorithm.Auto)) {
        plan = new PlanChoice(choice.text()).plan(Size.of(ranks));
      }
    } catch (IllegalArgumentException e) {
      throw Usage.error(spec, "--algorithm: " + e.getMessage());
    }
    Usage.require(
        !calls.repeatability.needsAllAtOnce()
            || plan == null
            || ranks <= 2
            || Additions.areAtOnce(plan),
        spec,
        "--repeatability "
            + calls.repeatability
            + " with --algorithm "
            + choice
            + ": it passes on partial sums; use auto, exchange, direct or parameter-server");
    return algorithm;
  }

  private @Nullable Hosts network(int ranks) throws IOException {
    if (links.rate().isEmpty()) {
      return null;
    }
    List<Integer> hosts =
        ParameterServer.hosts(ranks - dedicatedRanks(), workersPerHost, dedicatedRanks(), proxies);
    return links.hosts(ranks, Seating.numbered(hosts));
  }

  private int dedicatedRanks() {
    return dedicated ? servers.orElseThrow() * proxies : 0;
  }

  /** Returns which ranks share a host or a process. */
  private Seating seating(int ranks) {
    return proxies == 1 && workersPerHost == 1
        ? Seating.alone(ranks)
        : Seating.onHosts(
            ranks, workersPerHost, dedicatedRanks(), proxies, proxiesIn == Placement.THREADS);
  }

  private PerfCase newCase(
      Collective collective,
      int ranks,
      AlgorithmChoice algorithm,
      ElementType type,
      ReduceOp.Standard op,
      int count,
      Optional<ModelTensors> model) {
    return new PerfCase(
        collective,
        ranks,
        algorithm,
        new PerfCase.Operand(type, op, count, seed, model),
        new PerfCase.Buffers(memory, outOfPlace),
        false,
        new PerfCase.Method(
            iterations, (long) (minSeconds * 1e9), check, links.rate().isPresent()));
  }

  private int count(ByteSize size, ElementType type) {
    long bytes = size.bytes();
    Usage.require(
        bytes > 0 && bytes % type.bytes() == 0,
        spec,
        "--bytes "
            + bytes
            + ": must be a multiple of "
            + type.bytes()
            + " (one "
            + type
            + ") and more than 0");
    Usage.require(bytes < 1L << 31, spec, "--bytes " + bytes + ": must be less than 2G");
    return (int) (bytes / type.bytes());
  }

  /** Returns the transport with those that {@code auto} took, for example "auto (shm)". */
  private static String via(Transport transport, Ranks job) {
    return transport == Transport.AUTO
        ? transport + " (" + String.join("+", job.transports()) + ")"
        : transport.toString();
  }

  /**
   * Starts a job.
   *
   * @param rankArguments arguments of this program that make it a rank in a process of its own
   */
  static Ranks start(
      int ranks,
      Placement placement,
      Transport transport,
      CallSettings settings,
      List<String> rankArguments)
      throws IOException {
    return start(Seating.alone(ranks), placement, transport, settings, rankArguments);
  }

  private static Ranks start(
      Seating seating,
      Placement placement,
      Transport transport,
      CallSettings settings,
      List<String> rankArguments)
      throws IOException {
    int ranks = seating.ranks();
    if (placement == Placement.PROCESSES) {
      return ProcessRanks.start(
          seating, transport.toString(), rankCommand(rankArguments), System.err);
    }
    return transport == Transport.INPROCESS
        ? ThreadRanks.inProcess(ranks, settings)
        : ThreadRanks.joined(ranks, transport.toString(), settings, FreePort.find());
  }

  private static List<String> rankCommand(List<String> arguments) {
    return JavaCommand.of(List.of(), arguments);
  }

  private static boolean sameCode(PerfCase one, PerfCase other) {
    return one.collective() == other.collective()
        && one.algorithm().equals(other.algorithm())
        && one.operand().type() == other.operand().type()
        && one.operand().op() == other.operand().op()
        && one.operand().tensors().equals(other.operand().tensors());
  }

  /** Every algorithm, type and op once, before anything is measured. */
  private void warmUp(Ranks job, List<PerfCase> cases, Placement placement, Progress progress)
      throws Exception {
    for (int i = 0; i < cases.size(); i++) {
      PerfCase work = cases.get(i);
      if (cases.subList(0, i).stream().noneMatch(earlier -> sameCode(earlier, work))) {
        progress.step(
            String.format(
                Locale.ROOT,
                "%d %s, %s, %s, %s: warming up for %.1f s",
                work.ranks(),
                placement,
                work.title(),
                work.algorithm(),
                work.operand().op(),
                warmUpSeconds));
        warmUp(job, cases.stream().filter(other -> sameCode(work, other)).toList());
        progress.done(warmUpSeconds);
      }
    }
  }

  private void warmUp(Ranks job, List<PerfCase> cases) throws Exception {
    List<PerfCase> small = cases.stream().filter(work -> work.bytes() <= WARM_UP_BYTES).toList();
    List<PerfCase> chosen = small.isEmpty() ? cases.subList(0, 1) : small;
    job.warmUp(chosen, (long) (warmUpSeconds * 1e9));
  }

  private PerfRow measure(
      Ranks job,
      PerfCase work,
      int round,
      CoreProbe probe,
      Placement placement,
      String via,
      Progress progress)
      throws Exception {
    CaseResult result;
    double before;
    double after;
    int attempt = 0;
    do {
      before = cores.await(probe, spec, progress);
      result = job.measure(work);
      after = probe.nanos();
    } while (links.rate().isEmpty()
        && CoreDistance.of(before) != CoreDistance.of(after)
        && ++attempt < ATTEMPTS);
    return new PerfRow(
        new PerfRow.Setting(work.algorithm().label(work.ranks()), via, placement, calls.wireType),
        work,
        result,
        (before + after) / 2,
        CoreDistance.of(before, after),
        round,
        Optional.empty());
  }

  /** The options that the command passes on to its workers. */
  static final class Calls {
    @Option(
        names = "--frame-length",
        paramLabel = "BYTES",
        description =
            "The most bytes that a frame carries. Default: 512K between threads, else 128K where"
                + " all ranks share memory, else 196288, three segments of TCP on a loopback"
                + " interface.")
    private Optional<ByteSize> frameLength = Optional.empty();

    @Option(
        names = "--slabs-in-flight",
        paramLabel = "N",
        description =
            "How many slabs may be under way at once, shared by the buffers of --way. Default: 2.")
    private Optional<Integer> slabsInFlight = Optional.empty();

    @Option(
        names = "--wire-type",
        defaultValue = "as-in-memory",
        paramLabel = "TYPE",
        description =
            "As what float32 elements of reductions cross the links: ${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
    private WireType wireType = WireType.AS_IN_MEMORY;

    @Option(
        names = "--repeatability",
        defaultValue = "fastest",
        paramLabel = "LEVEL",
        description =
            "What the bits of floating-point sums may depend on: ${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
    private Repeatability repeatability = Repeatability.FASTEST;

    @Option(
        names = "--finite-check",
        description =
            "Reductions look for numbers that are not finite; with --op average or --out-of-place.")
    private boolean finiteCheck;

    CallSettings checked(CommandSpec spec) {
      try {
        CallSettings settings =
            CallSettings.defaults()
                .withWireType(wireType)
                .withRepeatability(repeatability)
                .withFiniteCheck(finiteCheck)
                .withAlgorithm(auto());
        if (frameLength.isPresent()) {
          settings = settings.withFrameLength(Math.toIntExact(frameLength.get().bytes()));
        }
        return slabsInFlight.isPresent()
            ? settings.withSlabsInFlight(slabsInFlight.get())
            : settings;
      } catch (ArithmeticException e) {
        throw Usage.error(spec, "--frame-length: must be from 64 bytes to 64 MiB");
      } catch (IllegalArgumentException e) {
        throw Usage.error(spec, e.getMessage());
      }
    }

    /** Returns the algorithm by the rows of {@code COLLECTIVES_AUTO}, for threads as well. */
    private static Algorithm auto() {
      String rows = System.getenv().getOrDefault("COLLECTIVES_AUTO", "");
      return Collectives.settings(
              Map.of(
                  "RANK",
                  "0",
                  "WORLD_SIZE",
                  "1",
                  "COLLECTIVES_RENDEZVOUS",
                  "tcp://localhost:1",
                  "COLLECTIVES_AUTO",
                  rows))
          .calls()
          .algorithm();
    }

    private List<String> arguments() {
      List<String> arguments = new ArrayList<>();
      arguments.add("perf-rank");
      frameLength.ifPresent(length -> arguments.add("--frame-length=" + length.bytes()));
      arguments.add("--wire-type=" + wireType);
      arguments.add("--repeatability=" + repeatability);
      if (finiteCheck) {
        arguments.add("--finite-check");
      }
      slabsInFlight.ifPresent(slabs -> arguments.add("--slabs-in-flight=" + slabs));
      return arguments;
    }
  }

  /** A rank in a process of its own. */
  @Command(name = "perf-rank", hidden = true, description = "What perf starts.")
  static final class Rank implements Callable<Integer> {
    @Spec private CommandSpec spec;

    @Mixin private Calls calls = new Calls();

    @Option(names = "--threads", defaultValue = "1", description = "How many ranks run here.")
    private int threads;

    @Override
    public Integer call() throws InterruptedException {
      ProcessRanks.serve(
          System.getenv(), threads, calls.checked(spec), ParentLines.read(System.in), System.out);
      return 0;
    }
  }
}
