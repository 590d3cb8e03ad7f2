package io.collectives.bench;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.Mesh;
import io.collectives.bench.report.Fields;
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
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
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
      "Prove the plans of collectives, and count what they cost.",
      "",
      "Sets of contributors are moved through each plan: every rank must end with every "
          + "contribution to every chunk that is its own by then exactly once. Up to 64 ranks the "
          + "sets are exact; above, they are sums of random tags of 64 bits. Plans of a torus "
          + "must keep to the links of its mesh, but for those of gather, scatter and all-to-all.",
      "",
      "'sent' is what the busiest rank sends, as a multiple of the payload M (of an all-to-all, "
          + "that of one rank); 'least' what some rank must send in any plan; 'frames' the most "
          + "on a link in a round; 'links' how many pairs have a transfer; 'peers' the most that "
          + "a rank has."
    },
    footer = {
      "  collectives verify                                       all algorithms on 1 to 64 ranks",
      "  collectives verify --algorithm torus --mesh 1x1..8x8     tori of all shapes",
      "  collectives verify --algorithm ring --ranks 4096         33 million transfers",
      "  collectives verify --collective reduce-scatter,all-gather --algorithm torus --mesh 4x4",
      "  collectives verify --collective broadcast --root 3 --ranks 4..16",
      "  collectives verify --algorithm my-own --ranks 2..32      one of a module of your own on the class path",
      "",
      "Exit status: 0 all are right; 1 one is wrong; 2 wrong usage."
    })
final class Verify implements Callable<Integer> {
  @Spec private CommandSpec spec;

  @Option(
      names = "--algorithm",
      split = ",",
      paramLabel = "ALGORITHM,...",
      hideParamSyntax = true,
      completionCandidates = PlanChoice.Forms.class,
      description = "Whose plans: ${COMPLETION-CANDIDATES}. Default: all of them.")
  private List<PlanChoice> algorithms = List.of();

  @Option(
      names = "--collective",
      split = ",",
      defaultValue = "all-reduce",
      paramLabel = "COLLECTIVE,...",
      hideParamSyntax = true,
      description =
          "What the plans do: ${COMPLETION-CANDIDATES}. Every algorithm plans all of them. Default: ${DEFAULT-VALUE}.")
  private List<Collective> collectives = List.of();

  @Option(
      names = "--root",
      defaultValue = "0",
      paramLabel = "RANK",
      description =
          "The root of a broadcast, reduce, gather or scatter; the others have none. Default: ${DEFAULT-VALUE}.")
  private int root;

  @Option(
      names = {"-n", "--ranks", "--mesh"},
      defaultValue = "1..64",
      paramLabel = "RANKS,...",
      description =
          "How many ranks, as 8, 4,16 or 1..64, or meshes, as 4x4 or 1x1..8x8. Without a mesh a "
              + "torus takes the one nearest to a square. Default: ${DEFAULT-VALUE}.")
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

  @Mixin private FormatOption format;

