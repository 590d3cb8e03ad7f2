package io.collectives.bench;

import io.collectives.CallSettings;
import io.collectives.Collective;
import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.bench.compare.Medium;
import io.collectives.bench.compare.MissingPeerException;
import io.collectives.bench.compare.PairedTimes;
import io.collectives.bench.compare.Peer;
import io.collectives.bench.compare.PeerRanks;
import io.collectives.bench.compare.Workshop;
import io.collectives.bench.perf.AlgorithmChoice;
import io.collectives.bench.perf.CaseResult;
import io.collectives.bench.perf.CoreDistance;
import io.collectives.bench.perf.CoreProbe;
import io.collectives.bench.perf.Memory;
import io.collectives.bench.perf.PerfCase;
import io.collectives.bench.perf.Ranks;
import io.collectives.bench.report.ByteSize;
import io.collectives.bench.report.Fields;
import io.collectives.bench.report.LogChart;
import io.collectives.bench.report.Progress;
import io.collectives.bench.report.Provenance;
import io.collectives.bench.report.Units;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code collectives compare}: what other libraries take for the same sums. */
@Command(
    name = "compare",
    customSynopsis = "collectives compare [OPTION...]",
    descriptionHeading = "%n",
    optionListHeading = "%nOptions:%n",
    footerHeading = "%nExamples:%n",
    description = {
      "Measure what a Java user could take instead: all-reduces of float32 by sum, in place, on this machine.",
      "",
      "Each round measures this library and right after it the peer; the ratio is the peer's time over ours, so that above 1 "
          + "this library is faster. It is the median of the rounds' ratios, beside the least and the greatest. Times are taken "
          + "as perf takes them: that of the slowest rank after a barrier; the median counts; the first result is checked. Of a "
          + "peer with several algorithms the one with the least median counts, and is named.",
      "",
      "Over shm, and with --placement threads, the peers are those that share memory: openmpi (its processes) and spark "
          + "(threads); over tcp and unix all peers, over TCP on the loopback interface. What cannot be had is named, and the "
          + "others go on. Java libraries are resolved with Maven when they are wanted (of PyTorch and Spark some hundred MB "
          + "each). rabit gives the result in a new array. spark gives it to the driver only, which is less work than an "
          + "all-reduce."
    },
    footer = {
      "  collectives compare --peers openmpi,gloo --install   what is installed first, as root, with apt-get",
      "  collectives compare --transport shm --ranks 2,4      peers that share memory",
      "  collectives compare --transport shm --memory communicator",
      "                                                       the same, our payload where every rank reaches it",
      "  collectives compare --bytes 1K,32K,1M --chart a.svg  and a picture",
      "",
      "Exit status: 0 something was compared and all was right; 1 a result was wrong or nothing compared; 2 wrong usage."
    })
