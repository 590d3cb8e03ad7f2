package io.collectives.bench;

import io.collectives.ElementType;
import io.collectives.WireType;
import io.collectives.bench.accuracy.AccuracyCase;
import io.collectives.bench.accuracy.Contributions;
import io.collectives.bench.accuracy.Deviation;
import io.collectives.bench.accuracy.WireChoice;
import io.collectives.bench.report.Chart;
import io.collectives.bench.report.Progress;
import io.collectives.bench.report.Scale;
import io.collectives.bench.report.Units;
import io.collectives.bench.simulate.PlanChoice;
import io.collectives.bench.simulate.Size;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.MathContext;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code collectives accuracy}: how far sums are from the exact ones. */
@Command(
    name = "accuracy",
    customSynopsis = "collectives accuracy [OPTION...]",
    sortOptions = false,
    descriptionHeading = "%n",
    optionListHeading = "%nOptions:%n",
    footerHeading = "%nExamples:%n",
    description = {
      "Measure how far all-reduced sums are from exact ones.",
      "",
      "Options with ',...' take several values, and every combination is measured; wire types "
          + "other than as-in-memory with float32 only, and feedback not with exchange, which has "
          + "none.",
      "",
      "Each rank contributes numbers of a normal distribution with mean 0 and deviation 1. The "
          + "exact sum is one in double that carries along what each addition loses. Errors are "
          + "relative to the root mean square of the exact sums: 'rms' is the root mean square of "
          + "the differences, 'max' the greatest of them. Figures depend on the options only.",
      "",
      "Up to 64 ranks are threads of this program, which reduce in process. More are simulated: "
          + "numbers are moved through the plan and rounded where the engine rounds them, which "
          + "gives the same bits; --simulate does so for fewer, too. Of many chunks only some are "
          + "looked at."
    },
    footer = {
      "  collectives accuracy",
      "  collectives accuracy --type float32,bfloat16,float16,float64 --wire as-in-memory",
      "  collectives accuracy --ranks 2,8,64,512,4096 --wire int8 --chart figure.svg",
      "  collectives accuracy --algorithm direct --ranks 8 --wire int8,int8+feedback --steps 1,10,100 --noise 0.1",
      "",
      "Exit status: 0 all went well; 1 a sum failed or the picture could not be written; 2 wrong usage."
    })
final class Accuracy implements Callable<Integer> {
  /** More would not be threads that this program can well have. */
  private static final int MOST_THREADS = 64;

  /** The most simulated ranks: what they hold of the chunks looked at fits a small heap. */
  private static final int MOST_RANKS = 4096;

  /** In frames of the default length no chunk is then cut, which would change groups of int8. */
  private static final int MOST_ELEMENTS = 65_536;

  @Spec private CommandSpec spec;

  @Option(
      names = "--algorithm",
      split = ",",
      paramLabel = "ALGORITHM,...",
      hideParamSyntax = true,
      completionCandidates = PlanChoice.Forms.class,
      description = "Who adds what to what: ${COMPLETION-CANDIDATES}. Default: all of them.")
  private List<PlanChoice> algorithms = List.of();

  @Option(
      names = "--type",
      split = ",",
      defaultValue = "float32",
      paramLabel = "TYPE,...",
      hideParamSyntax = true,
      description =
          "Of the elements: float32, float64, bfloat16, float16. Default: ${DEFAULT-VALUE}.")
  private List<ElementType> types = List.of();

  @Option(
      names = "--wire",
      split = ",",
      defaultValue = "as-in-memory,bfloat16,float16,int8",
      paramLabel = "WIRE,...",
      hideParamSyntax = true,
      description = "As what elements cross: " + WireChoice.FORMS + ". Default: ${DEFAULT-VALUE}.")
  private List<WireChoice> wires = List.of();

  @Option(
      names = {"-n", "--ranks"},
      defaultValue = "2,4,8,16,32,64",
      paramLabel = "RANKS,...",
      description = "How many ranks, as 8, 4,16,64 or 2..64, or meshes. Default: ${DEFAULT-VALUE}.")
  private String ranks = "";

