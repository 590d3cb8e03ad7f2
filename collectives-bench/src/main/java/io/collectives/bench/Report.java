package io.collectives.bench;

import io.collectives.bench.report.Columns;
import io.collectives.bench.report.Columns.Column;
import io.collectives.bench.report.Fields;
import io.collectives.bench.runreport.ReportPage;
import io.collectives.bench.runreport.RunReport;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code collectives report}: the reports of the ranks of a run, merged and judged. */
@Command(
    name = "report",
    customSynopsis = "collectives report [OPTION...] DIRECTORY",
    sortOptions = false,
    descriptionHeading = "%n",
    parameterListHeading = "%nParameters:%n",
    optionListHeading = "%nOptions:%n",
    footerHeading = "%nExamples:%n",
    description = {
      "Merge the reports of the ranks of a run: where its time went, who was slow, what to change.",
      "",
      "Each rank of a job writes "
          + RunReport.FILES
          + " into the directory that the variable "
          + "COLLECTIVES_REPORT names (or CallSettings.withReportDirectory), every ten seconds and "
          + "when it closes its communicator: the steps of its gradient reducers, its calls, "
          + "garbage collections and failures, and the choices of auto.",
      "",
      "Printed are the run in some sentences, what to change, each with its number, and tables of "
          + "the ranks, buffers, links, calls and choices; each table says how its figures are "
          + "computed."
    },
    footer = {
      "  COLLECTIVES_REPORT=run1 collectives launch -n 4 -- java -cp app.jar Train",
      "  collectives report run1",
      "  collectives report --html run1.html run1",
      "",
      "Exit status: 0 reports were read, whatever they say; 1 one cannot be read; 2 wrong usage."
    })
final class Report implements Callable<Integer> {
  @Spec private CommandSpec spec;

  @Parameters(arity = "1", paramLabel = "DIRECTORY", description = "The directory of the reports.")
  private Path directory;

  @Option(
      names = "--html",
      paramLabel = "FILE",
      description = "Write a page with charts, too, which needs no network.")
  private @Nullable Path html;

  @Option(
      names = "--format",
      defaultValue = "table",
      paramLabel = "FORMAT",
      description = "table, or json for programs. Default: ${DEFAULT-VALUE}.")
  private Format format = Format.TABLE;

  @Mixin private HelpOption help;

  @Override
  public Integer call() throws IOException {
    Usage.require(format != Format.TSV, spec, "--format tsv: must be table or json");
    RunReport report = RunReport.read(directory);
    if (html != null) {
      Files.writeString(html, ReportPage.html(report));
    }
    PrintWriter out = spec.commandLine().getOut();
    if (format == Format.JSON) {
      json(out, report);
    } else {
      text(out, report);
    }
    out.flush();
    return 0;
  }

  private static void text(PrintWriter out, RunReport report) {
    report.summary().forEach(out::println);
    out.println();
    if (report.advice().isEmpty()) {
      out.println("Nothing stands out.");
    } else {
      out.println("What to change:");
      report.advice().forEach(line -> out.println("  * " + line));
    }
    for (RunReport.Table table : report.tables()) {
      out.println();
      out.println(table.title() + ":");
      List<Column> columns = new ArrayList<>();
      for (int i = 0; i < table.columns().size(); i++) {
        int index = i;
        int width = table.rows().stream().mapToInt(row -> row.get(index).length()).max().orElse(0);
        String header = table.columns().get(i);
        columns.add(
            i < table.words() ? Column.words(header, width) : Column.numbers(header, width));
      }
      Columns lines = new Columns(columns);
      out.println(lines.header());
      table.rows().forEach(row -> out.println(lines.line(row)));
      out.println(wrapped(table.about()));
    }
  }

  private static String wrapped(String text) {
    return text.replaceAll("(.{1,110})( |$)", "$1\n").stripTrailing();
  }

  private static void json(PrintWriter out, RunReport report) {
    out.println("{");
    out.println("  \"summary\": " + texts(report.summary()) + ",");
    out.println("  \"advice\": " + texts(report.advice()) + ",");
    out.println("  \"tables\": [");
    List<RunReport.Table> tables = report.tables();
    for (int i = 0; i < tables.size(); i++) {
      RunReport.Table table = tables.get(i);
      Map<String, Object> title = new LinkedHashMap<>();
      title.put("title", table.title());
      out.print("    [" + Fields.json(title));
      for (List<String> row : table.rows()) {
        Map<String, Object> fields = new LinkedHashMap<>();
        for (int j = 0; j < row.size(); j++) {
          fields.put(table.columns().get(j), j < table.words() ? row.get(j) : number(row.get(j)));
        }
        out.print(",\n      " + Fields.json(fields));
      }
      out.println("]" + (i < tables.size() - 1 ? "," : ""));
    }
    out.println("  ]");
    out.println("}");
  }

  private static Object number(String cell) {
    String plain = cell.replace(",", "").replace(" %", "");
    return plain.matches("-?\\d+") ? (Object) Long.valueOf(plain) : Double.valueOf(plain);
  }

  private static String texts(List<String> texts) {
    return texts.stream()
        .map(
            text -> {
              Map<String, Object> one = new LinkedHashMap<>();
              one.put("text", text);
              return "\n    " + Fields.json(one);
            })
        .collect(Collectors.joining(",", "[", "]"));
  }
}