  @Mixin private HelpOption help;

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
            2,
            "algorithm",
            "collective",
            "ranks",
            "chunks",
            "lanes",
            "rounds",
            "transfers",
            "sent",
            "least",
            "frames",
            "links",
            "peers");
    int proven = 0;
    try (Progress progress = new Progress(spec.commandLine().getErr())) {
      List<PlanChoice> chosen = algorithms.isEmpty() ? PlanChoice.all() : algorithms;
      progress.expect(
          collectives.size()
              * chosen.stream()
                  .flatMap(algorithm -> suiting(algorithm, sizes).stream())
                  .mapToDouble(Verify::work)
                  .sum());
      for (PlanChoice algorithm : chosen) {
        List<Size> suiting = suiting(algorithm, sizes);
        for (Collective collective : collectives) {
          for (Size size : suiting) {
            Plan plan = plan(algorithm, size, collective);
            String label = algorithm.label(size);
            progress.step(label + ", " + collective + ", " + size.ranks() + " ranks");
            PlanFigures figures;
            try {
              figures = verify(plan, algorithm.mesh(size));
            } catch (InvalidPlanException e) {
              progress.clear();
              spec.commandLine()
                  .getErr()
                  .println(
                      "collectives verify: "
                          + label
                          + ", "
                          + collective
                          + " on "
                          + size.ranks()
                          + " ranks, is wrong: "
                          + e.getMessage());
              return ExitStatus.FAILED;
            } catch (IllegalArgumentException e) {
              throw Usage.error(spec, label + ": " + e.getMessage());
            }
            int workers = workers(algorithm.algorithm(size), size.ranks());
            row(table, label, collective, figures, workers);
            progress.done(work(size));
            progress.clear();
            table.printSoFar(format.wanted(), spec.commandLine().getOut());
            proven++;
          }
        }
      }
    }
    table.print(
        format.wanted(),
        spec.commandLine().getOut(),
        List.of(
            proven == 1 ? "The plan is right." : "All " + Units.grouped(proven) + " are right."));
    return 0;
  }

  /** The transfers that a ring needs, which is what the time grows with at most. */
  private static double work(Size size) {
    return (double) size.ranks() * size.ranks();
  }

  private List<Size> suiting(PlanChoice algorithm, List<Size> sizes) {
    try {
      return algorithm.suiting(sizes);
    } catch (IllegalArgumentException e) {
      throw Usage.error(spec, "--algorithm: " + e.getMessage());
    }
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

  private Plan plan(PlanChoice algorithm, Size size, Collective collective) {
    if (collective.rooted() && root >= size.ranks() || root < 0) {
      throw Usage.error(
          spec,
          "--root " + root + ": ranks are 0 to " + (size.ranks() - 1) + " where there are fewest");
    }
    try {
      return algorithm.plan(size, collective, collective.rooted() ? root : 0);
    } catch (IllegalArgumentException e) {
      throw Usage.error(spec, "--algorithm: " + e.getMessage());
    }
  }

  /** Also that a plan for a mesh keeps to it, but where it is made for any two ranks. */
  private static PlanFigures verify(Plan plan, Optional<Mesh> mesh) {
    boolean anyTwoRanks =
        switch (plan.collective()) {
          case GATHER, SCATTER, ALL_TO_ALL -> true;
          case ALL_REDUCE, BARRIER, REDUCE_SCATTER, ALL_GATHER, BROADCAST, REDUCE -> false;
        };
    return mesh.isPresent() && !anyTwoRanks
        ? PlanVerifier.verify(plan, mesh.get())
        : PlanVerifier.verify(plan);
  }

  /**
   * Returns a lower bound of the bytes that the busiest rank sends in any plan, as a multiple of
   * the payload; a barrier has no payload.
   *
   * <p>In an all-reduce each element needs one transfer less than there are contributors to be
   * summed, and as many to be distributed; all ranks can share these transfers. Besides, each
   * contributor must send its payload once, as it is or as part of a sum.
   *
   * @param workers the number of ranks that contribute and want the sum; the others only serve
   */
  static double least(Collective collective, double n, double workers) {
    return switch (collective) {
      case ALL_REDUCE -> Math.max(workers > 1 ? 1 : 0, 2 * (workers - 1) / n);
      case REDUCE_SCATTER, ALL_GATHER, SCATTER, ALL_TO_ALL -> (n - 1) / n;
      case BROADCAST, REDUCE -> n == 1 ? 0 : 1;
      case GATHER -> n == 1 ? 0 : 1 / n;
      case BARRIER -> 0;
    };
  }

  private static int workers(Algorithm algorithm, int ranks) {
    return algorithm instanceof Algorithm.ParameterServer servers
        ? ranks - servers.dedicated()
        : ranks;
  }

  private static void row(
      FigureTable table, String label, Collective collective, PlanFigures figures, int workers) {
    boolean empty = collective == Collective.BARRIER;
    // The chunks of an all-to-all are the payloads of all ranks.
    int payloads = collective == Collective.ALL_TO_ALL ? figures.ranks() : 1;
    double sent = figures.mostBytesSent(payloads);
    double least = least(collective, figures.ranks(), workers);
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("algorithm", label);
    fields.put("collective", collective);
    fields.put("ranks", figures.ranks());
    fields.put("chunks", figures.chunks());
    fields.put("lanes", figures.lanes());
    fields.put("rounds", figures.rounds());
    fields.put("transfers", figures.transfers());
    fields.put("sent_M", empty ? Fields.NONE : sent);
    fields.put("least_M", empty ? Fields.NONE : least);
    fields.put("frames_per_link", figures.links().mostFrames());
    fields.put("links", figures.links().count());
    fields.put("peers", figures.links().mostPeers());
    table.row(
        List.of(
            label,
            collective.toString(),
            Units.grouped(figures.ranks()),
            Units.grouped(figures.chunks()),
            Units.grouped(figures.lanes()),
            Units.grouped(figures.rounds()),
            Units.grouped(figures.transfers()),
            empty ? Fields.NONE : Units.ratio(sent, 4) + " M",
            empty ? Fields.NONE : Units.ratio(least, 4),
            Units.grouped(figures.links().mostFrames()),
            Units.grouped(figures.links().count()),
            Units.grouped(figures.links().mostPeers())),
        fields);
  }
}
