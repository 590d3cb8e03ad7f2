package io.collectives.bench;

import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.Mesh;
import io.collectives.bench.network.LinkRate;
import io.collectives.bench.network.MeshNetwork;
import io.collectives.bench.perf.AlgorithmChoice;
import io.collectives.bench.perf.CaseResult;
import io.collectives.bench.perf.PerfCase;
import io.collectives.bench.perf.ProcessRanks;
import io.collectives.bench.perf.Seating;
import io.collectives.bench.process.JavaCommand;
import io.collectives.bench.report.ByteSize;
import io.collectives.bench.report.Chart;
import io.collectives.bench.report.Progress;
import io.collectives.bench.report.Provenance;
import io.collectives.bench.report.Units;
import io.collectives.bench.simulate.Scenario;
import io.collectives.bench.simulate.Service;
import io.collectives.bench.simulate.Task;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import picocli.CommandLine.Model.CommandSpec;

/**
 * {@code perf --mesh}: real processes on hosts that have a link to each neighbor, beside what the
 * simulator says of the same plans on the same links.
 */
final class PerfMesh {
  /** The bytes of the payloads with which ranks warm up; on slow links more would take long. */
  private static final int WARM_UP_BYTES = 16 << 10;

  /** The most bytes of a frame, if the caller does not care: on slow links these take long. */
  private static final int FRAME_LENGTH = 32 << 10;

  /** So many slabs under way keep links busy while ranks wait for a processor. */
  private static final int SLABS_IN_FLIGHT = 4;

  private static final String SLABS_OPTION = "--slabs-in-flight";

  /** A heap for everything but payloads. */
  private static final long HEAP_MEGABYTES = 64;

  private final CommandSpec spec;
  private final MeshOptions options;
  private final Manner manner;

  /**
   * The manner in which cases are measured.
   *
   * @param rounds how often
   * @param warmUpSeconds of all cases of a job together
   * @param frameLength the most bytes of a frame, or {@link CallSettings#AUTO}
   * @param rankArguments arguments of this program that make it a rank
   * @param format of the figures
   * @param chart where they are drawn, if that is wanted
   */
  record Manner(
      int rounds,
      double warmUpSeconds,
      int frameLength,
      List<String> rankArguments,
      Format format,
      Optional<Path> chart) {}

  PerfMesh(CommandSpec spec, MeshOptions options, Manner manner) {
    this.spec = spec;
    this.options = options;
    this.manner = manner;
  }

  /**
   * Measures and prints.
   *
   * @param jobs the cases on each mesh
   * @return the exit status
   */
  int run(List<List<PerfCase>> jobs) throws Exception {
    List<List<MeshTable.Line>> all = new ArrayList<>();
    for (int job = 0; job < jobs.size(); job++) {
      all.add(planned(options.meshes().get(job), jobs.get(job)));
    }
    Optional<String> whyNot = MeshNetwork.whyNot();
    if (whyNot.isPresent()) {
      throw new IOException("--mesh: " + whyNot.get());
    }
    MeshTable table = new MeshTable(severalCollectives(jobs));
    long wrong = 0;
    try (Progress progress = new Progress(spec.commandLine().getErr())) {
      for (List<MeshTable.Line> lines : all) {
        measure(lines, progress);
        for (MeshTable.Line line : lines) {
          table.row(line, first(lines, line));
          wrong += Math.max(0, line.wrong());
        }
        progress.clear();
        table.printSoFar(manner.format(), spec.commandLine().getOut());
      }
    }
    table.print(manner.format(), spec.commandLine().getOut(), notes());
    if (manner.chart().isPresent()) {
      draw(all, manner.chart().get());
    }
    if (wrong > 0) {
      spec.commandLine()
          .getErr()
          .println("collectives perf: " + Units.grouped(wrong) + " elements are wrong");
      return ExitStatus.FAILED;
    }
    return 0;
  }

  private static boolean severalCollectives(List<List<PerfCase>> jobs) {
    return jobs.stream().flatMap(List::stream).map(PerfCase::collective).distinct().count() > 1;
  }

  /** The cases with their plans on a mesh, and no results yet. */
  private List<MeshTable.Line> planned(Mesh mesh, List<PerfCase> cases) {
    List<MeshTable.Line> lines = new ArrayList<>();
    for (PerfCase work : cases) {
      Usage.require(
          !(Algorithm.parse(work.algorithm().text()) instanceof Algorithm.Auto),
          spec,
          "--mesh with --algorithm auto: it stands beside what a plan says, and auto has none of"
              + " its own; name some, as ring,torus");
      try {
        Scenario scenario = options.scenario(work.algorithm(), Task.of(work.collective()), mesh);
        int slabs = scenario.slabs(work.bytes(), frameLength());
        lines.add(
            new MeshTable.Line(
                mesh,
                work.on(new AlgorithmChoice(scenario.label()), scenario.groups()),
                scenario,
                scenario.run(scenario.costs(work.bytes(), slabs, 0), Service.ARRIVAL).nanos(),
                new ArrayList<>()));
      } catch (IllegalArgumentException e) {
        throw Usage.error(
            spec, "--algorithm " + work.algorithm() + " on --mesh " + mesh + ": " + e.getMessage());
      }
    }
    return lines;
  }

