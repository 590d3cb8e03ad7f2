package io.collectives.bench;

import io.collectives.Mesh;
import io.collectives.bench.report.ByteSize;
import io.collectives.bench.report.Chart;
import io.collectives.bench.report.Progress;
import io.collectives.bench.simulate.CallPrices;
import io.collectives.bench.simulate.Costs;
import io.collectives.bench.simulate.Fabric;
import io.collectives.bench.simulate.Hosts;
import io.collectives.bench.simulate.Outcome;
import io.collectives.bench.simulate.PlanChoice;
import io.collectives.bench.simulate.Quantities;
import io.collectives.bench.simulate.Scenario;
import io.collectives.bench.simulate.Service;
import io.collectives.bench.simulate.Size;
import io.collectives.bench.simulate.Task;
import io.collectives.bench.simulate.Wire;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Function;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code collectives simulate}: what a plan would take on a described network. */
@Command(
    name = "simulate",
    customSynopsis = "collectives simulate [OPTION...]",
    sortOptions = false,
    descriptionHeading = "%n",
    optionListHeading = "%nOptions:%n",
    footerHeading = "%nExamples:%n",
    description = {
      "Predict what a collective takes on a described network, by moving clocks through its plan.",
      "",
      "Options with ',...' take several values, and every combination is simulated. Times are "
          + "written in ns, us, ms or s; rates in B/s, KB/s, MB/s, GB/s or Gbit/s, which are "
          + "powers of 1000.",
      "",
      "With --mesh ranks are linked to their neighbours, and what goes further passes every link "
          + "between, along its row first. With --ranks each pair of ranks has a link of its own, "
          + "except that a torus stands on the mesh nearest to a square, unless there are hosts "
          + "of several ranks, or racks. torus, weighted-torus and hierarchical are planned for "
          + "the mesh of --mesh, or with a row for each host: along a dimension that does not "
          + "wrap, data move from both ends at once.",
      "",
      "With --step it is a training step: gradients become ready in a backward pass, and fill the "
          + "buffers of a gradient reducer, each of which is a simulated call.",
      "",
      "dedicated-servers are ranks beside --ranks, each on a host of its own, after those of the "
          + "workers; without S as many as hosts. atomic-servers have one variable or more each, "
          + "whole: those of table II of the Herring paper, in proportion to the payload."
    },
    footer = {
      "  collectives simulate --algorithm ring,torus --mesh 128x32 --wrap y",
      "  collectives simulate --algorithm torus --mesh 128x32 --wrap y --pod 32x32 --link pods=5us,35GB/s",
      "  collectives simulate --algorithm torus --mesh 256x256 --collective reduce-scatter+all-gather",
      "  collectives simulate --algorithm ring --mesh 16x1 --model-parallel 4",
      "  collectives simulate --algorithm ring,torus --mesh 2x2,4x4,8x8,16x16 --wrap none,xy --circuit --chart figure.png",
      "  collectives simulate --algorithm ring,dedicated-servers --ranks 64..512 --ranks-per-host 8 --host-bandwidth 100Gbit/s",
      "  collectives simulate --algorithm direct --ranks 64 --host-bandwidth 100Gbit/s --hosts-per-rack 16 --oversubscription 3",
      "  collectives simulate --step resnet50 --batch 16 --flops 50TFLOP/s --mesh 128x32 --wrap y --algorithm hierarchical --shard --no-overlap",
      "  collectives simulate --step bert-large --backward 300ms --forward 150ms --ranks 8,64,512 --chart steps.svg",
      "",
      "Exit status: 0 all went well; 1 the picture could not be written; 2 wrong usage."
    })
final class Simulate implements Callable<Integer> {
  @Spec private CommandSpec spec;

  @Option(
      names = "--algorithm",
      split = ",",
      defaultValue = "ring",
      paramLabel = "ALGORITHM,...",
      hideParamSyntax = true,
      completionCandidates = PlanChoice.Forms.class,
      description =
          "Whose plans: ${COMPLETION-CANDIDATES}, "
              + Scenario.FORMS
              + ". Default: ${DEFAULT-VALUE}.")
  private List<String> algorithms = List.of();

