package io.collectives.bench;

import io.collectives.bench.network.LinkRate;
import io.collectives.bench.perf.PerfCase;
import io.collectives.bench.report.Fields;
import java.io.PrintWriter;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Prints figures as they come: for people a line for each case, for programs all rows. */
final class PerfPrinter {
  private final Format format;
  private final PrintWriter out;
  private @Nullable PerfColumns table;
  private boolean first = true;

  PerfPrinter(Format format, PrintWriter out) {
    this.format = format;
    this.out = out;
  }

  /**
   * Begins.
   *
   * @param jobs the cases of each
   * @param link of each rank's host, if it has one of its own
   * @param compared whether several algorithms or ways are
   * @param rounds in how many all are measured
   */
  void start(List<List<PerfCase>> jobs, Optional<LinkRate> link, boolean compared, int rounds) {
    if (format == Format.TABLE) {
      List<PerfCase> cases = jobs.stream().flatMap(List::stream).toList();
      table = new PerfColumns(cases, link, compared, rounds);
      out.println(table.header());
    } else if (format == Format.JSON) {
      out.print("[");
    }
    out.flush();
  }

  /** A case in a round. */
  void row(PerfRow row) {
    Map<String, Object> fields = row.fields();
    if (format == Format.TSV) {
      if (first) {
        out.println(Fields.tsvHeader(fields));
      }
      out.println(Fields.tsv(fields));
    } else if (format == Format.JSON) {
      out.print((first ? "\n  " : ",\n  ") + Fields.json(fields));
    }
    out.flush();
    first = false;
  }

  /** A case of which all rounds are over. */
  void line(PerfLine line) {
    if (format == Format.TABLE) {
      out.println(Objects.requireNonNull(table, "not started").line(line));
      out.flush();
    }
  }

  /** Ends, in a table with the fastest, and a line about how the figures were taken. */
  void end(List<String> best, String settings) {
    if (format == Format.TABLE) {
      if (!best.isEmpty()) {
        out.println();
        best.forEach(out::println);
      }
      out.println();
      out.println(settings);
    } else if (format == Format.JSON) {
      out.println("\n]");
    }
    out.flush();
  }
}
