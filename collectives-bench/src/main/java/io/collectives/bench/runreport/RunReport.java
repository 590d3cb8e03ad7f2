package io.collectives.bench.runreport;

import io.collectives.bench.report.Units;
import io.collectives.bench.runreport.RankReport.CallKind;
import io.collectives.bench.runreport.RankReport.Calls;
import io.collectives.bench.runreport.RankReport.Choice;
import io.collectives.bench.runreport.ReducerRun.RankRow;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;

/** The report of a run: those of all ranks, merged. */
public final class RunReport {
  /** The names of the files of a directory that are read. */
  public static final String FILES = "report-rank-*.tsv";

  private static final int MOST_FILES = 1 << 16;

  private final List<RankReport> reports;
  private final List<ReducerRun> runs = new ArrayList<>();
  private final Advice advice;

  /** A table: its title, the names of its columns, its rows, and sentences that explain it. */
  public record Table(
      String title, int words, List<String> columns, List<List<String>> rows, String about) {}

  private RunReport(List<RankReport> reports) {
    this.reports = reports;
    Set<Integer> numbers = new TreeSet<>();
    for (RankReport report : reports) {
      report
          .reducers()
          .forEach(
              (number, reducer) -> {
                if (reducer.steps() > 0) {
                  numbers.add(number);
                }
              });
    }
    numbers.forEach(number -> runs.add(new ReducerRun(number, reports)));
    this.advice = new Advice(reports, runs);
  }

  /**
   * Reads the reports of a directory.
   *
   * @throws IOException if one cannot be read or is wrong, or there is none, or they are not of one
   *     job; the message names the file or the directory
   */
  public static RunReport read(Path directory) throws IOException {
    if (!Files.isDirectory(directory)) {
      throw new IOException(
          directory + ": is no directory: name the one that COLLECTIVES_REPORT named");
    }
    List<Path> files = new ArrayList<>();
    try (DirectoryStream<Path> found = Files.newDirectoryStream(directory, FILES)) {
      for (Path file : found) {
        if (files.size() == MOST_FILES) {
          throw new IOException(directory + ": more than " + MOST_FILES + " reports");
        }
        files.add(file);
      }
    }
    if (files.isEmpty()) {
      throw new IOException(
          directory
              + ": no file of the name "
              + FILES
              + " is in this directory: set COLLECTIVES_REPORT to it for all ranks of a job");
    }
    Map<Integer, RankReport> reports = new TreeMap<>();
    RankReport any = null;
    for (Path file : files) {
      RankReport report = ReportFile.read(file);
      RankReport other = reports.put(report.job().rank(), report);
      any = any == null ? report : any;
      if (other != null || any.job().size() != report.job().size()) {
        throw new IOException(
            directory
                + ": the reports are of several jobs: rank "
                + report.job().rank()
                + " of "
                + report.job().size()
                + " does not fit rank "
                + any.job().rank()
                + " of "
                + any.job().size()
                + "; use a directory for each job");
      }
    }
    return new RunReport(List.copyOf(reports.values()));
  }

