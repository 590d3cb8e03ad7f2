package io.collectives.bench;

import io.collectives.Algorithm;
import io.collectives.Mesh;
import io.collectives.bench.perf.AlgorithmChoice;
import io.collectives.bench.report.ByteSize;
import io.collectives.bench.report.Fields;
import io.collectives.bench.report.Progress;
import io.collectives.bench.report.Units;
import io.collectives.bench.simulate.ClosedForm;
import io.collectives.bench.simulate.Costs;
import io.collectives.bench.simulate.LinkClass;
import io.collectives.bench.simulate.Network;
import io.collectives.bench.simulate.Outcome;
import io.collectives.bench.simulate.PlanChoice;
import io.collectives.bench.simulate.Quantities;
import io.collectives.bench.simulate.Simulation;
import io.collectives.bench.simulate.Size;
import io.collectives.bench.simulate.TimeChart;
import io.collectives.bench.simulate.Wire;
import io.collectives.plan.Plan;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.Command;
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
      "Predict what an all-reduce takes on a described network, by moving clocks through its plan.",
      "",
      "Options with ',...' take several values, and every combination is simulated. Times are written in ns, us, ms or s; "
          + "rates in B/s, KB/s, MB/s, GB/s or Gbit/s, which are powers of 1000.",
      "",
      "With --mesh ranks are linked to their neighbours, and what goes further passes every link between, along its row "
          + "first. With --ranks each pair of ranks has a link of its own, except that a torus stands on the mesh nearest to a "
          + "square. A torus is planned for the mesh that it stands on: along a dimension that does not wrap, its rings are "
          + "folded."
    },
    footer = {
      "  collectives simulate --algorithm ring,torus --mesh 128x32 --bytes 102400000",
      "  collectives simulate --algorithm torus --mesh 8x8 --link y=2us,10GB/s --gamma 0.01ns/B",
      "  collectives simulate --algorithm ring,torus --mesh 2x2,4x4,8x8,16x16 --wrap none,xy --chart figure.png",
      "  collectives simulate --algorithm direct --ranks 2..64 --host-bandwidth 100Gbit/s --format tsv",
      "",
      "Exit status: 0 all went well; 1 the picture could not be written; 2 wrong usage."
    })
final class Simulate implements Callable<Integer> {
  private static final Pattern LINK =
      Pattern.compile("(x|y|other|(\\d{1,5})-(\\d{1,5}))=(.*),(.*)");

  @Spec private CommandSpec spec;

