package io.collectives.bench;

import io.collectives.bench.chaos.PriceOutcome;
import io.collectives.bench.chaos.PriceOutcome.Arm;
import io.collectives.bench.chaos.PriceOutcome.Slice;
import io.collectives.bench.report.Fields;
import io.collectives.bench.report.Spread;
import io.collectives.bench.report.Units;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.DoubleStream;

/** The figures that {@code chaos} prints of the price of unauthenticated peers. */
record PriceFigures(PriceOutcome outcome) {
  private static final double MOST_SLOWER = 1.05;
  private static final long MOST_GROWTH = 32L << 20;

  /** Returns a table with a row for each place that intruders connect to. */
  FigureTable table() {
    FigureTable table =
        new FigureTable(
            1,
            "strangers",
            "made",
            "connected",
            "calls",
            "median",
            "p99",
            "max",
            "mean",
            "/ none",
            "(range)",
            "/ elsewhere",
            "(range)");
    for (Arm arm : Arm.values()) {
      List<Slice> own = of(arm);
      if (!own.isEmpty()) {
        row(table, arm, own);
      }
    }
    return table;
  }

  private void row(FigureTable table, Arm arm, List<Slice> own) {
    long made = own.stream().mapToLong(Slice::intruders).sum();
    long connected = own.stream().mapToLong(Slice::connected).sum();
    long calls = own.stream().mapToLong(slice -> slice.times().calls()).sum();
    double median =
        Spread.of(own.stream().mapToDouble(slice -> slice.times().medianNanos())).median();
    double p99 = Spread.of(own.stream().mapToDouble(slice -> slice.times().p99Nanos())).median();
    long max = own.stream().mapToLong(slice -> slice.times().maxNanos()).max().orElse(0);
    double mean = Spread.of(own.stream().mapToDouble(slice -> slice.times().meanNanos())).median();
    List<String> cells =
        new ArrayList<>(
            List.of(
                arm.toString(),
                Units.grouped(made),
                Units.grouped(connected),
                Units.grouped(calls),
                Units.time(median),
                Units.time(p99),
                Units.time(max),
                Units.time(mean)));
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("strangers", arm);
    fields.put("made", made);
    fields.put("connected", connected);
    fields.put("calls", calls);
    fields.put("median_us", decimal(median / 1e3));
    fields.put("p99_us", decimal(p99 / 1e3));
    fields.put("max_us", decimal(max / 1e3));
    fields.put("mean_us", decimal(mean / 1e3));
    ratios(cells, fields, arm, Arm.NONE, "to_none");
    ratios(cells, fields, arm, Arm.DUMMY, "to_elsewhere");
    table.row(cells, fields);
  }

  private void ratios(
      List<String> cells, Map<String, Object> fields, Arm arm, Arm base, String name) {
    double[] ratios = ratios(arm, base);
    if (arm.compareTo(base) <= 0 || ratios.length == 0) {
      cells.addAll(List.of(Fields.NONE, Fields.NONE));
      for (String part : List.of("", "_least", "_most")) {
        fields.put(name + part, Fields.NONE);
      }
      return;
    }
    Spread spread = Spread.of(DoubleStream.of(ratios));
    cells.add(Units.ratio(spread.median(), 3));
    cells.add(Units.ratio(spread.least(), 2) + " to " + Units.ratio(spread.greatest(), 2));
    fields.put(name, decimal(spread.median()));
    fields.put(name + "_least", decimal(spread.least()));
    fields.put(name + "_most", decimal(spread.greatest()));
  }

  /** Returns the mean time of a call in one arm divided by that in another, for each round. */
  private double[] ratios(Arm arm, Arm base) {
    return of(arm).stream()
        .flatMapToDouble(
            slice ->
                of(base).stream()
                    .filter(other -> other.round() == slice.round())
                    .mapToDouble(other -> slice.times().meanNanos() / other.times().meanNanos()))
        .toArray();
  }

  /** Returns whether no call failed; the price does not count. */
  boolean good() {
    return outcome.complaints().isEmpty();
  }

  /** Returns the lines below the table: which limits were kept, and the verdict. */
  List<String> lines() {
    PriceOutcome.Growth growth = outcome.growth();
    List<String> lines = new ArrayList<>();
    bar(lines, "the same elsewhere", Arm.DUMMY);
    bar(lines, "without any", Arm.NONE);
    lines.add(
        "no rank grew by more than "
            + mebibytes(MOST_GROWTH)
            + ": "
            + (growth.residentMost() <= MOST_GROWTH ? "yes" : "NO")
            + "; in memory "
            + mebibytes(growth.residentMost())
            + " at most, "
            + mebibytes(growth.residentLast())
            + " at the end; direct buffers "
            + mebibytes(growth.directMost())
            + ", "
            + mebibytes(growth.directLast())
            + "; open descriptors "
            + growth.descriptorsMost()
            + ", "
            + growth.descriptorsLast());
    lines.add(
        good()
            ? "passed: no call failed, all sums were right"
            : "FAILED: " + String.join("; ", outcome.complaints()));
    return lines;
  }

  private void bar(List<String> lines, String than, Arm base) {
    double[] ratios = ratios(Arm.RANKS, base);
    if (ratios.length > 0) {
      boolean within = Spread.of(DoubleStream.of(ratios)).median() <= MOST_SLOWER;
      lines.add(
          "strangers at the ranks: at most 5 % slower than "
              + than
              + ": "
              + (within ? "yes" : "NO"));
    }
  }

  private List<Slice> of(Arm arm) {
    return outcome.slices().stream().filter(slice -> slice.arm() == arm).toList();
  }

  private static String mebibytes(long bytes) {
    return String.format(Locale.ROOT, "%.1f MiB", bytes / (double) (1 << 20));
  }

  private static Object decimal(double value) {
    return Fields.decimal(value, 3);
  }
}