  /** Returns the run in some sentences. */
  public List<String> summary() {
    List<String> lines = new ArrayList<>();
    Set<String> hosts = new TreeSet<>();
    Set<String> transports = new TreeSet<>();
    long millis = 0;
    for (RankReport report : reports) {
      hosts.add(report.job().host());
      transports.addAll(report.machine().transports());
      millis = Math.max(millis, report.job().millis());
    }
    lines.add(
        reports.size()
            + " of "
            + reports.get(0).job().size()
            + " ranks on "
            + hosts.size()
            + (hosts.size() == 1 ? " host" : " hosts")
            + " reported "
            + Units.time(millis * 1e6)
            + "; they talk by "
            + String.join(" and ", transports)
            + ".");
    for (ReducerRun run : runs) {
      List<RankRow> rows = run.rankRows();
      double step = rows.stream().mapToDouble(row -> row.times().step()).max().orElse(1);
      double await = mean(rows, row -> row.times().await());
      double sums = mean(rows, row -> row.times().sums());
      lines.add(
          String.format(
              Locale.ROOT,
              "%s%,d steps, %.3g a second: %s each, of which ranks waited %s (%.0f %%) in await().",
              runs.size() > 1 ? "Reducer " + run.number() + ": " : "",
              run.steps(),
              1e6 / step,
              Units.time(step * 1e3),
              Units.time(await * 1e3),
              100 * await / step));
      lines.add(
          String.format(
              Locale.ROOT,
              "Sums of %,d bytes in %d buffers were under way for %s of a step (%s, waits for others"
                  + " included); %.0f %% of that was hidden behind the backward pass. Slowest rank:"
                  + " %s.",
              run.bytes(),
              run.ranks().get(0).buffers().size(),
              Units.time(sums * 1e3),
              Units.rate(run.bytes() / Math.max(1, sums * 1e3)),
              100 * mean(rows, RankRow::overlap),
              Advice.slowest(rows)));
    }
    if (runs.isEmpty()) {
      lines.add("No rank made a step of a GradientReducer; the report has calls only.");
    }
    return lines;
  }

  private static double mean(List<RankRow> rows, ToDoubleFunction<RankRow> figure) {
    return rows.stream().mapToDouble(figure).average().orElse(0);
  }

  /** Returns what to change, in sentences, the worst first. */
  public List<String> advice() {
    return advice.sentences();
  }

  List<RankReport> reports() {
    return reports;
  }

  List<ReducerRun> runs() {
    return runs;
  }

  /** Returns the tables of the run. */
  public List<Table> tables() {
    List<Table> tables = new ArrayList<>();
    for (ReducerRun run : runs) {
      String of = runs.size() > 1 ? " of reducer " + run.number() : "";
      tables.add(ranks(run, "Ranks" + of));
      tables.add(buffers(run, "Buffers" + of));
    }
    tables.add(machines());
    tables.add(calls());
    Table choices = choices();
    if (!choices.rows().isEmpty()) {
      tables.add(choices);
    }
    return tables;
  }

  private static Table ranks(ReducerRun run, String title) {
    List<List<String>> rows = new ArrayList<>();
    for (RankRow row : run.rankRows()) {
      rows.add(
          List.of(
              Integer.toString(row.report().job().rank()),
              Long.toString(row.steps()),
              millis(row.times().step()),
              millis(row.times().outside()),
              millis(row.times().backward()),
              millis(row.times().await()),
              percent(row.overlap()),
              millis(row.waited()),
              percent(row.score())));
    }
    return new Table(
        title,
        0,
        List.of(
            "rank",
            "steps",
            "step ms",
            "before ms",
            "backward ms",
            "await ms",
            "overlap",
            "waited ms",
            "score"),
        rows,
        "Means of all steps. Before: from the end of the step before to the first"
            + " gradient. Overlap: the share of the sums' time that was hidden behind the"
            + " backward pass. Waited: for other ranks, in a step. A sum ends at about the same"
            + " time on all ranks, so where it took the shortest time it was begun last, and the"
            + " others waited. Score: the share of the time for which others waited for this"
            + " rank; the slowest rank has the highest, and itself waits least. Waited and score"
            + " are of the "
            + run.lateness().steps()
            + " steps that all ranks have kept.");
  }