  @Option(
      names = "--algorithm",
      split = ",",
      defaultValue = "ring",
      paramLabel = "ALGORITHM,...",
      hideParamSyntax = true,
      description =
          "Whose plans: "
              + AlgorithmChoice.FORMS
              + ", or the name of any other. Default: ${DEFAULT-VALUE}.")
  private List<PlanChoice> algorithms = List.of();

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
      defaultValue = "xy",
      paramLabel = "WRAP,...",
      hideParamSyntax = true,
      description =
          "Which dimensions of the mesh are linked end to end: x, y, xy or none. Default: ${DEFAULT-VALUE}.")
  private List<Wrap> wraps = List.of();

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
          "Latency and bandwidth of other links: LINKS is x or y, a dimension of a mesh; other, the links of pairs; or FROM-TO, "
              + "one link between two ranks one way. May be repeated.")
  private List<String> links = new ArrayList<>();

  @Option(
      names = "--host-bandwidth",
      paramLabel = "RATE",
      description = "What all links of a rank share, each way. Default: they share nothing.")
  private Optional<String> hostBandwidth = Optional.empty();

  @Option(
      names = "--chart",
      paramLabel = "FILE",
      description = "Draw the times over the ranks, as FILE.png or FILE.svg.")
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

  @Override
  public Integer call() throws IOException {
    Wire wire =
        new Wire(
            read("--alpha", alpha, Quantities::nanos),
            read("--bandwidth", bandwidth, Quantities::nanosPerByte));
    double add = read("--gamma", gamma, Quantities::timePerByte);
    double host =
        hostBandwidth
            .map(rate -> read("--host-bandwidth", rate, Quantities::nanosPerByte))
            .orElse(0.0);
    Usage.require(
        slabs >= 1 && slabs <= 65_536, spec, "--slabs " + slabs + ": must be from 1 to 65536");
    chart.ifPresent(
        file ->
            Usage.require(
                TimeChart.canWrite(file),
                spec,
                "--chart " + file + ": must end with .png or .svg"));
    List<Case> cases = cases(wire);
    FigureTable table =
        new FigureTable(
            2,
            "algorithm",
            "network",
            "ranks",
            "bytes",
            "time",
            "closed form",
            "algbw",
            "busbw",
            "rounds",
            "on x",
            "busy",
            "on y",
            "busy",
            "other",
            "busy",
            "busiest");
    Map<String, SortedMap<Integer, Double>> lines = new LinkedHashMap<>();
    try (Progress progress = new Progress(spec.commandLine().getErr(), Progress.onTerminal())) {
      for (Case one : cases) {
        for (ByteSize size : sizes) {
          if (Progress.onTerminal() && one.size.ranks() > 256) {
            progress.step(one.label + " on " + one.network);
          }
          Costs costs = new Costs(size.bytes(), slabs, add, host);
          Outcome outcome = simulate(one, costs);
          row(table, one, size, outcome, ClosedForm.nanos(one.algorithm, one.network, costs));
          lines
              .computeIfAbsent(
                  one.series + (sizes.size() > 1 ? ", " + size : ""), name -> new TreeMap<>())
              .put(one.size.ranks(), outcome.nanos());
        }
      }
      progress.clear();
    }
    table.print(format, spec.commandLine().getOut(), assumptions());
    if (chart.isPresent()) {
      TimeChart.write(
          "All-reduce, simulated: "
              + (sizes.size() == 1 ? sizes.get(0) + ", " : "")
              + "latency "
              + alpha
              + ", links of "
              + bandwidth,
          lines,
          chart.get());
    }
    return 0;
  }

  private Outcome simulate(Case one, Costs costs) {
    try {
      return Simulation.run(one.plan, one.network, costs);
    } catch (IllegalArgumentException e) {
      throw Usage.error(spec, one.label + ": " + e.getMessage());
    }
  }

  private List<String> assumptions() {
    return List.of(
        "Assumed: "
            + alpha
            + " and "
            + bandwidth
            + " on each link each way"
            + links.stream().map(link -> ", but " + link).reduce("", String::concat)
            + "; "
            + hostBandwidth
                .map(rate -> rate + " in and out of each rank")
                .orElse("no limit for a rank")
            + "; "
            + gamma
            + " to add; "
            + (slabs == 1 ? "1 slab." : slabs + " slabs, all in flight."),
        "Chunks are equal; hops are cut-through; each lane of a rank adds one thing at a time; links serve in the plan's "
            + "order.");
  }

  private List<Case> cases(Wire wire) {
    List<Size> all = new ArrayList<>();
    Usage.require(
        meshes.isEmpty() || ranks.isEmpty(),
        spec,
        "--ranks and --mesh: only one of them can be given");
    if (meshes.isPresent()) {
      all.addAll(read("--mesh", meshes.get(), Size::parse));
      for (Size size : all) {
        Usage.require(
            size.mesh().isPresent(),
            spec,
            "--mesh: '" + size.ranks() + "' is no mesh; write 4x4, or --ranks " + size.ranks());
      }
    } else {
      all.addAll(read("--ranks", ranks.orElse("8"), Size::parse));
    }
    List<Case> cases = new ArrayList<>();
    for (PlanChoice algorithm : algorithms) {
      for (Wrap wrap : meshes.isPresent() ? wraps : List.of(Wrap.XY)) {
        for (Size size : all) {
          try {
            cases.add(theCase(algorithm, wrap, wrap.of(size), wire));
          } catch (IllegalArgumentException e) {
            throw Usage.error(spec, e.getMessage());
          }
        }
      }
    }
    return cases;
  }

  private Case theCase(PlanChoice choice, Wrap wrap, Size size, Wire wire) {
    Algorithm algorithm = choice.algorithm(size);
    Plan plan = choice.plan(size);
    Optional<Mesh> mesh =
        size.mesh()
            .or(
                () ->
                    algorithm instanceof Algorithm.Torus torus
                        ? Optional.of(torus.mesh())
                        : Optional.empty());
    Network network =
        mesh.map(m -> Network.of(m, wire)).orElseGet(() -> Network.ofPairs(size.ranks(), wire));
    for (String link : links) {
      different(network, link);
    }
    String series = choice + (size.mesh().isPresent() ? ", wrap " + wrap : "");
    return new Case(choice.label(size), series, size, algorithm, plan, network);
  }

  private static void different(Network network, String text) {
    Matcher matcher = LINK.matcher(text);
    if (!matcher.matches()) {
      throw new IllegalArgumentException(
          "--link: '" + text + "' is no link; write x=1us,70GB/s, y=…, other=… or 3-4=…");
    }
    try {
      Wire wire =
          new Wire(Quantities.nanos(matcher.group(4)), Quantities.nanosPerByte(matcher.group(5)));
      if (matcher.group(2) != null) {
        network.with(Integer.parseInt(matcher.group(2)), Integer.parseInt(matcher.group(3)), wire);
      } else {
        network.with(LinkClass.valueOf(matcher.group(1).toUpperCase(Locale.ROOT)), wire);
      }
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("--link " + text + ": " + e.getMessage(), e);
    }
  }

  private <T> T read(String option, String text, Function<String, T> reader) {
    try {
      return reader.apply(text);
    } catch (IllegalArgumentException e) {
      throw Usage.error(spec, option + ": " + e.getMessage());
    }
  }

  private static void row(
      FigureTable table, Case one, ByteSize size, Outcome outcome, OptionalDouble closed) {
    int n = one.size.ranks();
    double algbw = outcome.nanos() == 0 ? 0 : size.bytes() / outcome.nanos();
    double busbw = algbw * 2 * (n - 1) / n;
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("algorithm", one.label);
    fields.put("network", one.network);
    fields.put("ranks", n);
    fields.put("bytes", size.bytes());
    fields.put("time_us", decimal(outcome.nanos() / 1e3, 6));
    fields.put(
        "closed_form_us",
        closed.isPresent() ? decimal(closed.getAsDouble() / 1e3, 6) : Fields.NONE);
    fields.put("algbw_GBps", decimal(algbw, 6));
    fields.put("busbw_GBps", decimal(busbw, 6));
    fields.put("rounds", outcome.rounds());
    fields.put("transfers", outcome.transfers());
    List<String> cells = new ArrayList<>();
    cells.add(one.label);
    cells.add(one.network.toString());
    cells.add(Units.grouped(n));
    cells.add(size.toString());
    cells.add(Units.time(outcome.nanos()));
    cells.add(closed.isPresent() ? Units.time(closed.getAsDouble()) : Fields.NONE);
    cells.add(Units.rate(algbw));
    cells.add(Units.rate(busbw));
    cells.add(Units.grouped(outcome.rounds()));
    for (LinkClass each : LinkClass.values()) {
      Outcome.Traffic traffic = outcome.traffic().get(each);
      boolean used = traffic != null;
      fields.put(each + "_links", used ? traffic.links() : 0);
      fields.put(each + "_bytes", decimal(used ? traffic.bytes() : 0, 1));
      fields.put(each + "_link_most_bytes", decimal(used ? traffic.mostBytes() : 0, 1));
      fields.put(each + "_busy", decimal(outcome.busyShare(each), 6));
      cells.add(used ? amount(traffic.bytes()) : Fields.NONE);
      cells.add(used ? percent(outcome.busyShare(each)) : Fields.NONE);
    }
    boolean any = !outcome.busiestLink().isEmpty();
    double share = outcome.nanos() == 0 ? 0 : outcome.busiestNanos() / outcome.nanos();
    fields.put("busiest_link", any ? outcome.busiestLink() : Fields.NONE);
    fields.put("busiest_class", any ? outcome.busiestClass() : Fields.NONE);
    fields.put("busiest_busy", decimal(share, 6));
    cells.add(
        any
            ? outcome.busiestLink() + " (" + outcome.busiestClass() + ") " + percent(share)
            : Fields.NONE);
    table.row(cells, fields);
  }

  private static String percent(double share) {
    return String.format(Locale.ROOT, "%.1f %%", 100 * share);
  }

  private static String amount(double bytes) {
    return bytes < 1e6
        ? String.format(Locale.ROOT, "%.0f B", bytes)
        : String.format(
            Locale.ROOT, bytes < 1e9 ? "%.2f MB" : "%.2f GB", bytes / (bytes < 1e9 ? 1e6 : 1e9));
  }

  private static BigDecimal decimal(double value, int decimals) {
    return BigDecimal.valueOf(value).setScale(decimals, RoundingMode.HALF_UP);
  }

  /** A plan on a network. */
  private record Case(
      String label, String series, Size size, Algorithm algorithm, Plan plan, Network network) {}

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