  @Option(
      names = "--collective",
      split = ",",
      defaultValue = "all-reduce",
      paramLabel = "COLLECTIVE,...",
      hideParamSyntax = true,
      description =
          "What they do: all-reduce, barrier, reduce-scatter, all-gather, broadcast, reduce, "
              + "gather, scatter, all-to-all, or reduce-scatter+all-gather, one after the other. "
              + "Default: ${DEFAULT-VALUE}.")
  private List<String> collectives = List.of();

  @Option(
      names = "--root",
      defaultValue = "0",
      paramLabel = "RANK",
      description =
          "The root of a broadcast, reduce, gather or scatter; the others have none. Default: ${DEFAULT-VALUE}.")
  private int root;

  @Option(
      names = {"-n", "--ranks"},
      paramLabel = "RANKS,...",
      description = "How many ranks, as 8, 4,16,64 or 2..64. Default: 8, if there is no --mesh.")
  private Optional<String> ranks = Optional.empty();

  @Option(
      names = "--mesh",
      paramLabel = "XxY,...",
      description = "Ranks in Y rows of X, as 128x32 or 2x2,4x4.")
  private Optional<String> meshes = Optional.empty();

  @Option(
      names = "--wrap",
      split = ",",
      paramLabel = "WRAP,...",
      hideParamSyntax = true,
      description =
          "Which dimensions of the mesh are linked end to end: x, y, xy or none. Default: xy.")
  private List<Wrap> wraps = new ArrayList<>();

  @Option(
      names = "--pod",
      paramLabel = "XxY",
      description =
          "The mesh is laid out in pods of this shape; links from pod to pod are a class of their own.")
  private Optional<String> pod = Optional.empty();

  @Option(
      names = "--circuit",
      description =
          "Number the ranks of the mesh along a way from neighbour to neighbour and back to the "
              + "first, as a ring of all would be laid; not for a torus.")
  private boolean circuit;

  @Option(
      names = "--model-parallel",
      defaultValue = "1",
      paramLabel = "M",
      description =
          "M ranks beside each other in a row of the mesh share a model: M groups, each of every "
              + "Mth rank of the rows, are at work at once, hop over each other, and share links. "
              + "Default: ${DEFAULT-VALUE}.")
  private int ways;

  @Option(
      names = "--bytes",
      split = ",",
      defaultValue = "102400000",
      paramLabel = "BYTES,...",
      hideParamSyntax = true,
      description =
          "The length of each rank's payload; K, M and G are powers of 1024. Default: ${DEFAULT-VALUE}.")
  private List<ByteSize> sizes = List.of();

  @Option(
      names = "--slabs",
      defaultValue = "1",
      paramLabel = "N",
      description =
          "Into how many parts each chunk is cut, which follow each other. Default: ${DEFAULT-VALUE}.")
  private int slabs;

  @Option(
      names = "--serve",
      defaultValue = "plan",
      paramLabel = "ORDER",
      description =
          "Whom links, NICs and adders serve: plan, what is next in the plan, though a later one "
              + "may be there already; or arrival, what comes first, for up to 4 million transfers "
              + "of a slab. Default: ${DEFAULT-VALUE}.")
  private Service service = Service.PLAN;

  @Option(
      names = "--alpha",
      defaultValue = "1us",
      paramLabel = "TIME",
      description = "The latency of each link. Default: ${DEFAULT-VALUE}.")
  private String alpha = "";

  @Option(
      names = "--bandwidth",
      defaultValue = "70GB/s",
      paramLabel = "RATE",
      description = "Of each link, each way. Default: ${DEFAULT-VALUE}.")
  private String bandwidth = "";

  @Option(
      names = "--gamma",
      defaultValue = "0ns/B",
      paramLabel = "TIME/B",
      description = "How long it takes to add a byte. Default: ${DEFAULT-VALUE}.")
  private String gamma = "";

  @Option(
      names = "--link",
      paramLabel = "LINKS=TIME,RATE",
      description =
          "Latency and bandwidth of other links: LINKS is x or y, a dimension of a mesh; pods, "
              + "from pod to pod; host, within a host; racks, from rack to rack; other, of other "
              + "pairs; or FROM-TO, one link between two ranks one way. May be repeated.")
  private List<String> links = new ArrayList<>();

  @Option(
      names = "--ranks-per-host",
      defaultValue = "1",
      paramLabel = "N",
      description =
          "How many of --ranks share a host; what goes within a host does not pass its NIC. Default: ${DEFAULT-VALUE}.")
  private int ranksPerHost;

