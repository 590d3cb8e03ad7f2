package io.collectives.bench;

import io.collectives.bench.report.ByteSize;
import io.collectives.bench.report.Fields;
import io.collectives.bench.report.Progress;
import io.collectives.bench.report.Units;
import io.collectives.bench.simulate.LinkClass;
import io.collectives.bench.simulate.Outcome;
import io.collectives.bench.simulate.PaperFigure;
import io.collectives.bench.simulate.StepFigure;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code collectives paper}: the figures of papers, beside what the papers print. */
@Command(
    name = "paper",
    customSynopsis = "collectives paper [OPTION...] [FIGURE...]",
    sortOptions = false,
    descriptionHeading = "%n",
    parameterListHeading = "%nFigures:%n",
    optionListHeading = "%nOptions:%n",
    footerHeading = "%nExamples:%n",
    description = {
      "Simulate figures of the papers that the library implements, beside what the papers print.",
      "",
      "time is what the plan takes on links that serve in its order, as simulate says; by arrival, "
          + "on links that serve what comes first, for plans of up to 1,024 ranks that are not too "
          + "long. least is a time that no plan can go below on these links, because so many bytes "
          + "must cross them. Below the table stands what was assumed.",
      "",
      "Figures about whole steps come from the model of simulate --step: time is that of a step, "
          + "calls what its calls take one after the other, exposed by how much the step is longer "
          + "than its computing. Beside the paper's number stands the constant that would give it."
    },
    footer = {
      "  collectives paper herring-10 herring-iii",
      "  collectives paper kumar-6 kumar-8",
      "  collectives paper ying-7 --format tsv",
      "",
      "Exit status: 0 all went well; 2 wrong usage."
    })
final class Paper implements Callable<Integer> {
  @Spec private CommandSpec spec;

  @Parameters(
      paramLabel = "FIGURE",
      arity = "0..*",
      hideParamSyntax = true,
      description =
          "Which: ying-7, kumar-pods, herring-10 or herring-iii, about calls; kumar-6, kumar-8, "
              + "herring-11 or herring-i, about whole steps. Default: all of them.")
  private List<String> figures = List.of();

  @Mixin private FormatOption format;

  @Mixin private HelpOption help;

  @Override
  public Integer call() {
    PrintWriter out = spec.commandLine().getOut();
    List<Object> all = new ArrayList<>(List.of(PaperFigure.values()));
    all.addAll(List.of(StepFigure.values()));
    for (Object each : wanted(all)) {
      if (each instanceof PaperFigure figure) {
        calls(figure, out);
      } else if (each instanceof StepFigure figure) {
        steps(figure, out);
      }
      if (format.wanted() == Format.TABLE) {
        out.println();
      }
    }
    return 0;
  }

  private void steps(StepFigure figure, PrintWriter out) {
    StepFigureTable table = new StepFigureTable(figure);
    try (Progress progress = new Progress(spec.commandLine().getErr())) {
      table.fill(progress);
      progress.clear();
    }
    title(figure, figure.title(), out);
    table.print(format.wanted(), out);
  }

  private void title(Object figure, String title, PrintWriter out) {
    if (format.wanted() == Format.TABLE) {
      out.println(figure + ": " + title);
      out.println();
    }
  }

  private void calls(PaperFigure figure, PrintWriter out) {
    FigureTable table =
        new FigureTable(
            2,
            "algorithm",
            "network",
            "ranks",
            "bytes",
            "slabs",
            figure.isOfBytes() ? "MB" : "time",
            "by arrival",
            "least",
            "time/least",
            "paper",
            "ratio");
    try (Progress progress = new Progress(spec.commandLine().getErr())) {
      for (PaperFigure.Case each : figure.cases()) {
        progress.step(figure + ": " + each.label() + " on " + each.scenario().network());
        row(table, figure, each);
      }
      progress.clear();
    }
    title(figure, figure.title(), out);
    table.print(format.wanted(), out, figure.notes());
  }

  private List<Object> wanted(List<Object> all) {
    List<Object> wanted = new ArrayList<>();
    for (String name : figures) {
      wanted.add(
          all.stream()
              .filter(figure -> figure.toString().equals(name))
              .findFirst()
              .orElseThrow(
                  () ->
                      Usage.error(
                          spec,
                          "'"
                              + name
                              + "' is no figure; there are "
                              + all.stream()
                                  .map(Object::toString)
                                  .collect(Collectors.joining(", ")))));
    }
    return wanted.isEmpty() ? all : wanted;
  }

  private static void row(FigureTable table, PaperFigure figure, PaperFigure.Case each) {
    Outcome outcome = each.run();
    OptionalDouble arrival = figure.isOfBytes() ? OptionalDouble.empty() : each.byArrival();
    OptionalDouble least = figure.isOfBytes() ? OptionalDouble.empty() : each.least();
    double found = figure.isOfBytes() ? carried(outcome) / (1 << 20) : outcome.nanos() / 1e6;
    String unit = figure.isOfBytes() ? " MB" : " ms";
    boolean printed = !Double.isNaN(each.paper());
    String label = each.scenario().label();
    String algorithm =
        each.label().contains(" at ")
            ? label + each.label().substring(each.label().indexOf(" at "))
            : label;
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("figure", figure);
    fields.put("algorithm", algorithm);
    fields.put("network", each.scenario().network());
    fields.put("ranks", each.scenario().members());
    fields.put("bytes", each.bytes());
    fields.put("slabs", each.slabs());
    fields.put("unit", unit.strip());
    fields.put("simulated", Fields.decimal(found, 6));
    fields.put("by_arrival", orNone(arrival));
    fields.put("least", orNone(least));
    fields.put("paper", printed ? Fields.decimal(each.paper(), 3) : Fields.NONE);
    fields.put("ratio", printed ? Fields.decimal(found / each.paper(), 4) : Fields.NONE);
    table.row(
        List.of(
            algorithm,
            each.scenario().network().toString(),
            Units.grouped(each.scenario().members()),
            bytes(each.bytes()),
            Units.grouped(each.slabs()),
            figure.isOfBytes() ? amount(found) : Units.time(outcome.nanos()),
            arrival.isPresent() ? Units.time(arrival.getAsDouble()) : Fields.NONE,
            least.isPresent() ? Units.time(least.getAsDouble()) : Fields.NONE,
            least.isPresent() ? Units.ratio(outcome.nanos() / least.getAsDouble(), 2) : Fields.NONE,
            printed ? amount(each.paper()) + unit : Fields.NONE,
            printed ? Units.ratio(found / each.paper(), 2) : Fields.NONE),
        fields);
  }

  /** Papers count payloads in powers of 1,000. */
  private static String bytes(long bytes) {
    return bytes % 1_000_000 == 0
        ? Units.grouped(bytes / 1_000_000) + " MB"
        : new ByteSize(bytes).toString();
  }

  private static double carried(Outcome outcome) {
    Outcome.Traffic nics = outcome.traffic().get(LinkClass.NIC);
    return nics == null ? 0 : nics.mostBytes();
  }

  private static String amount(double number) {
    return number >= 100
        ? Units.grouped(Math.round(number))
        : String.format(Locale.ROOT, "%.2f", number);
  }

  private static Object orNone(OptionalDouble nanos) {
    return nanos.isPresent() ? Fields.decimal(nanos.getAsDouble() / 1e6, 6) : Fields.NONE;
  }
}