  private static Table buffers(ReducerRun run, String title) {
    List<List<String>> rows = new ArrayList<>();
    for (ReducerRun.BufferRow row : run.bufferRows()) {
      rows.add(
          List.of(
              row.buffer().closedBy().isEmpty() ? "-" : row.buffer().closedBy(),
              Integer.toString(row.index()),
              Integer.toString(row.buffer().lane()),
              Units.grouped(row.buffer().bytes()),
              Long.toString(row.buffer().tensors()),
              millis(row.ready()),
              millis(row.begun()),
              millis(row.ended()),
              millis(row.shortest())));
    }
    return new Table(
        title,
        1,
        List.of(
            "closed by",
            "buffer",
            "lane",
            "bytes",
            "tensors",
            "ready ms",
            "begun ms",
            "ended ms",
            "sum ms"),
        rows,
        "Medians, from the first gradient of the step. A buffer that was begun later than it was"
            + " ready waited for the one before it in its lane. Sum: on the rank where it was"
            + " shortest, so without waits for other ranks. Closed by: the tensor that became ready"
            + " last, in the last step of rank "
            + run.reports().get(0).job().rank()
            + ".");
  }

  private Table machines() {
    List<List<String>> rows = new ArrayList<>();
    for (RankReport report : reports) {
      rows.add(
          List.of(
              report.job().host(),
              String.join(",", report.machine().transports()),
              Integer.toString(report.job().rank()),
              percent(report.machine().gcMillis() / (double) report.job().millis()),
              Long.toString(report.machine().collections()),
              Units.grouped(report.machine().heapBytes() >> 20),
              Units.grouped(report.machine().libraryBytes() >> 20),
              Integer.toString(report.failures().size())));
    }
    return new Table(
        "Hosts, links and memory",
        2,
        List.of(
            "host",
            "transports",
            "rank",
            "GC",
            "collections",
            "heap MiB",
            "library MiB",
            "failures"),
        rows,
        "GC: the share of the run that garbage collections took. Library: the most memory that it"
            + " takes for frames and links.");
  }

  private Table calls() {
    Map<CallKind, Calls> sums = new LinkedHashMap<>();
    reports.stream()
        .flatMap(report -> report.calls().stream())
        .forEach(
            row ->
                sums.merge(
                    row.kind(),
                    row,
                    (a, b) ->
                        new Calls(
                            a.kind(),
                            a.calls() + b.calls(),
                            a.failed() + b.failed(),
                            a.bytes() + b.bytes(),
                            a.nanos() + b.nanos(),
                            Math.max(a.longestNanos(), b.longestNanos()))));
    List<List<String>> rows =
        sums.values().stream()
            .sorted(Comparator.comparingLong(Calls::nanos).reversed())
            .limit(50)
            .map(
                row ->
                    List.of(
                        row.kind().group(),
                        row.kind().collective(),
                        row.kind().algorithm(),
                        Units.grouped(row.kind().mostBytes()),
                        Units.grouped(row.calls()),
                        Units.grouped(row.failed()),
                        Units.grouped(row.bytes()),
                        millis(row.nanos() / 1e3 / Math.max(1, row.calls())),
                        millis(row.longestNanos() / 1e3)))
            .collect(Collectors.toList());
    return new Table(
        "Calls",
        3,
        List.of(
            "group",
            "collective",
            "algorithm",
            "up to bytes",
            "calls",
            "failed",
            "bytes",
            "mean ms",
            "longest ms"),
        rows,
        "Of all ranks, those that took longest first. Times contain waits for other ranks.");
  }

  private Table choices() {
    Set<List<String>> rows = new LinkedHashSet<>();
    for (RankReport report : reports) {
      for (Choice choice : report.choices()) {
        rows.add(
            List.of(
                choice.algorithm(), choice.row(), choice.source(), Units.grouped(choice.bytes())));
      }
    }
    return new Table(
        "Choices of auto for all-reduces",
        3,
        List.of("algorithm", "row", "source", "bytes"),
        List.copyOf(rows),
        "The row of the table that says so, for the mean payload of each size that was summed.");
  }

  private static String millis(double micros) {
    return String.format(Locale.ROOT, "%.3f", micros / 1e3);
  }

  private static String percent(double share) {
    return String.format(Locale.ROOT, "%.1f %%", 100 * share);
  }
}
