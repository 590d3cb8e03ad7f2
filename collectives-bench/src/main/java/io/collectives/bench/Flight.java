package io.collectives.bench;

import io.collectives.bench.flight.FlightCall;
import io.collectives.bench.flight.FlightChart;
import io.collectives.bench.flight.FlightRecord;
import io.collectives.bench.flight.LineUp;
import io.collectives.bench.report.Fields;
import io.collectives.bench.report.Units;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code collectives flight}: flight records side by side. */
@Command(
    name = "flight",
    customSynopsis = "collectives flight [OPTION...] FILE|DIRECTORY...",
    sortOptions = false,
    descriptionHeading = "%n",
    parameterListHeading = "%nParameters:%n",
    optionListHeading = "%nOptions:%n",
    footerHeading = "%nExamples:%n",
    description = {
      "Line up the flight records of the ranks of a job: who was where when it failed.",
      "",
      "Each rank writes its record when a call fails, if CallSettings.withFlightDirectory names a "
          + "directory, as flight-rank-3.tsv; Communicator.flightRecord() gives it at any time. "
          + "All members of a group make the same calls in the same order, so the call that one "
          + "rank lacks, or describes differently, tells what went wrong.",
      "",
      "Printed are sentences about ranks that the others wait for and could exclude, ranks without a record, calls that a rank has not made, calls "
          + "on which the ranks do not agree, and what failed first; then the last calls, newest "
          + "last, and what each rank says of them: done, running, queued or failed, with the "
          + "time that it took so far; missing if the rank has not made the call; forgotten if "
          + "its record does not reach back so far. With --format tsv or json the sentences go to "
          + "standard error."
    },
    footer = {
      "  collectives flight records/",
      "  collectives flight --chart job.svg records/",
      "  collectives flight --last 5 flight-rank-0.tsv flight-rank-1.tsv",
      "",
      "Exit status: 0 records were read, whatever they say; 1 one cannot be read; 2 wrong usage."
    })
final class Flight implements Callable<Integer> {
  private static final String FILES = "flight-rank-*.tsv";

  /** More ranks than that get columns only if they have a record. */
  private static final int MOST_COLUMNS = 64;

  private static final int MOST_FILES = 1 << 16;

  @Spec private CommandSpec spec;

  @Parameters(
      arity = "1..*",
      paramLabel = "FILE|DIRECTORY",
      description = "Records, or directories of which the files " + FILES + " are read.")
  private List<Path> places = List.of();

  @Option(
      names = "--last",
      defaultValue = "20",
      paramLabel = "N",
      description = "How many calls are shown, from 1 to 1000000. Default: ${DEFAULT-VALUE}.")
  private int last;

  @Option(
      names = "--format",
      defaultValue = "table",
      paramLabel = "FORMAT",
      description = "Of the calls: ${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
  private Format format = Format.TABLE;

  @Option(
      names = "--chart",
      paramLabel = "FILE",
      description = "Draw the calls that are shown, as SVG or PNG: who was where, and when.")
  private Optional<Path> chart = Optional.empty();

  @Mixin private HelpOption help;

  @Override
  public Integer call() throws IOException {
    Usage.require(
        last >= 1 && last <= 1_000_000, spec, "--last " + last + ": must be from 1 to 1000000");
    Usage.requireChart(chart, spec);
    List<FlightRecord> records = new ArrayList<>();
    for (Path file : files()) {
      records.add(FlightRecord.read(file));
    }
    LineUp lineUp;
    try {
      lineUp = LineUp.of(records);
    } catch (IllegalArgumentException e) {
      throw new IOException(e.getMessage(), e);
    }
    if (chart.isPresent()) {
      FlightChart.write(lineUp, shown(lineUp), chart.get());
    }
    print(lineUp);
    return 0;
  }

  private List<Path> files() throws IOException {
    List<Path> files = new ArrayList<>();
    for (Path place : places) {
      if (!Files.isDirectory(place)) {
        files.add(place);
        continue;
      }
      int before = files.size();
      try (DirectoryStream<Path> found = Files.newDirectoryStream(place, FILES)) {
        for (Path file : found) {
          if (files.size() == MOST_FILES) {
            throw new IOException(place + ": more than " + MOST_FILES + " records");
          }
          files.add(file);
        }
      }
      if (files.size() == before) {
        throw new IOException(place + ": no file of the name " + FILES + " is in this directory");
      }
    }
    return files;
  }

  private void print(LineUp lineUp) {
    PrintWriter out = spec.commandLine().getOut();
    PrintWriter words = format == Format.TABLE ? out : spec.commandLine().getErr();
    List<String> findings = lineUp.findings();
    findings.forEach(words::println);
    words.flush();
    List<LineUp.Row> rows = lineUp.rows();
    if (rows.isEmpty()) {
      words.println("No rank has made a call.");
      words.flush();
    }
    List<Integer> ranks = lineUp.ranks();
    if (ranks.size() > MOST_COLUMNS) {
      ranks = ranks.stream().filter(lineUp::hasRecord).toList();
    }
    List<String> headers =
        new ArrayList<>(List.of("group", "collective", "algorithm", "sequence", "count"));
    ranks.forEach(rank -> headers.add("rank " + rank));
    FigureTable table = new FigureTable(3, headers.toArray(String[]::new));
    List<LineUp.Row> shown = shown(lineUp);
    for (LineUp.Row row : shown) {
      add(table, lineUp, row, ranks);
    }
    if (!shown.isEmpty()) {
      if (format == Format.TABLE && !findings.isEmpty()) {
        out.println();
      }
      table.print(
          format,
          out,
          List.of("The last " + shown.size() + " of " + rows.size() + " calls, newest last."));
    } else if (format == Format.JSON) {
      out.println("[]");
      out.flush();
    }
  }

  private List<LineUp.Row> shown(LineUp lineUp) {
    List<LineUp.Row> rows = lineUp.rows();
    return rows.subList(Math.max(0, rows.size() - last), rows.size());
  }

  private static void add(FigureTable table, LineUp lineUp, LineUp.Row row, List<Integer> ranks) {
    FlightCall.Operation what = row.any().operation();
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("group", row.group());
    fields.put("sequence", row.sequence());
    fields.put("collective", what.collective());
    fields.put("algorithm", what.algorithm());
    fields.put("op", what.op());
    fields.put("type", what.type());
    fields.put("count", what.count());
    List<String> cells =
        new ArrayList<>(
            List.of(
                row.group(),
                what.collective(),
                what.algorithm(),
                Long.toString(row.sequence()),
                Units.grouped(what.count())));
    for (int rank : ranks) {
      FlightCall call = row.calls().get(rank);
      OptionalLong millis = lineUp.millis(row, rank);
      String state =
          call != null
              ? call.progress().state()
              : switch (lineUp.state(row, rank)) {
                case MISSING -> "missing";
                case FORGOTTEN -> "forgotten";
                case NO_RECORD -> "no record";
                case OUTSIDE, PRESENT -> Fields.NONE;
              };
      cells.add(millis.isPresent() ? state + " " + time(millis.getAsLong()) : state);
      fields.put("rank_" + rank, state);
      fields.put("rank_" + rank + "_ms", millis.isPresent() ? millis.getAsLong() : Fields.NONE);
    }
    table.row(cells, fields);
  }

  private static String time(long millis) {
    return millis == 0 ? "<1 ms" : Units.time(millis * 1e6);
  }
}
