package io.collectives.bench;

import io.collectives.bench.report.Fields;
import io.collectives.bench.report.Units;
import io.collectives.bench.timeline.JobTrace;
import io.collectives.bench.timeline.PerfettoFile;
import io.collectives.bench.timeline.Summary;
import io.collectives.bench.timeline.TimelineChart;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code collectives timeline}: the traces of the ranks of a job on one clock. */
@Command(
    name = "timeline",
    customSynopsis = "collectives timeline [OPTION...] DIRECTORY",
    sortOptions = false,
    descriptionHeading = "%n",
    parameterListHeading = "%nParameters:%n",
    optionListHeading = "%nOptions:%n",
    footerHeading = "%nExamples:%n",
    description = {
      "Lay the traces of the ranks of a job side by side: who waited for whom, and why.",
      "",
      "A rank is traced if COLLECTIVES_TRACE or CallSettings.withTraceDirectory names a directory, "
          + "or from Communicator.trace on. It writes trace-rank-3.tsv there when it closes its "
          + "world, when the trace ends, and when a call fails.",
      "",
      "The clocks of the ranks are compared by the frames that they have exchanged, which cannot "
          + "come before they were sent; the error that is left is told.",
      "",
      "Printed are sentences about the ranks that others waited for, and a row for each rank. A "
          + "rank that is waited for while it waits itself is not to blame: its wait is followed "
          + "to the rank that does not wait. With --format tsv or json the sentences go to "
          + "standard error."
    },
    footer = {
      "  collectives timeline traces/",
      "  collectives timeline traces/ -o job.perfetto-trace    to be opened at ui.perfetto.dev",
      "  collectives timeline traces/ --chart job.svg          the calls around the longest wait",
      "",
      "Exit status: 0 the traces were read, whatever they say; 1 one cannot be read; 2 wrong usage."
    })
final class Timeline implements Callable<Integer> {
  @Spec private CommandSpec spec;

  @Parameters(paramLabel = "DIRECTORY", description = "Where the ranks have written their traces.")
  private Path directory = Path.of(".");

  @Option(
      names = {"-o", "--out"},
      paramLabel = "FILE",
      description =
          "Write all of it for Perfetto: open ui.perfetto.dev in a browser, which reads the file "
              + "where it is and sends it nowhere.")
  private @Nullable Path out;

  @Option(
      names = "--chart",
      paramLabel = "FILE",
      description =
          "Draw a stretch of it, as SVG or PNG: a row for each rank, its calls, and what it did "
              + "in them.")
  private Optional<Path> chart = Optional.empty();

  @Option(
      names = "--from",
      paramLabel = "TIME",
      description =
          "Where the drawing begins, as 1.5 for 1.5 s after the first event. Default: before the "
              + "longest wait after the first calls.")
  private @Nullable Duration from;

  @Option(
      names = "--length",
      paramLabel = "TIME",
      description = "How much is drawn. Default: the longest wait and some time around it.")
  private @Nullable Duration length;

  @Option(
      names = "--format",
      defaultValue = "table",
      paramLabel = "FORMAT",
      description = "Of the rows: ${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
  private Format format = Format.TABLE;

  @Mixin private HelpOption help;

  @Override
  public Integer call() throws IOException {
    Usage.requireChart(chart, spec);
    Usage.require(
        chart.isPresent() || from == null && length == null,
        spec,
        "--from and --length say what --chart FILE draws, and that is missing");
    Usage.require(
        from == null || !from.isNegative(), spec, "--from " + from + ": must be at least 0");
    JobTrace job = JobTrace.read(directory);
    if (out != null) {
      PerfettoFile.write(job, out);
    }
    if (chart.isPresent()) {
      long[] stretch = TimelineChart.interesting(job);
      long begin = from == null ? stretch[0] : from.toNanos();
      long end = begin + (length == null ? stretch[1] - stretch[0] : length.toNanos());
      TimelineChart.write(job, begin, end, chart.get());
    }
    print(new Summary(job));
    return 0;
  }

  private void print(Summary summary) {
    PrintWriter to = spec.commandLine().getOut();
    PrintWriter words = format == Format.TABLE ? to : spec.commandLine().getErr();
    List<String> findings = summary.findings();
    findings.forEach(words::println);
    words.flush();
    FigureTable table =
        new FigureTable(
            0,
            "rank",
            "calls",
            "in calls",
            "working",
            "waiting",
            "GC",
            "most for",
            "others waited",
            "clock",
            "error");
    for (Summary.Row row : summary.rows()) {
      add(table, row);
    }
    if (format == Format.TABLE && !findings.isEmpty()) {
      to.println();
    }
    table.print(
        format,
        to,
        List.of(
            "From "
                + Units.time(summary.startedUp())
                + " after the first event on, when the first call had ended on all ranks.",
            "most for: the rank for which it waited most, and how long; others waited: for it;",
            "clock: how far it was ahead of that of the first row, within the error."));
  }

  private static void add(FigureTable table, Summary.Row row) {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("rank", row.rank());
    fields.put("calls", row.calls());
    fields.put("in_calls_ns", row.times().inCalls());
    fields.put("working_ns", row.times().working());
    fields.put("waiting_ns", row.times().waiting());
    fields.put("paused_ns", row.times().paused());
    fields.put(
        "waited_most_for",
        row.waitedFor().<Object>map(Summary.WaitedFor::rank).orElse(Fields.NONE));
    fields.put(
        "waited_most_ns",
        row.waitedFor().<Object>map(Summary.WaitedFor::nanos).orElse(Fields.NONE));
    fields.put("others_waited_ns", row.othersWaited());
    fields.put("clock_ns", row.clock().ahead());
    fields.put(
        "clock_error_ns", row.clock().error().<Object>map(error -> error).orElse(Fields.NONE));
    String most =
        row.waitedFor()
            .map(rank -> "rank " + rank.rank() + ", " + Units.time(rank.nanos()))
            .orElse(Fields.NONE);
    table.row(
        List.of(
            Integer.toString(row.rank()),
            Units.grouped(row.calls()),
            Units.time(row.times().inCalls()),
            Units.time(row.times().working()),
            Units.time(row.times().waiting()),
            row.times().paused() == 0 ? Fields.NONE : Units.time(row.times().paused()),
            most,
            Units.time(row.othersWaited()),
            signed(row.clock().ahead()),
            row.clock()
                .error()
                .map(error -> error == 0 ? "0" : Units.time(error))
                .orElse("unknown")),
        fields);
  }

  private static String signed(long nanos) {
    return nanos == 0 ? "0" : (nanos < 0 ? "-" : "+") + Units.time(Math.abs(nanos));
  }
}
