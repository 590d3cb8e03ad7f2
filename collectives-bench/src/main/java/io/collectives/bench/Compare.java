package io.collectives.bench;

import io.collectives.CallSettings;
import io.collectives.Collective;
import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.bench.compare.Medium;
import io.collectives.bench.compare.MissingPeerException;
import io.collectives.bench.compare.PairedTimes;
import io.collectives.bench.compare.Peer;
import io.collectives.bench.compare.PeerBuild;
import io.collectives.bench.perf.AlgorithmChoice;
import io.collectives.bench.perf.CaseResult;
import io.collectives.bench.perf.CoreDistance;
import io.collectives.bench.perf.CoreProbe;
import io.collectives.bench.perf.Memory;
import io.collectives.bench.perf.PerfCase;
import io.collectives.bench.perf.Ranks;
import io.collectives.bench.report.ByteSize;
import io.collectives.bench.report.Chart;
import io.collectives.bench.report.Fields;
import io.collectives.bench.report.Progress;
import io.collectives.bench.report.Provenance;
import io.collectives.bench.report.Units;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * {@code collectives compare}: what other libraries take for the same sums.
 *
 * <p>One class because most of it is options, which picocli binds to the fields of one object, and
 * checks that compare these options with each other.
 */
@Command(
    name = "compare",
    customSynopsis = "collectives compare [OPTION...]",
    descriptionHeading = "%n",
    optionListHeading = "%nOptions:%n",
    footerHeading = "%nExamples:%n",
    description = {
      "Measure what a Java user could take instead, on this machine: collectives of float32, reductions by sum.",
      "",
      "Each round measures this library and right after it the peer; the ratio is the peer's time "
          + "over ours, so that above 1 this library is faster. It is the median of the rounds' "
          + "ratios, beside the least and the greatest. Times are taken as perf takes them: that "
          + "of the slowest rank after a barrier; the median counts; the first result is checked. "
          + "Of a peer with several algorithms the one with the least median counts, and is named; "
          + "one that took more than twice as long in two rounds is not measured again.",
      "",
      "As in perf bytes are those of the whole payload: what goes into an all-reduce or "
          + "reduce-scatter, what comes out of an all-gather. All-reduces and broadcasts are in "
          + "place, the others are not, both ours and the peer's.",
      "",
      "Of openmpi every collective is measured; of gloo no reduce-scatter, because its own is "
          + "wrong now and then; of the others all-reduce only. Over shm and auto, and with "
          + "--placement threads, the peers are those that share memory: openmpi (its processes) "
          + "and spark (threads); over tcp and unix all peers, over TCP on the loopback "
          + "interface. What cannot be had is named, and the others go on. Java libraries are "
          + "resolved with Maven when they are wanted (of PyTorch and Spark some hundred MB "
          + "each). rabit gives the result in a new array. spark gives it to the driver only, "
          + "which is less work than an all-reduce.",
      "",
      "c-shm is no library: it is a C program that sums in memory that its processes share, with "
          + "nothing around it, and tells what the machine could do. It is measured if it is "
          + "asked for."
    },
    footer = {
      "  collectives compare --peers openmpi,gloo --install   what is installed first, as root, with apt-get",
      "  collectives compare --transport shm --ranks 2,4      peers that share memory",
      "  collectives compare --transport shm --memory communicator",
      "                                                       the same, our payload where every rank reaches it",
      "  collectives compare --transport shm --peers c-shm    what a C program takes",
      "  collectives compare --collective broadcast           another collective",
      "  collectives compare --bytes 1K,32K,1M --chart a.svg  and a picture",
      "",
      "Exit status: 0 something was compared and all was right; 1 a result was wrong or nothing compared; 2 wrong usage."
    })
final class Compare implements Callable<Integer> {
  private static final int ATTEMPTS = 3;
  private static final long SEED = 1;
  private static final List<Collective> COMPARED =
      List.of(
          Collective.ALL_REDUCE,
          Collective.REDUCE_SCATTER,
          Collective.ALL_GATHER,
          Collective.BROADCAST);

  @Spec private CommandSpec spec;

  @Option(
      names = {"-n", "--ranks"},
      split = ",",
      defaultValue = "2",
      paramLabel = "N,...",
      hideParamSyntax = true,
      description = "How many ranks, from 2 to 64. Default: ${DEFAULT-VALUE}.")
  private List<Integer> ranks = List.of();