  @Option(
      names = "--host-bandwidth",
      paramLabel = "RATE",
      description =
          "Of the NIC that all ranks of a host share, each way. Default: they share nothing.")
  private Optional<String> hostBandwidth = Optional.empty();

  @Option(
      names = "--hosts-per-rack",
      paramLabel = "N",
      description =
          "How many hosts share the uplinks of a switch. Default: one switch that carries all.")
  private Optional<Integer> hostsPerRack = Optional.empty();

  @Option(
      names = "--oversubscription",
      defaultValue = "1",
      paramLabel = "RATIO",
      description =
          "How much more the NICs of a rack can carry than its uplinks. Default: ${DEFAULT-VALUE}.")
  private double oversubscription;

  @Mixin private StepOptions steps = new StepOptions();

  @Option(
      names = "--chart",
      paramLabel = "FILE",
      description =
          "Draw the times over the ranks, or over the bytes if ranks are always as many, or a single --step, as FILE.png or FILE.svg.")
  private Optional<Path> chart = Optional.empty();

  @Mixin private FormatOption format;

  @Mixin private HelpOption help;

  @Override
  public Integer call() throws IOException {
    double add = read("--gamma", gamma, Quantities::timePerByte);
    Usage.require(
        slabs >= 1 && slabs <= 65_536, spec, "--slabs " + slabs + ": must be from 1 to 65536");
    Usage.requireChart(chart, spec);
    steps.check(spec);
    if (steps.areWanted()) {
      steps(add);
      return 0;
    }
    List<Run> runs = runs(fabric());
    boolean overBytes =
        sizes.size() > 1 && runs.stream().mapToInt(run -> run.size.ranks()).distinct().count() == 1;
    SimulationTable table = new SimulationTable();
    Chart picture = new Chart(overBytes ? Chart.BYTES : Chart.RANKS, Chart.TIME);
    try (Progress progress = new Progress(spec.commandLine().getErr())) {
      progress.expect(sizes.size() * runs.stream().mapToDouble(Run::work).sum());
      for (Run run : runs) {
        for (ByteSize size : sizes) {
          progress.step(run.scenario.label() + " on " + run.scenario.network() + ", " + size);
          Costs costs = run.scenario.costs(size.bytes(), slabs, add);
          Outcome outcome = simulate(run.scenario, costs);
          table.row(run.scenario, run.task, size, outcome, run.scenario.closedForm(costs));
          picture.point(
              run.line + (sizes.size() > 1 && !overBytes ? ", " + size : ""),
              overBytes ? size.bytes() : run.size.ranks(),
              outcome.nanos());
          progress.done(run.work());
        }
      }
    }
    table.print(format.wanted(), spec.commandLine().getOut(), assumptions());
    if (chart.isPresent()) {
      picture.write(title(overBytes, runs), where(), chart.get());
    }
    return 0;
  }

  private void steps(double add) throws IOException {
    List<Size> wrapped = new ArrayList<>();
    for (Wrap wrap : wraps.isEmpty() ? List.of(Wrap.XY) : wraps) {
      sizes().forEach(size -> wrapped.add(wrap.of(size)));
    }
    CallPrices.Software software = new CallPrices.Software(slabs, add, steps.callCost(spec));
    StepRun run = new StepRun(spec, steps, fabric(), software);
    List<String> below = new ArrayList<>(assumptions());
    below.remove(below.size() - 1); // No closed form of a step.
    if (steps.areLinksMeasured()) {
      below.set(0, below.get(0).replace(alpha + " and " + bandwidth, "what was measured"));
    }
    run.run(algorithms, wrapped, below);
    run.print(format.wanted());
    if (chart.isPresent()) {
      run.draw(chart.get(), where());
    }
  }

  private Outcome simulate(Scenario scenario, Costs costs) {
    try {
      return scenario.run(costs, service);
    } catch (IllegalArgumentException e) {
      throw Usage.error(spec, scenario.label() + ": " + e.getMessage());
    }
  }

  private String title(boolean overBytes, List<Run> runs) {
    return Chart.title(
        String.join(", ", collectives)
            + (sizes.size() == 1 ? " of " + Chart.BYTES.unit().label(sizes.get(0).bytes(), 3) : "")
            + (overBytes ? " with " + runs.get(0).size.ranks() + " ranks" : "")
            + ", simulated",
        overBytes ? Chart.BYTES : Chart.RANKS);
  }