  @Option(
      names = "--simulate",
      description = "Move the numbers through the plan, however few the ranks.")
  private boolean simulate;

  @Option(
      names = "--elements",
      defaultValue = "4096",
      paramLabel = "N",
      description =
          "How many elements are looked at, at least; in chunks of 256 or more, as many as that "
              + "takes. Default: ${DEFAULT-VALUE}.")
  private int elements;

  @Option(
      names = "--steps",
      split = ",",
      defaultValue = "1",
      paramLabel = "N,...",
      hideParamSyntax = true,
      description =
          "Reduce so many times, and take the error of what all results add up to. Default: ${DEFAULT-VALUE}.")
  private List<Integer> steps = List.of();

  @Option(
      names = "--noise",
      defaultValue = "0",
      paramLabel = "DEVIATION",
      description =
          "What each step adds to numbers that are else the same in all steps. Default: ${DEFAULT-VALUE}.")
  private double noise;

  @Option(
      names = "--seed",
      defaultValue = "1",
      paramLabel = "N",
      description = "Of the numbers. Default: ${DEFAULT-VALUE}.")
  private long seed;

  @Option(
      names = "--chart",
      paramLabel = "FILE",
      description =
          "Draw the rms errors over the ranks, or over the steps if there are several, as FILE.png or FILE.svg.")
  private Optional<Path> chart = Optional.empty();

  @Mixin private FormatOption format;

  @Mixin private HelpOption help;

  @Override
  public Integer call() throws IOException {
    Usage.requireChart(chart, spec);
    List<AccuracyCase> cases = cases();
    FigureTable table =
        new FigureTable(
            3, "algorithm", "type", "wire", "ranks", "by", "steps", "elements", "rms", "max");
    Chart picture =
        new Chart(
            overSteps() ? new Chart.Axis("steps", Scale.Unit.COUNT) : Chart.RANKS,
            new Chart.Axis("error, relative to the exact sums", Scale.Unit.NUMBER));
    try (Progress progress = new Progress(spec.commandLine().getErr())) {
      progress.expect(cases.stream().mapToDouble(work -> work.size().ranks()).sum());
      for (AccuracyCase work : cases) {
        progress.step(label(work) + ", " + work.wire() + ", " + work.size().ranks() + " ranks");
        List<Deviation> deviations = work.run(steps);
        for (int i = 0; i < steps.size(); i++) {
          row(table, work, steps.get(i), deviations.get(i));
          picture.point(
              line(work),
              overSteps() ? steps.get(i) : work.size().ranks(),
              deviations.get(i).rms());
        }
        progress.done(work.size().ranks());
        progress.clear();
        table.printSoFar(format.wanted(), spec.commandLine().getOut());
      }
    }
    table.print(format.wanted(), spec.commandLine().getOut(), below());
    if (chart.isPresent()) {
      picture.write(title(), where(), chart.get());
    }
    return 0;
  }

  private List<AccuracyCase> cases() {
    Usage.require(
        elements >= 1 && elements <= MOST_ELEMENTS,
        spec,
        "--elements " + elements + ": must be from 1 to " + MOST_ELEMENTS);
    for (int i = 0; i < steps.size(); i++) {
      Usage.require(
          steps.get(i) > (i == 0 ? 0 : steps.get(i - 1)) && steps.get(i) <= 100_000,
          spec,
          "--steps " + steps.get(i) + ": must be from 1 to 100000, in rising order");
    }
    Contributions contributions;
    List<Size> sizes;
    try {
      contributions = new Contributions(seed, noise);
    } catch (IllegalArgumentException e) {
      throw Usage.error(spec, "--noise: " + e.getMessage());
    }
    try {
      sizes = Size.parse(ranks);
    } catch (IllegalArgumentException e) {
      throw Usage.error(spec, "--ranks: " + e.getMessage());
    }
    for (ElementType type : types) {
      Usage.require(!type.isInteger(), spec, "--type " + type + ": sums of integers are exact");
    }
    List<AccuracyCase> cases = new ArrayList<>();
    for (PlanChoice algorithm : algorithms.isEmpty() ? PlanChoice.all() : algorithms) {
      List<Size> suiting = suiting(algorithm, sizes);
      for (ElementType type : types) {
        for (WireChoice wire : wires) {
          for (Size size : suiting) {
            add(cases, algorithm, size, type, wire, contributions);
          }
        }
      }
    }
    Usage.require(
        !cases.isEmpty(), spec, "--wire: none of these fits any --type and --algorithm given");
    return cases;
  }