  @Option(
      names = "--peers",
      split = ",",
      defaultValue = "openmpi,gloo,pytorch-gloo,rabit,spark",
      paramLabel = "PEER,...",
      hideParamSyntax = true,
      description = "With what: ${COMPLETION-CANDIDATES}. Default: all but c-shm.")
  private List<Peer> peers = List.of();

  @Option(
      names = "--transport",
      paramLabel = "TRANSPORT",
      description =
          "How our ranks talk: ${COMPLETION-CANDIDATES}. Default: tcp for processes, inprocess for threads.")
  private Optional<Transport> wantedTransport = Optional.empty();

  @Option(
      names = "--placement",
      paramLabel = "PLACEMENT",
      description =
          "Where our ranks run: ${COMPLETION-CANDIDATES}. Default: processes, or threads with --transport inprocess.")
  private Optional<Placement> wantedPlacement = Optional.empty();

  @Option(
      names = "--collective",
      split = ",",
      defaultValue = "all-reduce",
      paramLabel = "COLLECTIVE,...",
      hideParamSyntax = true,
      description =
          "What is measured: all-reduce, reduce-scatter, all-gather, broadcast. The root is rank 0. Default: ${DEFAULT-VALUE}.")
  private List<Collective> collectives = List.of();

  @Option(
      names = "--algorithm",
      defaultValue = "auto",
      paramLabel = "ALGORITHM",
      completionCandidates = AlgorithmChoice.Forms.class,
      description = "Our route: ${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
  private AlgorithmChoice algorithm = new AlgorithmChoice("auto");

  @Option(
      names = "--bytes",
      split = ",",
      defaultValue = "8,64K,1M,16M",
      paramLabel = "BYTES,...",
      hideParamSyntax = true,
      description =
          "The length of each rank's payload, of --collective reduce-scatter and all-gather one "
              + "that can be distributed evenly to the ranks; K, M and G are powers of 1024. "
              + "Default: ${DEFAULT-VALUE}.")
  private List<ByteSize> sizes = List.of();

  @Option(
      names = "--memory",
      defaultValue = "array",
      paramLabel = "MEMORY",
      description = "Where our payload lies: ${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
  private Memory memory = Memory.ARRAY;

  @Option(
      names = "--rounds",
      defaultValue = "5",
      paramLabel = "N",
      description = "How often each pair is measured, from 1 to 1000. Default: ${DEFAULT-VALUE}.")
  private int rounds;

  @Option(
      names = "--min-time",
      defaultValue = "0.2",
      paramLabel = "SECONDS",
      description =
          "How long the timed iterations of a measurement take together. Default: ${DEFAULT-VALUE}.")
  private double minSeconds;

  @Option(
      names = "--warmup",
      defaultValue = "3",
      paramLabel = "SECONDS",
      description =
          "How long this library and each peer run before the first case of a collective; those in C run for 2 seconds at most. Default: ${DEFAULT-VALUE}.")
  private double warmUpSeconds;

  @Mixin private CoreWait cores = new CoreWait();

  @Option(
      names = "--limit",
      defaultValue = "120",
      paramLabel = "SECONDS",
      description =
          "How long a peer may take to start or to measure once before it is ended. Default: ${DEFAULT-VALUE}.")
  private double limitSeconds;

  @Option(
      names = "--install",
      description = "Install what openmpi, gloo and Maven need, with apt-get, which only root may.")
  private boolean install;

  @Option(
      names = "--directory",
      paramLabel = "DIRECTORY",
      description = "Where peers are built and kept. Default: 'peers' beside this program's jar.")
  private Optional<Path> directory = Optional.empty();

  @Option(
      names = "--chart",
      paramLabel = "FILE",
      description =
          "Draw the times over the bytes, or over the ranks if there is one size only; FILE ends with .png or .svg.")
  private Optional<Path> chart = Optional.empty();

  @Mixin private FormatOption format;

  @Mixin private HelpOption help;

  /** The place of our ranks: as the options say, or processes. */
  private Placement placement = Placement.PROCESSES;

  private Transport transport = Transport.TCP;

  private final List<Row> rows = new ArrayList<>();
  private final FigureTable table =
      new FigureTable(
          3,
          "peer",
          "its best",
          "collective",
          "ranks",
          "bytes",
          "ours",
          "peer's",
          "ratio",
          "least",
          "greatest",
          "core to core",
          "cores");
  private final CoreProbe probe = new CoreProbe();
  private boolean wrong;

  /** The figures of a peer for one case. */
  private record Row(
      Peer peer,
      String variant,
      PerfCase work,
      PairedTimes times,
      double coreToCoreNanos,
      CoreDistance cores) {}

  @Override
  public Integer call() throws Exception {
    placement = Perf.placement(wantedPlacement, wantedTransport);
    transport =
        placement == Placement.PROCESSES && wantedTransport.isEmpty()
            ? Transport.TCP // Which all peers have.
            : Perf.transport(wantedTransport, placement, spec);
    check();
    Medium medium =
        placement == Placement.PROCESSES
                && (transport == Transport.TCP || transport == Transport.UNIX)
            ? Medium.TCP
            : Medium.MEMORY;
    try (Progress progress = new Progress(spec.commandLine().getErr())) {
      PeerBuild build =
          new PeerBuild(
              directory.orElseGet(Compare::besideThisProgram),
              Optional.ofNullable(System.getenv("PATH")).orElse(""),
              install,
              progress::step);
      List<Peer> ready = prepare(build, medium, progress);
      if (!ready.isEmpty()) {
        probe.warmUp();
        // Each peer takes part in turn with this library: seconds, for two.
        double cases = 2 * minSeconds * rounds * sizes.size() * ready.size();
        double warmUps = warmUpSeconds * (1 + ready.size());
        progress.expect(ranks.size() * collectives.size() * (warmUps + cases));
        try (Peers peers =
            new Peers(build, medium, Duration.ofNanos((long) (limitSeconds * 1e9)), progress)) {
          for (int size : ranks) {
            compare(size, ready, peers, progress);
          }
          wrong |= peers.wereWrong();
        }
      }
    }
    if (rows.isEmpty()) {
      spec.commandLine().getErr().println("collectives compare: nothing was compared");
      return ExitStatus.FAILED;
    }
    print();
    if (chart.isPresent()) {
      draw(chart.get());
    }
    return wrong ? ExitStatus.FAILED : 0;
  }

  private void check() {
    for (Collective collective : collectives) {
      Usage.require(
          COMPARED.contains(collective),
          spec,
          "--collective "
              + collective
              + ": must be all-reduce, reduce-scatter, all-gather or broadcast");
    }
    for (int size : ranks) {
      Usage.require(size >= 2 && size <= 64, spec, "--ranks " + size + ": must be from 2 to 64");
      try {
        algorithm.forWorkers(size);
      } catch (IllegalArgumentException e) {
        throw Usage.error(spec, "--algorithm: " + e.getMessage());
      }
    }
    for (ByteSize size : sizes) {
      Usage.require(
          size.bytes() > 0 && size.bytes() % Float.BYTES == 0 && size.bytes() < 1L << 31,
          spec,
          "--bytes " + size.bytes() + ": must be a multiple of 4, more than 0 and less than 2G");
      collectives.forEach(collective -> ranks.forEach(n -> checkParts(collective, n, size)));
    }
    Usage.require(
        rounds >= 1 && rounds <= 1_000, spec, "--rounds " + rounds + ": must be from 1 to 1000");
    Usage.requireSeconds(minSeconds, spec, "--min-time");
    Usage.requireSeconds(warmUpSeconds, spec, "--warmup");
    cores.check(spec);
    Usage.requireSeconds(limitSeconds, spec, "--limit");
    Usage.requireChart(chart, spec);
    Usage.require(
        chart.isEmpty() || collectives.size() == 1,
        spec,
        "--chart with --collective "
            + collectives
            + ": a picture shows one collective; give one, and a file for each");
  }

  /** Peers deal a payload evenly or not at all. */
  private void checkParts(Collective collective, int parts, ByteSize size) {
    Usage.require(
        collective != Collective.REDUCE_SCATTER && collective != Collective.ALL_GATHER
            || size.bytes() % ((long) parts * Float.BYTES) == 0,
        spec,
        "--bytes "
            + size.bytes()
            + " with --collective "
            + collective
            + " and --ranks "
            + parts
            + ": must be a multiple of "
            + parts * Float.BYTES
            + ", so that each rank's part is as long as the others'");
  }

  /** The directory that Maven builds into, if this program is there. */
  private static Path besideThisProgram() {
    try {
      Path here =
          Path.of(Compare.class.getProtectionDomain().getCodeSource().getLocation().toURI());
      return here.resolveSibling("peers");
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }

  private List<Peer> prepare(PeerBuild build, Medium medium, Progress progress)
      throws InterruptedException {
    List<Peer> ready = new ArrayList<>();
    for (Peer peer : peers) {
      List<Collective> had =
          COMPARED.stream().filter(one -> !peer.variants(one, medium).isEmpty()).toList();
      if (had.isEmpty()) {
        without(
            progress,
            peer.toString(),
            medium == Medium.TCP
                ? "its ranks share memory; --transport shm has it"
                : "its ranks do not share memory; --transport tcp has it");
        continue;
      }
      for (Collective collective : collectives) {
        if (!had.contains(collective)) {
          without(
              progress,
              peer + " (" + collective + ")",
              "what is measured of it is "
                  + had.stream().map(Collective::toString).collect(Collectors.joining(", ")));
        }
      }
      if (collectives.stream().noneMatch(had::contains)) {
        continue;
      }
      try {
        peer.prepare(build);
        ready.add(peer);
      } catch (MissingPeerException | IOException e) {
        without(progress, peer.toString(), e.getMessage());
      }
    }
    return ready;
  }

  static void without(Progress progress, String what, String why) {
    progress.say("collectives compare: without " + what + ": " + why);
  }

  private void compare(int size, List<Peer> ready, Peers peers, Progress progress)
      throws Exception {
    progress.step("starting " + size + " " + placement);
    try (Ranks ours =
        Perf.start(size, placement, transport, CallSettings.defaults(), List.of("perf-rank"))) {
      for (Collective collective : collectives) {
        progress.step(size + " " + placement + ", " + collective + ": warming up");
        compare(ours, collective, size, ready, peers, progress);
      }
    }
  }

  /** Other variants take part in the next collective. */
  private void compare(
      Ranks ours, Collective collective, int size, List<Peer> ready, Peers peers, Progress progress)
      throws Exception {
    List<PerfCase> cases = sizes.stream().map(bytes -> work(collective, size, bytes)).toList();
    long warmUpNanos = (long) (warmUpSeconds * 1e9);
    ours.warmUp(cases, warmUpNanos);
    progress.done(warmUpSeconds);
    try {
      for (Peer peer : ready) {
        peers.enter(peer, collective, size, cases, warmUpNanos);
        progress.done(warmUpSeconds);
      }
      for (PerfCase work : cases) {
        for (Peer peer : ready) {
          rounds(ours, peer, peers, work, progress);
          progress.done(2 * minSeconds * rounds);
        }
      }
    } finally {
      peers.close();
    }
  }

  private PerfCase work(Collective collective, int ranks, ByteSize size) {
    return new PerfCase(
        collective,
        ranks,
        algorithm,
        new PerfCase.Operand(
            ElementType.FLOAT32,
            ReduceOp.SUM,
            (int) (size.bytes() / Float.BYTES),
            SEED,
            Optional.empty()),
        new PerfCase.Buffers(memory, false),
        false,
        new PerfCase.Method(0, (long) (minSeconds * 1e9), true, false));
  }

  /** All rounds of one peer for one case. */
  private void rounds(Ranks ours, Peer peer, Peers peers, PerfCase work, Progress progress)
      throws Exception {
    Map<String, PairedTimes> times = new LinkedHashMap<>();
    if (!peers.has(peer)) {
      return;
    }
    double nanos = 0;
    List<CoreDistance> distances = new ArrayList<>();
    for (int round = 1; round <= rounds; round++) {
      progress.step(
          work.ranks()
              + " ranks, "
              + work.collective()
              + ", "
              + new ByteSize(work.bytes())
              + ", "
              + peer
              + ": round "
              + round
              + " of "
              + rounds);
      Map<String, Long> measured;
      CaseResult mine;
      double before;
      double after;
      int attempt = 0;
      do {
        before = cores.await(probe, spec, progress);
        mine = ours.measure(work);
        measured = peers.measure(peer, work, beaten(times));
        after = probe.nanos();
      } while (CoreDistance.of(before) != CoreDistance.of(after) && ++attempt < ATTEMPTS);
      if (!isRight(mine, "this library, " + work.collective(), progress)) {
        wrong = true;
        return;
      }
      for (Map.Entry<String, Long> variant : measured.entrySet()) {
        times
            .computeIfAbsent(variant.getKey(), name -> new PairedTimes())
            .add(mine.times().medianNanos(), variant.getValue());
      }
      nanos += (before + after) / 2;
      distances.add(CoreDistance.of(before, after));
    }
    double coreToCore = nanos / rounds;
    times.entrySet().stream()
        .min(Comparator.comparingDouble(entry -> entry.getValue().theirs()))
        .ifPresent(
            best ->
                add(
                    new Row(
                        peer,
                        best.getKey(),
                        work,
                        best.getValue(),
                        coreToCore,
                        CoreDistance.of(distances)),
                    progress));
  }

  /** Variants that have taken more than twice as long as the best of them, in two rounds. */
  private static Set<String> beaten(Map<String, PairedTimes> times) {
    double best = times.values().stream().mapToDouble(PairedTimes::theirs).min().orElse(0);
    return times.entrySet().stream()
        .filter(variant -> variant.getValue().rounds() >= 2)
        .filter(variant -> variant.getValue().theirs() > 2 * best)
        .map(Map.Entry::getKey)
        .collect(Collectors.toSet());
  }

  /** Tells of a result that is wrong. */
  static boolean isRight(CaseResult result, String whose, Progress progress) {
    if (result.wrong() == 0) {
      return true;
    }
    progress.say(
        "collectives compare: " + whose + ": " + Units.grouped(result.wrong()) + " wrong elements");
    return false;
  }

  private void add(Row row, Progress progress) {
    rows.add(row);
    PairedTimes times = row.times();
    Object distance =
        Double.isNaN(row.coreToCoreNanos()) ? Fields.NONE : Math.round(row.coreToCoreNanos());
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("peer", row.peer());
    fields.put("variant", row.variant());
    fields.put("transport", transport);
    fields.put("placement", placement);
    fields.put("ranks", row.work().ranks());
    fields.put("bytes", row.work().bytes());
    fields.put("rounds", times.rounds());
    fields.put("ours_us", decimal(times.ours() / 1e3));
    fields.put("peer_us", decimal(times.theirs() / 1e3));
    fields.put("ratio", decimal(times.ratios().median()));
    fields.put("ratio_min", decimal(times.ratios().least()));
    fields.put("ratio_max", decimal(times.ratios().greatest()));
    fields.put("core_to_core_ns", distance);
    fields.put("collective", row.work().collective());
    fields.put("cores", row.cores());
    table.row(
        List.of(
            row.peer().toString(),
            row.variant(),
            row.work().collective().toString(),
            Integer.toString(row.work().ranks()),
            new ByteSize(row.work().bytes()).toString(),
            Units.time(times.ours()),
            Units.time(times.theirs()),
            Units.ratio(times.ratios().median(), 2),
            Units.ratio(times.ratios().least(), 2),
            Units.ratio(times.ratios().greatest(), 2),
            distance.equals(Fields.NONE) ? Fields.NONE : distance + " ns",
            row.cores().toString()),
        fields);
    progress.clear();
    table.printSoFar(format.wanted(), spec.commandLine().getOut());
  }

  private void print() {
    table.print(
        format.wanted(),
        spec.commandLine().getOut(),
        List.of(
            Provenance.line()
                + "; "
                + placement
                + " over "
                + transport
                + ", algorithm "
                + algorithm
                + ", "
                + rows.get(0).work().buffers().memory()
                + " memory; ratio: the peer's time over ours, median of "
                + rounds
                + " rounds"));
  }

  private static Object decimal(double value) {
    return Fields.decimal(value, 3);
  }

  private void draw(Path file) throws IOException {
    boolean overBytes = sizes.size() > 1;
    Chart picture = new Chart(overBytes ? Chart.BYTES : Chart.RANKS, Chart.TIME);
    for (Row row : rows) {
      String which = ranks.size() > 1 && overBytes ? ", " + row.work().ranks() + " ranks" : "";
      long at = overBytes ? row.work().bytes() : row.work().ranks();
      picture.point("collectives" + which, at, row.times().ours());
      picture.point(row.peer() + which, at, row.times().theirs());
    }
    picture.write(
        Chart.title(
            collectives.get(0)
                + (overBytes ? "" : " of " + sizes.get(0))
                + " of float32, this library beside others",
            overBytes ? Chart.BYTES : Chart.RANKS),
        (ranks.size() == 1 ? ranks.get(0) + " ranks; " : "")
            + "collectives: "
            + placement
            + " over "
            + transport
            + "; medians of "
            + rounds
            + " rounds; "
            + Provenance.brief(),
        file);
  }
}