  private void measure(List<MeshTable.Line> lines, Progress progress) throws Exception {
    Mesh mesh = lines.get(0).mesh();
    Map<Integer, LinkRate> rates = new HashMap<>();
    lines
        .get(0)
        .scenario()
        .loads(0)
        .forEach(load -> rates.put(load.link(), options.rate(load.links())));
    progress.step("starting " + mesh.ranks() + " processes on a mesh " + mesh);
    try (MeshNetwork network = new MeshNetwork(mesh, rates::get);
        ProcessRanks ranks =
            ProcessRanks.start(
                network, Seating.alone(network.hosts()), command(lines), System.err)) {
      for (MeshTable.Line line : lines) {
        progress.step(mesh + ", " + line.scenario().label() + ": warming up");
        ranks.warmUp(shortened(line.work()), (long) (manner.warmUpSeconds() * 1e9 / lines.size()));
      }
      for (int round = 1; round <= manner.rounds(); round++) {
        for (MeshTable.Line line : lines) {
          progress.step(
              mesh
                  + (manner.rounds() > 1 ? ", round " + round + " of " + manner.rounds() : "")
                  + ": "
                  + line.scenario().label()
                  + ", "
                  + new ByteSize(line.work().bytes()));
          CaseResult result = ranks.measure(line.work());
          line.rounds().add(result);
        }
      }
      progress.clear();
    }
  }

  private List<String> command(List<MeshTable.Line> lines) {
    long most = lines.stream().mapToLong(line -> line.work().bytes()).max().orElseThrow();
    List<String> arguments = new ArrayList<>(manner.rankArguments());
    if (manner.frameLength() == CallSettings.AUTO) {
      arguments.add("--frame-length=" + frameLength());
    }
    if (!spec.commandLine().getParseResult().hasMatchedOption(SLABS_OPTION)) {
      arguments.add(SLABS_OPTION + "=" + SLABS_IN_FLIGHT);
    }
    return JavaCommand.of(
        List.of(
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-Xmx" + (HEAP_MEGABYTES + (4 * most >> 20)) + "m"),
        arguments);
  }

  private int frameLength() {
    return manner.frameLength() == CallSettings.AUTO ? FRAME_LENGTH : manner.frameLength();
  }

  private static PerfCase shortened(PerfCase work) {
    PerfCase.Operand operand = work.operand();
    int count = Math.min(operand.count(), WARM_UP_BYTES / operand.type().bytes());
    return work.of(
        new PerfCase.Operand(
            operand.type(), operand.op(), count, operand.seed(), operand.tensors()));
  }

  /** The first line with the same payload on the same mesh. */
  private static MeshTable.Line first(List<MeshTable.Line> lines, MeshTable.Line line) {
    return lines.stream()
        .filter(
            other ->
                other.work().collective() == line.work().collective()
                    && other.work().operand().equals(line.work().operand()))
        .findFirst()
        .orElseThrow();
  }

  private List<String> notes() {
    return List.of(
        "model: what simulate says of the same plan, in as many slabs, on links that serve what "
            + "comes first, with a latency of "
            + options.assumedLatency()
            + " and no headers; least: no plan can take less; share: least / time.",
        "on x, on y: bytes that all links of a dimension sent, beside those of the plan; wire/plan: "
            + "of the link that sent most beside the plan. tsv and json have each link.",
        "paper: Ying et al. 2018, section 3.3, whose 2-D algorithm doubles the throughput of a "
            + "ring; Kumar et al. 2021, section 3.3, has Y times as much payload along Y as along "
            + "X.",
        Provenance.line()
            + "; "
            + options.words()
            + (manner.rounds() > 1 ? "; medians of " + manner.rounds() + " rounds" : ""));
  }

  private void draw(List<List<MeshTable.Line>> all, Path file) throws IOException {
    List<MeshTable.Line> lines = all.stream().flatMap(List::stream).toList();
    long sizes = lines.stream().map(line -> line.work().bytes()).distinct().count();
    boolean overBytes =
        sizes > 1 && lines.stream().map(line -> line.work().ranks()).distinct().count() == 1;
    Chart.Axis below = overBytes ? Chart.BYTES : Chart.RANKS;
    Chart picture = new Chart(below, Chart.TIME);
    for (List<MeshTable.Line> job : all) {
      for (MeshTable.Line line : job) {
        long at = overBytes ? line.work().bytes() : line.work().ranks();
        String name = name(line, !overBytes && sizes > 1);
        picture.point(name, at, line.time().median());
        picture.dashedPoint(name, at, line.modelNanos());
        MeshTable.Line first = first(job, line);
        line.paper(first)
            .ifPresent(
                factor ->
                    picture.dashedPoint(
                        "ring / 2 (Ying et al. 2018)", at, first.time().median() / factor));
      }
    }
    picture.write(
        Chart.title("collectives on meshes of processes", below),
        options.words() + "; dashed: what the model says; " + Provenance.brief(),
        file);
  }

  private static String name(MeshTable.Line line, boolean withBytes) {
    String mesh = line.mesh().toString();
    int wrap = mesh.indexOf(" wrap=");
    return line.name()
        + (wrap < 0 ? "" : "," + mesh.substring(wrap))
        + (withBytes ? ", " + new ByteSize(line.work().bytes()) : "");
  }
}
