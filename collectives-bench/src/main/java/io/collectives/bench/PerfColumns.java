package io.collectives.bench;

import io.collectives.bench.network.LinkRate;
import io.collectives.bench.perf.HostTraffic;
import io.collectives.bench.perf.PerfCase;
import io.collectives.bench.report.ByteSize;
import io.collectives.bench.report.Columns;
import io.collectives.bench.report.Columns.Column;
import io.collectives.bench.report.Fields;
import io.collectives.bench.report.Spread;
import io.collectives.bench.report.Units;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.DoubleFunction;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/** The table of {@code perf}: as many columns as its cases have something to say in. */
final class PerfColumns {
  /** Of the least and the greatest, beside a median. */
  private static final String IN_ROUNDS = "in rounds";

  private final List<Column> columns = new ArrayList<>();
  private final List<Function<PerfLine, String>> cells = new ArrayList<>();
  private final Columns table;

  /**
   * Makes the columns for these cases, whose texts decide how wide columns are.
   *
   * @param link the rate of the link of each rank's host, if each has a host of its own
   * @param compared whether several algorithms or ways are compared
   * @param rounds the number of rounds in which all cases are measured
   */
  PerfColumns(Collection<PerfCase> cases, Optional<LinkRate> link, boolean compared, int rounds) {
    int algorithm = cases.stream().mapToInt(PerfColumns::width).max().orElse(0);
    int collective = cases.stream().mapToInt(work -> work.title().length()).max().orElse(0);
    add(Column.words("collective", collective), line -> line.work().title());
    add(Column.numbers("ranks", 0), line -> Integer.toString(line.work().ranks()));
    add(Column.words("algorithm", algorithm), PerfLine::algorithm);
    add(Column.words("type", 7), line -> line.work().operand().type().toString());
    add(Column.words("op", 3), line -> line.rows().get(0).op());
    add(Column.numbers("bytes", 8), line -> new ByteSize(line.work().bytes()).toString());
    add(Column.numbers("count", 11), line -> Units.grouped(line.work().operand().count()));
    add(
        Column.numbers("iterations", 0),
        line -> whole(line, row -> row.result().times().iterations()));
    add(Column.numbers("median", 8), line -> Units.time(line.time().median()));
    if (rounds > 1) {
      add(Column.numbers(IN_ROUNDS, 18), line -> range(line.time(), Units::time));
    }
    add(Column.numbers("min", 8), line -> time(line, row -> row.result().times().minNanos()));
    add(Column.numbers("p99", 8), line -> time(line, row -> row.result().times().p99Nanos()));
    add(Column.numbers("algbw", 9), line -> rate(line, PerfRow::algbw));
    add(Column.numbers("busbw", 9), line -> rate(line, PerfRow::busbw));
    if (compared) {
      add(Column.numbers("speedup", 0), line -> ratio(line.spread(PerfRow::speedup).median()));
      if (rounds > 1) {
        add(
            Column.numbers(IN_ROUNDS, 12),
            line -> range(line.spread(PerfRow::speedup), PerfColumns::ratio));
      }
    }
    link.ifPresent(rate -> addTraffic(rate, compared));
    if (cases.stream().anyMatch(PerfRow::isNegotiated)) {
      add(
          Column.numbers("negotiation", 0),
          line ->
              PerfRow.isNegotiated(line.work())
                  ? whole(line, row -> row.result().messages()) + " msg"
                  : Fields.NONE);
    }
    add(
        Column.numbers("wrong", 5),
        line -> line.wrong() < 0 ? Fields.NONE : Long.toString(line.wrong()));
    add(
        Column.numbers("core to core", 0),
        line -> {
          double nanos = line.spread(PerfRow::coreToCoreNanos).median();
          return Double.isNaN(nanos) ? Fields.NONE : Math.round(nanos) + " ns";
        });
    add(Column.words("cores", 9), line -> line.cores().toString());
    table = new Columns(columns);
  }

  private void addTraffic(LinkRate rate, boolean compared) {
    if (compared) {
      addOfTraffic(
          "by bytes",
          0,
          line -> ratio(line.spread(row -> row.speedupByBytes().orElseThrow()).median()));
    }
    addOfTraffic(
        "sent by a host",
        14,
        line -> megabytes(line, HostTraffic::leastSent, HostTraffic::mostSent));
    addOfTraffic(
        "received",
        14,
        line -> megabytes(line, HostTraffic::leastReceived, HostTraffic::mostReceived));
    addOfTraffic(
        "of link",
        0,
        line ->
            String.format(
                Locale.ROOT,
                "%.0f %%",
                100
                    * 8e9
                    * line.traffic(HostTraffic::most).median()
                    / rate.bitsPerSecond()
                    / line.time().median()));
  }

  private void addOfTraffic(String header, int width, Function<PerfLine, String> cell) {
    add(Column.numbers(header, width), line -> line.hasTraffic() ? cell.apply(line) : Fields.NONE);
  }

  private void add(Column column, Function<PerfLine, String> cell) {
    columns.add(column);
    cells.add(cell);
  }

  /** The line of headers. */
  String header() {
    return table.header();
  }

  /** A line of figures. */
  String line(PerfLine line) {
    return table.line(cells.stream().map(cell -> cell.apply(line)).toList());
  }

  private static int width(PerfCase work) {
    String label = work.algorithm().label(work.ranks());
    return label.length() + (label.startsWith("auto") ? ": halving-doubling".length() : 0);
  }

  private static String whole(PerfLine line, ToDoubleFunction<PerfRow> figure) {
    return Units.grouped(Math.round(line.spread(figure).median()));
  }

  private static String time(PerfLine line, ToDoubleFunction<PerfRow> nanos) {
    return Units.time(line.spread(nanos).median());
  }

  private static String rate(PerfLine line, ToDoubleFunction<PerfRow> bytesPerNano) {
    return Units.rate(line.spread(bytesPerNano).median());
  }

  private static String ratio(double value) {
    return Units.ratio(value, 2);
  }

  private static String range(Spread spread, DoubleFunction<String> unit) {
    return unit.apply(spread.least()) + " to " + unit.apply(spread.greatest());
  }

  private static String megabytes(
      PerfLine line, ToDoubleFunction<HostTraffic> least, ToDoubleFunction<HostTraffic> most) {
    String from = megabytes(line.traffic(least).median());
    String to = megabytes(line.traffic(most).median());
    return (from.equals(to) ? to : from + "-" + to) + " MB";
  }

  private static String megabytes(double bytes) {
    return String.format(Locale.ROOT, "%.2f", bytes / 1e6);
  }
}
