package io.collectives.bench;

import io.collectives.bench.network.LinkRate;
import io.collectives.bench.perf.CaseResult;
import io.collectives.bench.perf.HostTraffic;
import io.collectives.bench.perf.PerfCase;
import io.collectives.bench.report.ByteSize;
import io.collectives.bench.report.Columns;
import io.collectives.bench.report.Columns.Column;
import io.collectives.bench.report.Fields;
import io.collectives.bench.report.Units;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;

/** The table of {@code perf}: as many columns as its cases have something to say in. */
final class PerfColumns {
  private final List<Column> columns = new ArrayList<>();
  private final List<Function<PerfRow, String>> cells = new ArrayList<>();
  private final Columns table;

  /**
   * One for these cases, which also tell how wide columns are.
   *
   * @param link of each rank's host, if it has one of its own
   * @param compared whether several algorithms or ways are
   */
  PerfColumns(Collection<PerfCase> cases, Optional<LinkRate> link, boolean compared) {
    int algorithm = cases.stream().mapToInt(PerfColumns::width).max().orElse(0);
    int collective = cases.stream().mapToInt(work -> work.title().length()).max().orElse(0);
    add(Column.words("collective", collective), row -> row.work().title());
    add(Column.numbers("ranks", 0), row -> Integer.toString(row.work().ranks()));
    add(Column.words("algorithm", algorithm), PerfColumns::algorithm);
    add(Column.words("type", 7), row -> row.work().type().toString());
    add(Column.words("op", 3), PerfRow::op);
    add(Column.numbers("bytes", 8), row -> new ByteSize(row.work().bytes()).toString());
    add(Column.numbers("count", 11), row -> Units.grouped(row.work().count()));
    add(Column.numbers("iterations", 0), row -> Units.grouped(row.result().iterations()));
    add(Column.numbers("median", 8), row -> Units.time(row.result().medianNanos()));
    add(Column.numbers("min", 8), row -> Units.time(row.result().minNanos()));
    add(Column.numbers("p99", 8), row -> Units.time(row.result().p99Nanos()));
    add(Column.numbers("algbw", 9), row -> Units.rate(row.algbw()));
    add(Column.numbers("busbw", 9), row -> Units.rate(row.busbw()));
    if (compared) {
      add(Column.numbers("speedup", 0), row -> ratio(row.speedup()));
    }
    link.ifPresent(rate -> addTraffic(rate, compared));
    if (cases.stream().anyMatch(PerfRow::isNegotiated)) {
      add(
          Column.numbers("negotiation", 0),
          row ->
              PerfRow.isNegotiated(row.work())
                  ? Units.grouped(row.result().messages()) + " msg"
                  : Fields.NONE);
    }
    add(Column.numbers("wrong", 5), row -> row.fields().get("wrong").toString());
    add(
        Column.numbers("core to core", 0),
        row ->
            Double.isNaN(row.coreToCoreNanos())
                ? Fields.NONE
                : row.fields().get("core_to_core_ns") + " ns");
    table = new Columns(columns);
  }

  private void addTraffic(LinkRate rate, boolean compared) {
    if (compared) {
      add(
          Column.numbers("by bytes", 0),
          row -> row.speedupByBytes().map(PerfColumns::ratio).orElse(Fields.NONE));
    }
    add(
        Column.numbers("sent by a host", 14),
        row -> range(row, HostTraffic::leastSent, HostTraffic::mostSent));
    add(
        Column.numbers("received", 14),
        row -> range(row, HostTraffic::leastReceived, HostTraffic::mostReceived));
    add(
        Column.numbers("of link", 0),
        row ->
            row.result()
                .traffic()
                .map(
                    traffic ->
                        String.format(
                            Locale.ROOT,
                            "%.0f %%",
                            100
                                * 8e9
                                * traffic.most()
                                / rate.bitsPerSecond()
                                / row.result().medianNanos()))
                .orElse(Fields.NONE));
  }

  private void add(Column column, Function<PerfRow, String> cell) {
    columns.add(column);
    cells.add(cell);
  }

  /** The line of headers. */
  String header() {
    return table.header();
  }

  /** The line of a row. */
  String line(PerfRow row) {
    return table.line(cells.stream().map(cell -> cell.apply(row)).toList());
  }

  private static int width(PerfCase work) {
    String label = work.algorithm().label(work.ranks());
    return label.equals("auto") ? "auto: halving-doubling".length() : label.length();
  }

  private static String algorithm(PerfRow row) {
    String chosen = row.result().chosen();
    return chosen.equals(CaseResult.NOTHING) ? row.algorithm() : row.algorithm() + ": " + chosen;
  }

  private static String ratio(double value) {
    return String.format(Locale.ROOT, "%.2f", value);
  }

  private static String range(
      PerfRow row, Function<HostTraffic, Long> least, Function<HostTraffic, Long> most) {
    return row.result()
        .traffic()
        .map(
            traffic -> {
              String from = megabytes(least.apply(traffic));
              String to = megabytes(most.apply(traffic));
              return (from.equals(to) ? to : from + "-" + to) + " MB";
            })
        .orElse(Fields.NONE);
  }

  private static String megabytes(long bytes) {
    return String.format(Locale.ROOT, "%.2f", bytes / 1e6);
  }
}