final class Compare implements Callable<Integer> {
  private static final int ATTEMPTS = 3;
  private static final long SEED = 1;

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
      description = "With what: ${COMPLETION-CANDIDATES}. Default: all.")
  private List<Peer> peers = List.of();

  @Option(
      names = "--transport",
      paramLabel = "TRANSPORT",
      description =
          "How our ranks talk: ${COMPLETION-CANDIDATES}. Default: tcp for processes, inprocess for threads.")
  private Optional<Perf.Transport> wantedTransport = Optional.empty();

  @Option(
      names = "--placement",
      paramLabel = "PLACEMENT",
      description =
          "Where our ranks run: ${COMPLETION-CANDIDATES}. Default: processes, or threads with --transport inprocess.")
  private Optional<Perf.Placement> wantedPlacement = Optional.empty();

  @Option(
      names = "--algorithm",
      defaultValue = "auto",
      paramLabel = "ALGORITHM",
      description = "Our route: " + AlgorithmChoice.FORMS + ". Default: ${DEFAULT-VALUE}.")
  private AlgorithmChoice algorithm = AlgorithmChoice.parse("auto");

  @Option(
      names = "--bytes",
      split = ",",
      defaultValue = "8,64K,1M,16M",
      paramLabel = "BYTES,...",
      hideParamSyntax = true,
      description =
          "The length of each rank's payload; K, M and G are powers of 1024. Default: ${DEFAULT-VALUE}.")
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
          "How long this library and each peer run before the first case. Default: ${DEFAULT-VALUE}.")
  private double warmUpSeconds;

  @Option(
      names = "--wait-near",
      arity = "0..1",
      fallbackValue = "60",
      defaultValue = "0",
      paramLabel = "SECONDS",
      description =
          "Before each pair wait until the cores are near, at most so long. Default without a number: 60.")
  private double nearSeconds;

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

  private final List<Row> rows = new ArrayList<>();
  private final CoreProbe probe = new CoreProbe();
  private boolean wrong;

  /** A variant of a peer, with a number of ranks. */
  private record Entry(Peer peer, String variant, Medium medium, int size) {
    @Override
    public String toString() {
      return peer + " (" + variant + ", " + size + " ranks)";
    }
  }

  /** One whose ranks wait for work. */
  private record Contender(Entry entry, Ranks ranks) {}

  /** The figures of a peer for one case. */
  private record Row(
      Peer peer,
      String variant,
      int ranks,
      PerfCase work,
      PairedTimes times,
      double coreToCoreNanos) {}

  @Override
  public Integer call() throws Exception {
    Perf.Placement placement = Perf.placement(wantedPlacement, wantedTransport);
    Perf.Transport transport = Perf.transport(wantedTransport, placement, spec);
    check();
    Medium medium =
        placement == Perf.Placement.PROCESSES
                && (transport == Perf.Transport.TCP || transport == Perf.Transport.UNIX)
            ? Medium.TCP
            : Medium.MEMORY;
    try (Progress progress = new Progress(spec.commandLine().getErr(), Progress.onTerminal())) {
      Workshop workshop =
          new Workshop(
              directory.orElseGet(Compare::besideThisProgram),
              Optional.ofNullable(System.getenv("PATH")).orElse(""),
              install,
              progress::stage);
      List<Peer> ready = prepare(workshop, medium, progress);
      if (!ready.isEmpty()) {
        probe.warmUp();
        for (int size : ranks) {
          compare(size, placement, transport, medium, ready, workshop, progress);
        }
      }
    }
    if (rows.isEmpty()) {
      spec.commandLine().getErr().println("collectives compare: nothing was compared");
      return Main.FAILED;
    }
    print(placement, transport);
    if (chart.isPresent()) {
      draw(placement, transport, chart.get());
    }
    return wrong ? Main.FAILED : 0;
  }

  private void check() {
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
    }
    Usage.require(
        rounds >= 1 && rounds <= 1_000, spec, "--rounds " + rounds + ": must be from 1 to 1000");
    Usage.requireSeconds(minSeconds, spec, "--min-time");
    Usage.requireSeconds(warmUpSeconds, spec, "--warmup");
    Usage.requireSeconds(nearSeconds, spec, "--wait-near");
    Usage.requireSeconds(limitSeconds, spec, "--limit");
    chart.ifPresent(
        file ->
            Usage.require(
                LogChart.canWrite(file), spec, "--chart " + file + ": must end with .png or .svg"));
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

  private List<Peer> prepare(Workshop workshop, Medium medium, Progress progress)
      throws InterruptedException {
    List<Peer> ready = new ArrayList<>();
    for (Peer peer : peers) {
      if (peer.variants(medium).isEmpty()) {
        without(progress, peer.toString(), "its ranks do not share memory; --transport tcp has it");
        continue;
      }
      try {
        peer.prepare(workshop);
        ready.add(peer);
      } catch (MissingPeerException | IOException e) {
        without(progress, peer.toString(), e.getMessage());
      }
    }
    return ready;
  }

  private static void without(Progress progress, String what, String why) {
    progress.say("collectives compare: without " + what + ": " + why);
  }

  private void compare(
      int size,
      Perf.Placement placement,
      Perf.Transport transport,
      Medium medium,
      List<Peer> ready,
      Workshop workshop,
      Progress progress)
      throws Exception {
    List<PerfCase> cases = sizes.stream().map(bytes -> work(size, bytes)).toList();
    List<Contender> contenders = new ArrayList<>();
    progress.stage("starting " + size + " " + placement);
    try (Ranks ours =
        Perf.start(size, placement, transport, CallSettings.defaults(), List.of("perf-rank"))) {
      progress.stage(size + " " + placement + ": warming up");
      warmUp(ours, cases);
      for (Peer peer : ready) {
        for (String variant : peer.variants(medium)) {
          Entry entry = new Entry(peer, variant, medium, size);
          progress.stage("starting " + entry);
          enter(contenders, entry, workshop, cases, progress);
        }
      }
      for (PerfCase work : cases) {
        for (Peer peer : ready) {
          rounds(ours, peer, contenders, work, size, progress);
        }
      }
    } finally {
      contenders.forEach(contender -> contender.ranks().close());
    }
  }

  /** Starts a contender and warms it up; one that fails is left out. */
  private void enter(
      List<Contender> contenders,
      Entry entry,
      Workshop workshop,
      List<PerfCase> cases,
      Progress progress)
      throws Exception {
    Ranks started;
    try {
      started =
          PeerRanks.start(
              entry.peer(),
              workshop,
              entry.variant(),
              entry.medium(),
              entry.size(),
              Duration.ofNanos((long) (limitSeconds * 1e9)));
    } catch (IOException e) {
      without(progress, entry.toString(), String.valueOf(e.getMessage()));
      return;
    }
    try {
      warmUp(started, cases);
      contenders.add(new Contender(entry, started));
    } catch (IOException e) {
      started.close();
      without(progress, entry.toString(), String.valueOf(e.getMessage()));
    }
  }

  private void warmUp(Ranks job, List<PerfCase> cases) throws Exception {
    for (PerfCase work : cases) {
      job.warmUp(work, (long) (warmUpSeconds * 1e9 / cases.size()));
    }
  }

  private PerfCase work(int ranks, ByteSize size) {
    return new PerfCase(
        Collective.ALL_REDUCE,
        ranks,
        algorithm,
        ElementType.FLOAT32,
        ReduceOp.SUM,
        (int) (size.bytes() / Float.BYTES),
        memory,
        false,
        false,
        true,
        0,
        (long) (minSeconds * 1e9),
        SEED,
        false,
        Optional.empty());
  }

  /** All rounds of one peer for one case. */
  private void rounds(
      Ranks ours, Peer peer, List<Contender> contenders, PerfCase work, int size, Progress progress)
      throws Exception {
    Map<String, PairedTimes> times = new LinkedHashMap<>();
    if (contenders.stream().noneMatch(contender -> contender.entry().peer() == peer)) {
      return;
    }
    double distances = 0;
    for (int round = 1; round <= rounds; round++) {
      progress.step(
          size
              + " ranks, "
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
        before = probe.awaitNear((long) (nearSeconds * 1e9));
        mine = ours.measure(work);
        measured = measure(peer, contenders, work, progress);
        after = probe.nanos();
      } while (CoreDistance.of(before) != CoreDistance.of(after) && ++attempt < ATTEMPTS);
      if (!isRight(mine, "this library", progress)) {
        return;
      }
      for (Map.Entry<String, Long> variant : measured.entrySet()) {
        times
            .computeIfAbsent(variant.getKey(), name -> new PairedTimes())
            .add(mine.medianNanos(), variant.getValue());
      }
      distances += (before + after) / 2;
    }
    double coreToCore = distances / rounds;
    times.entrySet().stream()
        .min(Comparator.comparingDouble(entry -> entry.getValue().theirs()))
        .ifPresent(
            best ->
                rows.add(new Row(peer, best.getKey(), size, work, best.getValue(), coreToCore)));
  }

  /** The medians of a peer's variants; one that fails is left out from now on. */
  private Map<String, Long> measure(
      Peer peer, List<Contender> contenders, PerfCase work, Progress progress) throws Exception {
    Map<String, Long> medians = new LinkedHashMap<>();
    for (Iterator<Contender> i = contenders.iterator(); i.hasNext(); ) {
      Contender contender = i.next();
      Entry entry = contender.entry();
      if (entry.peer() != peer) {
        continue;
      }
      try {
        CaseResult result = contender.ranks().measure(work);
        if (isRight(result, entry.toString(), progress)) {
          medians.put(entry.variant(), result.medianNanos());
          continue;
        }
      } catch (IOException e) {
        without(progress, entry.toString(), new ByteSize(work.bytes()) + ": " + e.getMessage());
      }
      i.remove();
      contender.ranks().close();
    }
    return medians;
  }

  private boolean isRight(CaseResult result, String whose, Progress progress) {
    if (result.wrong() == 0) {
      return true;
    }
    wrong = true;
    progress.say(
        "collectives compare: " + whose + ": " + Units.grouped(result.wrong()) + " wrong elements");
    return false;
  }

  private void print(Perf.Placement placement, Perf.Transport transport) {
    FigureTable table =
        new FigureTable(
            2,
            "peer",
            "its best",
            "ranks",
            "bytes",
            "ours",
            "peer's",
            "ratio",
            "least",
            "greatest",
            "core to core");
    for (Row row : rows) {
      PairedTimes times = row.times();
      Object distance =
          Double.isNaN(row.coreToCoreNanos()) ? Fields.NONE : Math.round(row.coreToCoreNanos());
      Map<String, Object> fields = new LinkedHashMap<>();
      fields.put("peer", row.peer());
      fields.put("variant", row.variant());
      fields.put("transport", transport);
      fields.put("placement", placement);
      fields.put("ranks", row.ranks());
      fields.put("bytes", row.work().bytes());
      fields.put("rounds", times.rounds());
      fields.put("ours_us", decimal(times.ours() / 1e3));
      fields.put("peer_us", decimal(times.theirs() / 1e3));
      fields.put("ratio", decimal(times.ratios().median()));
      fields.put("ratio_min", decimal(times.ratios().least()));
      fields.put("ratio_max", decimal(times.ratios().greatest()));
      fields.put("core_to_core_ns", distance);
      table.row(
          List.of(
              row.peer().toString(),
              row.variant(),
              Integer.toString(row.ranks()),
              new ByteSize(row.work().bytes()).toString(),
              Units.time(times.ours()),
              Units.time(times.theirs()),
              twoDecimals(times.ratios().median()),
              twoDecimals(times.ratios().least()),
              twoDecimals(times.ratios().greatest()),
              distance.equals(Fields.NONE) ? Fields.NONE : distance + " ns"),
          fields);
    }
    table.print(
        format,
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
                + rows.get(0).work().memory()
                + " memory; ratio: the peer's time over ours, median of "
                + rounds
                + " rounds"));
  }

  private static BigDecimal decimal(double value) {
    return BigDecimal.valueOf(value).setScale(3, RoundingMode.HALF_UP);
  }

  private static String twoDecimals(double value) {
    return String.format(Locale.ROOT, "%.2f", value);
  }

  private void draw(Perf.Placement placement, Perf.Transport transport, Path file)
      throws IOException {
    boolean overBytes = sizes.size() > 1;
    LogChart picture = new LogChart(overBytes ? "bytes" : "ranks", LogChart.TIME);
    for (Row row : rows) {
      String which = ranks.size() > 1 && overBytes ? ", " + row.ranks() + " ranks" : "";
      long at = overBytes ? row.work().bytes() : row.ranks();
      picture.point("collectives" + which, at, row.times().ours() / 1e6);
      picture.point(row.peer() + which, at, row.times().theirs() / 1e6);
    }
    picture.write("all-reduce of float32, ours: " + placement + " over " + transport, file);
  }
}