  private String where() {
    return (meshes.isPresent() ? "each link of the mesh" : "a link between each two ranks")
        + ": "
        + alpha
        + ", "
        + bandwidth
        + " each way"
        + links.stream().map(link -> ", but " + link).reduce("", String::concat)
        + hostBandwidth
            .map(rate -> "; hosts of " + ranksPerHost(ranksPerHost) + " with " + rate)
            .orElse("")
        + (slabs == 1 ? "" : "; " + slabs + " slabs");
  }

  private List<String> assumptions() {
    List<String> lines = new ArrayList<>();
    lines.add(
        "Assumed: "
            + alpha
            + " and "
            + bandwidth
            + " on each link each way"
            + links.stream().map(link -> ", but " + link).reduce("", String::concat)
            + "; "
            + hostBandwidth
                .map(rate -> rate + " in and out of each host of " + ranksPerHost(ranksPerHost))
                .orElse("no limit for a rank")
            + "; "
            + gamma
            + " to add; "
            + (slabs == 1 ? "1 slab." : slabs + " slabs, all in flight."));
    lines.add(
        "Chunks are equal; hops are cut-through; each lane of a rank adds one thing at a time; "
            + service.words()
            + ".");
    pod.ifPresent(
        shape ->
            lines.add(
                "Pods of "
                    + shape
                    + " ranks; a dimension that wraps does so by links from pod to pod, if it has"
                    + " several."));
    if (circuit) {
      lines.add("Ranks are numbered along a circuit of neighbours, but for a torus.");
    }
    if (ways > 1) {
      lines.add(
          ways
              + " groups at once, each with the payload; hops over "
              + ways
              + " places pass the links of those between.");
    }
    hostsPerRack.ifPresent(
        hosts ->
            lines.add(
                "Racks of "
                    + hosts
                    + " hosts; uplinks carry 1/"
                    + oversubscription
                    + " of what their NICs can, and the first that is free is taken."));
    if (algorithms.stream().anyMatch(name -> name.contains("-servers"))) {
      lines.add(
          "Dedicated servers: ranks are the workers; each server has a host of its own, in racks "
              + "after theirs, and adds what it is sent to its memory.");
    }
    lines.add(
        "Ratio: of the time to the closed form, which is a formula for the same assumptions.");
    return lines;
  }

  private static String ranksPerHost(int ranks) {
    return ranks == 1 ? "1 rank" : ranks + " ranks";
  }

  private Fabric fabric() {
    Wire wire =
        new Wire(
            read("--alpha", alpha, Quantities::nanos),
            read("--bandwidth", bandwidth, Quantities::nanosPerByte));
    Usage.require(
        ranksPerHost >= 1, spec, "--ranks-per-host " + ranksPerHost + ": must be at least 1");
    Usage.require(
        hostsPerRack.orElse(1) >= 1,
        spec,
        "--hosts-per-rack " + hostsPerRack.orElse(0) + ": must be at least 1");
    Usage.require(
        hostsPerRack.isPresent() || oversubscription == 1,
        spec,
        "--oversubscription " + oversubscription + ": needs --hosts-per-rack");
    Usage.require(
        oversubscription >= 1 && oversubscription <= 1e6,
        spec,
        "--oversubscription " + oversubscription + ": must be from 1 to 1000000");
    Usage.require(
        hostsPerRack.isEmpty() || hostBandwidth.isPresent(),
        spec,
        "--hosts-per-rack: needs --host-bandwidth, which uplinks are a part of");
    boolean shared = ranksPerHost > 1 || hostsPerRack.isPresent();
    Usage.require(
        !shared || meshes.isEmpty(),
        spec,
        "--ranks-per-host and --hosts-per-rack: ranks of a --mesh have links of their own; write --ranks");
    Usage.require(
        pod.isEmpty() || meshes.isPresent(), spec, "--pod: needs --mesh, which pods are parts of");
    Hosts hosts =
        new Hosts(
            ranksPerHost,
            hostBandwidth
                .map(rate -> read("--host-bandwidth", rate, Quantities::nanosPerByte))
                .orElse(0.0),
            hostsPerRack.orElse(0),
            oversubscription);
    return new Fabric(
        wire,
        links.stream().map(link -> read("--link", link, Fabric.Other::parse)).toList(),
        pod.map(shape -> read("--pod", shape, Simulate::shape)),
        hosts);
  }

