package io.collectives.bench;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.bench.perf.CaseResult;
import io.collectives.bench.perf.PerfCase;
import io.collectives.bench.report.ByteSize;
import io.collectives.bench.report.Columns;
import io.collectives.bench.report.Columns.Column;
import io.collectives.bench.report.Fields;
import io.collectives.bench.report.Units;
import java.io.PrintWriter;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * A line of {@code perf}'s figures.
 *
 * @param algorithm as it is written on the command line
 * @param coreToCoreNanos the mean of before and after; NaN if it could not be measured
 */
record PerfRow(
    String algorithm,
    String transport,
    Perf.Placement placement,
    int ranks,
    PerfCase work,
    CaseResult result,
    double coreToCoreNanos) {

  /** In units of 10^9 bytes a second. */
  double algbw() {
    return (double) work.bytes() / Math.max(1, result.medianNanos());
  }

  /** What each link carries, by the count of nccl-tests. */
  double busbw() {
    int n = contributors();
    double others = (n - 1.0) / n;
    return algbw()
        * switch (work.collective()) {
          case ALL_REDUCE -> 2 * others;
          case REDUCE_SCATTER, ALL_GATHER, GATHER, SCATTER, ALL_TO_ALL -> others;
          case BROADCAST, REDUCE -> 1;
          case BARRIER -> 0;
        };
  }

  /** Dedicated servers bring nothing to a sum. */
  private int contributors() {
    return work.collective() == Collective.ALL_REDUCE
            && work.algorithm().forRanks(ranks) instanceof Algorithm.ParameterServer servers
        ? ranks - servers.dedicated()
        : ranks;
  }

  private String op() {
    return work.reduces() ? work.op().toString() : Fields.NONE;
  }

  /** The figures by the names of the TSV's columns. */
  Map<String, Object> fields() {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("collective", work.title());
    fields.put("algorithm", algorithm);
    fields.put("transport", transport);
    fields.put("placement", placement);
    fields.put("ranks", ranks);
    fields.put("type", work.type());
    fields.put("wire", work.type());
    fields.put("op", op());
    fields.put("bytes", work.bytes());
    fields.put("count", work.count());
    fields.put("iterations", result.iterations());
    fields.put("median_us", decimal(result.medianNanos() / 1e3, 3));
    fields.put("min_us", decimal(result.minNanos() / 1e3, 3));
    fields.put("p99_us", decimal(result.p99Nanos() / 1e3, 3));
    fields.put("algbw_GBps", decimal(algbw(), 6));
    fields.put("busbw_GBps", decimal(busbw(), 6));
    fields.put("wrong", result.wrong() < 0 ? Fields.NONE : result.wrong());
    fields.put(
        "core_to_core_ns",
        Double.isNaN(coreToCoreNanos) ? Fields.NONE : Math.round(coreToCoreNanos));
    fields.put("chosen", result.chosen());
    return fields;
  }

  private static BigDecimal decimal(double value, int decimals) {
    return BigDecimal.valueOf(value).setScale(decimals, RoundingMode.HALF_UP);
  }

  /** How figures are printed. */
  enum Format {
    TABLE,
    TSV,
    JSON;

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** Prints rows as they come. */
  static final class Printer {
    private final Format format;
    private final PrintWriter out;
    private Columns table = new Columns(List.of());
    private boolean first = true;

    Printer(Format format, PrintWriter out) {
      this.format = format;
      this.out = out;
    }

    /** Begins; the cases tell how wide columns are. */
    void start(List<PerfCase> cases, List<Integer> ranks) {
      int algorithm =
          cases.stream()
              .flatMapToInt(work -> ranks.stream().mapToInt(size -> width(work, size)))
              .max()
              .orElse(0);
      int collective = cases.stream().mapToInt(work -> work.title().length()).max().orElse(0);
      table =
          new Columns(
              List.of(
                  Column.words("collective", collective),
                  Column.numbers("ranks", 0),
                  Column.words("algorithm", algorithm),
                  Column.words("type", 7),
                  Column.words("op", 3),
                  Column.numbers("bytes", 8),
                  Column.numbers("count", 11),
                  Column.numbers("iterations", 0),
                  Column.numbers("median", 8),
                  Column.numbers("min", 8),
                  Column.numbers("p99", 8),
                  Column.numbers("algbw", 9),
                  Column.numbers("busbw", 9),
                  Column.numbers("wrong", 5),
                  Column.numbers("core to core", 0)));
      if (format == Format.TABLE) {
        out.println(table.header());
      } else if (format == Format.JSON) {
        out.print("[");
      }
      out.flush();
    }

    private static int width(PerfCase work, int ranks) {
      String label = work.algorithm().label(ranks);
      return label.equals("auto") ? "auto: recursive-doubling".length() : label.length();
    }

    void row(PerfRow row) {
      Map<String, Object> fields = row.fields();
      switch (format) {
        case TABLE -> out.println(table.line(cells(row)));
        case TSV -> {
          if (first) {
            out.println(Fields.tsvHeader(fields));
          }
          out.println(Fields.tsv(fields));
        }
        case JSON -> out.print((first ? "\n  " : ",\n  ") + Fields.json(fields));
      }
      out.flush();
      first = false;
    }

    /** Ends, in a table with a line about how the figures were taken. */
    void end(String settings) {
      if (format == Format.TABLE) {
        out.println();
        out.println(settings);
      } else if (format == Format.JSON) {
        out.println("\n]");
      }
      out.flush();
    }

    private static List<String> cells(PerfRow row) {
      Map<String, Object> fields = row.fields();
      CaseResult result = row.result();
      return List.of(
          row.work().title(),
          Integer.toString(row.ranks()),
          result.chosen().equals(CaseResult.NOTHING)
              ? row.algorithm()
              : row.algorithm() + ": " + result.chosen(),
          row.work().type().toString(),
          row.op(),
          new ByteSize(row.work().bytes()).toString(),
          Units.grouped(row.work().count()),
          Units.grouped(result.iterations()),
          Units.time(result.medianNanos()),
          Units.time(result.minNanos()),
          Units.time(result.p99Nanos()),
          Units.rate(row.algbw()),
          Units.rate(row.busbw()),
          fields.get("wrong").toString(),
          Double.isNaN(row.coreToCoreNanos())
              ? Fields.NONE
              : fields.get("core_to_core_ns") + " ns");
    }
  }
}
