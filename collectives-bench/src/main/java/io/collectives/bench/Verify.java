package io.collectives.bench;

import io.collectives.bench.perf.AlgorithmChoice;
import io.collectives.bench.report.Progress;
import io.collectives.bench.report.Units;
import io.collectives.bench.simulate.PlanChoice;
import io.collectives.bench.simulate.Size;
import io.collectives.plan.InvalidPlanException;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanFigures;
import io.collectives.plan.PlanVerifier;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code collectives verify}: the proof that a plan is right. */
@Command(
    name = "verify",
    customSynopsis = "collectives verify [OPTION...]",
    sortOptions = false,
    descriptionHeading = "%n",
    optionListHeading = "%nOptions:%n",
    footerHeading = "%nExamples:%n",
    description = {
      "Prove the plans of all-reduces, and count what they cost.",
      "",
      "Sets of contributors are moved through each plan: every rank must end with every contribution to every chunk exactly "
          + "once. Up to 64 ranks the sets are exact; above, they are sums of random tags of 64 bits. 'sent' is what the "
          + "busiest rank sends, as a multiple of the payload; 'frames' the most on a link in a round; 'links' how many pairs "
          + "have a transfer; 'peers' the most that a rank has."
    },
    footer = {
      "  collectives verify                                       all algorithms on 1 to 64 ranks",
      "  collectives verify --algorithm torus --mesh 1x1..8x8     tori of all shapes",
      "  collectives verify --algorithm ring --ranks 4096         33 million transfers",
      "  collectives verify --algorithm my-own --ranks 2..32      one of a module of your own on the class path",
      "",
      "Exit status: 0 all are right; 1 one is wrong; 2 wrong usage."
    })
final class Verify implements Callable<Integer> {
  @Spec private CommandSpec spec;

  @Option(
      names = "--algorithm",
      split = ",",
      defaultValue =
          "ring,bidirectional-ring,shortest-way-ring,torus,direct,halving-doubling,double-binary-tree,parameter-server",
      paramLabel = "ALGORITHM,...",
      hideParamSyntax = true,
      description =
          "Whose plans: "
              + AlgorithmChoice.FORMS
              + ", or the name of any other. Default: all eight.")
  private List<PlanChoice> algorithms = List.of();

  @Option(
      names = {"-n", "--ranks", "--mesh"},
      defaultValue = "1..64",
      paramLabel = "RANKS,...",
      description =
          "How many ranks, as 8, 4,16 or 1..64, or meshes, as 4x4 or 1x1..8x8. Without a mesh a torus takes the one nearest "
              + "to a square. Default: ${DEFAULT-VALUE}.")
  private String ranks = "";

  @Option(
      names = "--wrap",
      split = ",",
      defaultValue = "xy",
      paramLabel = "WRAP,...",
      hideParamSyntax = true,
      description =
          "Which dimensions of a mesh are linked end to end: x, y, xy or none. Default: ${DEFAULT-VALUE}.")
  private List<Simulate.Wrap> wraps = List.of();

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
  public Integer call() {
    List<Size> sizes;
    try {
      sizes = sizes();
    } catch (IllegalArgumentException e) {
      throw Usage.error(spec, "--ranks: " + e.getMessage());
    }
    FigureTable table =
        new FigureTable(
            1,
            "algorithm",
            "ranks",
            "chunks",
            "lanes",
            "rounds",
            "transfers",
            "sent",
            "2(n-1)/n",
            "frames",
            "links",
            "peers");
    int proven = 0;
    try (Progress progress = new Progress(spec.commandLine().getErr(), Progress.onTerminal())) {
      for (PlanChoice algorithm : algorithms) {
        for (Size size : sizes) {
          Plan plan = plan(algorithm, size);
          String label = algorithm.label(size);
          if (Progress.onTerminal() && size.ranks() > 256) {
            progress.step(label + ", " + size.ranks() + " ranks");
          }
          PlanFigures figures;
          try {
            figures = PlanVerifier.verify(plan);
          } catch (InvalidPlanException e) {
            progress.clear();
            spec.commandLine()
                .getErr()
                .println(
                    "collectives verify: "
                        + label
                        + " on "
                        + size.ranks()
                        + " ranks is wrong: "
                        + e.getMessage());
            return Main.FAILED;
          } catch (IllegalArgumentException e) {
            throw Usage.error(spec, label + ": " + e.getMessage());
          }
          row(table, label, figures);
          proven++;
        }
      }
      progress.clear();
    }
    table.print(
        format,
        spec.commandLine().getOut(),
        List.of(
            proven == 1 ? "The plan is right." : "All " + Units.grouped(proven) + " are right."));
    return 0;
  }

  private List<Size> sizes() {
    List<Size> sizes = new ArrayList<>();
    for (Size size : Size.parse(ranks)) {
      if (size.mesh().isEmpty()) {
        sizes.add(size);
      } else {
        wraps.forEach(wrap -> sizes.add(wrap.of(size)));
      }
    }
    return sizes;
  }

  private Plan plan(PlanChoice algorithm, Size size) {
    try {
      return algorithm.plan(size);
    } catch (IllegalArgumentException e) {
      throw Usage.error(spec, "--algorithm: " + e.getMessage());
    }
  }

  private static void row(FigureTable table, String label, PlanFigures figures) {
    double sent = figures.mostBytesSent(1);
    double least = 2.0 * (figures.ranks() - 1) / figures.ranks();
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("algorithm", label);
    fields.put("ranks", figures.ranks());
    fields.put("chunks", figures.chunks());
    fields.put("lanes", figures.lanes());
    fields.put("rounds", figures.rounds());
    fields.put("transfers", figures.transfers());
    fields.put("sent_M", sent);
    fields.put("ring_M", least);
    fields.put("frames_per_link", figures.framesPerLink());
    fields.put("links", figures.links());
    fields.put("peers", figures.mostPeers());
    table.row(
        List.of(
            label,
            Units.grouped(figures.ranks()),
            Units.grouped(figures.chunks()),
            Units.grouped(figures.lanes()),
            Units.grouped(figures.rounds()),
            Units.grouped(figures.transfers()),
            String.format(Locale.ROOT, "%.4f M", sent),
            String.format(Locale.ROOT, "%.4f", least),
            Units.grouped(figures.framesPerLink()),
            Units.grouped(figures.links()),
            Units.grouped(figures.mostPeers())),
        fields);
  }
}