  private static Mesh shape(String text) {
    List<Size> sizes = Size.parse(text);
    return sizes
        .get(0)
        .mesh()
        .filter(mesh -> sizes.size() == 1)
        .orElseThrow(() -> new IllegalArgumentException("'" + text + "' is no shape; write 32x32"));
  }

  private List<Run> runs(Fabric fabric) {
    List<Size> all = sizes();
    List<Run> runs = new ArrayList<>();
    Usage.require(
        meshes.isPresent() || !circuit && ways == 1,
        spec,
        "--circuit and --model-parallel: need --mesh");
    Usage.require(ways >= 1, spec, "--model-parallel " + ways + ": must be at least 1");
    Usage.require(root >= 0, spec, "--root " + root + ": must be a rank");
    for (String algorithm : algorithms) {
      for (String collective : collectives) {
        Task task = read("--collective", collective, Task::parse);
        Scenario.Work work =
            read(
                "--algorithm",
                algorithm,
                name -> new Scenario.Work(name, task, task.rooted() ? root : 0, ways, circuit));
        for (Wrap wrap : wraps.isEmpty() ? List.of(Wrap.XY) : wraps) {
          String line =
              algorithm
                  + (collectives.size() > 1 ? " " + task : "")
                  + (wraps.size() > 1 ? ", wrap " + wrap : "");
          for (Size size : all) {
            try {
              Size wrapped = wrap.of(size);
              runs.add(new Run(line, task, wrapped, Scenario.of(work, wrapped, fabric)));
            } catch (IllegalArgumentException e) {
              throw Usage.error(spec, e.getMessage());
            }
          }
        }
      }
    }
    fabric
        .unused(runs.stream().map(run -> run.scenario.network()).toList())
        .ifPresent(
            other -> {
              throw Usage.error(spec, "--link " + other.text() + ": there are no such links");
            });
    return runs;
  }

  private List<Size> sizes() {
    Usage.require(
        meshes.isEmpty() || ranks.isEmpty(),
        spec,
        "--ranks and --mesh: only one of them can be given");
    if (meshes.isEmpty()) {
      Usage.require(wraps.isEmpty(), spec, "--wrap: needs --mesh");
      return read("--ranks", ranks.orElse("8"), Size::parse);
    }
    List<Size> all = read("--mesh", meshes.get(), Size::parse);
    for (Size size : all) {
      Usage.require(
          size.mesh().isPresent(),
          spec,
          "--mesh: '" + size.ranks() + "' is no mesh; write 4x4, or --ranks " + size.ranks());
    }
    for (Wrap wrap : wraps) {
      boolean x = !wrap.x || all.stream().anyMatch(size -> size.mesh().get().x() > 1);
      boolean y = !wrap.y || all.stream().anyMatch(size -> size.mesh().get().y() > 1);
      Usage.require(
          x && y,
          spec,
          "--wrap "
              + wrap
              + ": the mesh "
              + meshes.get()
              + " has one place along "
              + (x ? "y" : "x")
              + ", which has nothing to link");
    }
    return all;
  }

  private <T> T read(String option, String text, Function<String, T> reader) {
    try {
      return reader.apply(text);
    } catch (IllegalArgumentException e) {
      throw Usage.error(spec, option + ": " + e.getMessage());
    }
  }

  /**
   * A scenario that is simulated with all sizes of payload.
   *
   * @param line the name of its line in a chart
   */
  private record Run(String line, Task task, Size size, Scenario scenario) {
    /** The transfers that a ring would need, which is what the time grows with at most. */
    double work() {
      return (double) scenario.ranks() * scenario.ranks();
    }
  }

  /** Which dimensions of a mesh wrap. */
  enum Wrap {
    X(true, false),
    Y(false, true),
    XY(true, true),
    NONE(false, false);

    private final boolean x;
    private final boolean y;

    Wrap(boolean x, boolean y) {
      this.x = x;
      this.y = y;
    }

    /** A mesh with these wraps. */
    Size of(Size size) {
      return size.wrapped(x, y);
    }

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }
}