  private List<Size> suiting(PlanChoice algorithm, List<Size> sizes) {
    try {
      return algorithm.suiting(sizes);
    } catch (IllegalArgumentException e) {
      throw Usage.error(spec, "--algorithm: " + e.getMessage());
    }
  }

  private void add(
      List<AccuracyCase> cases,
      PlanChoice algorithm,
      Size size,
      ElementType type,
      WireChoice wire,
      Contributions contributions) {
    Usage.require(
        size.ranks() <= MOST_RANKS,
        spec,
        "--ranks: " + size.ranks() + " ranks: up to " + MOST_RANKS + " can be simulated");
    boolean simulated = simulate || size.ranks() > MOST_THREADS;
    AccuracyCase work =
        new AccuracyCase(algorithm, size, type, wire, elements, contributions, simulated);
    try {
      if (work.exists()) {
        algorithm.plan(size);
        cases.add(work);
      }
    } catch (IllegalArgumentException e) {
      throw Usage.error(spec, "--algorithm: " + e.getMessage());
    }
  }

  private boolean overSteps() {
    return steps.size() > 1;
  }

  private static String label(AccuracyCase work) {
    return work.algorithm().label(work.size());
  }

  /** A line for everything that differs between cases but what it is drawn over. */
  private String line(AccuracyCase work) {
    List<String> name = new ArrayList<>();
    name.add(work.algorithm().toString());
    if (types.size() > 1) {
      name.add(work.type().toString());
    }
    if (wires.size() > 1) {
      name.add(work.wire().toString());
    }
    if (overSteps()) {
      name.add(work.size().ranks() + " ranks");
    }
    return String.join(", ", name);
  }

  private String title() {
    return Stream.of(
            "Error of sums",
            types.size() == 1 ? " of " + types.get(0) : "",
            wires.size() > 1
                ? ""
                : wires.get(0).type() == WireType.AS_IN_MEMORY
                    ? " that cross the links as they are"
                    : " that cross the links as " + wires.get(0),
            overSteps() ? ", added up over steps" : "")
        .reduce("", String::concat);
  }

  private String where() {
    return (overSteps() ? "" : "the sums of one all-reduce; ")
        + "normally distributed numbers, seed "
        + seed
        + (noise > 0 ? ", noise " + noise : "")
        + "; root mean square of at least "
        + Units.grouped(elements)
        + " errors";
  }

  private List<String> below() {
    return List.of(
        "Contributions: normal, mean 0, deviation 1"
            + (noise > 0 ? ", and noise of deviation " + noise + " in each step" : "")
            + "; seed "
            + seed
            + ".",
        "Errors: relative to the root mean square of the exact sums"
            + (overSteps() || steps.get(0) > 1 ? ", which add up over the steps." : "."));
  }

  private static void row(FigureTable table, AccuracyCase work, int step, Deviation deviation) {
    int elements = work.lookedAt();
    String by = work.simulated() ? "plan" : "engine";
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("algorithm", label(work));
    fields.put("type", work.type());
    fields.put("wire", work.wire());
    fields.put("ranks", work.size().ranks());
    fields.put("by", by);
    fields.put("steps", step);
    fields.put("elements", elements);
    fields.put("rms_error", decimal(deviation.rms()));
    fields.put("max_error", decimal(deviation.greatest()));
    table.row(
        List.of(
            label(work),
            work.type().toString(),
            work.wire().toString(),
            Units.grouped(work.size().ranks()),
            by,
            Units.grouped(step),
            Units.grouped(elements),
            exponential(deviation.rms()),
            exponential(deviation.greatest())),
        fields);
  }

  private static String exponential(double value) {
    return String.format(Locale.ROOT, "%.2e", value);
  }

  private static BigDecimal decimal(double value) {
    return new BigDecimal(value, new MathContext(6));
  }
}
