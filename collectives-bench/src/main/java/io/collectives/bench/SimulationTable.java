package io.collectives.bench;

import io.collectives.bench.report.ByteSize;
import io.collectives.bench.report.Fields;
import io.collectives.bench.report.Units;
import io.collectives.bench.simulate.LinkClass;
import io.collectives.bench.simulate.Outcome;
import io.collectives.bench.simulate.Scenario;
import io.collectives.bench.simulate.Task;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;

/** The table that {@code collectives simulate} prints. */
final class SimulationTable {
  private final FigureTable table = new FigureTable(3, headers());

  private static String[] headers() {
    List<String> headers =
        new ArrayList<>(
            List.of(
                "algorithm",
                "collective",
                "network",
                "ranks",
                "bytes",
                "time",
                "closed form",
                "ratio",
                "algbw",
                "busbw",
                "rounds"));
    for (LinkClass each : LinkClass.values()) {
      headers.add("on " + each);
      headers.add("busy");
    }
    headers.add("busiest");
    return headers.toArray(String[]::new);
  }

  /** A result, beside what a formula says. */
  void row(Scenario scenario, Task task, ByteSize size, Outcome outcome, OptionalDouble closed) {
    double algbw = outcome.nanos() == 0 || !task.moves() ? 0 : size.bytes() / outcome.nanos();
    double busbw = algbw * (scenario.serves() ? 1 : task.busFactor(scenario.parties()));
    boolean known = closed.isPresent();
    double ratio = known && closed.getAsDouble() > 0 ? outcome.nanos() / closed.getAsDouble() : 1;
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("algorithm", scenario.label());
    fields.put("collective", task);
    fields.put("network", scenario.network());
    fields.put("ranks", scenario.members());
    fields.put("ranks_on_network", scenario.ranks());
    fields.put("bytes", size.bytes());
    fields.put("time_us", decimal(outcome.nanos() / 1e3, 6));
    fields.put("closed_form_us", known ? decimal(closed.getAsDouble() / 1e3, 6) : Fields.NONE);
    fields.put("ratio", known ? decimal(ratio, 6) : Fields.NONE);
    fields.put("algbw_GBps", decimal(algbw, 6));
    fields.put("busbw_GBps", decimal(busbw, 6));
    fields.put("rounds", outcome.rounds());
    fields.put("transfers", outcome.transfers());
    List<String> cells = new ArrayList<>();
    cells.add(scenario.label());
    cells.add(task.toString());
    cells.add(scenario.network().toString());
    cells.add(Units.grouped(scenario.members()));
    cells.add(size.toString());
    cells.add(Units.time(outcome.nanos()));
    cells.add(known ? Units.time(closed.getAsDouble()) : Fields.NONE);
    cells.add(known ? Units.ratio(ratio, 3) : Fields.NONE);
    cells.add(Units.rate(algbw));
    cells.add(Units.rate(busbw));
    cells.add(Units.grouped(outcome.rounds()));
    for (LinkClass each : LinkClass.values()) {
      Outcome.Traffic traffic = outcome.traffic().get(each);
      boolean used = traffic != null;
      fields.put(each + "_links", used ? traffic.links() : 0);
      fields.put(each + "_bytes", decimal(used ? traffic.bytes() : 0, 1));
      fields.put(each + "_link_most_bytes", decimal(used ? traffic.mostBytes() : 0, 1));
      fields.put(each + "_busy", decimal(outcome.busyShare(each), 6));
      cells.add(used ? amount(traffic.bytes()) : Fields.NONE);
      cells.add(used ? percent(outcome.busyShare(each)) : Fields.NONE);
    }
    boolean any = !outcome.busiestLink().isEmpty();
    double share = outcome.nanos() == 0 ? 0 : outcome.busiestNanos() / outcome.nanos();
    fields.put("busiest_link", any ? outcome.busiestLink() : Fields.NONE);
    fields.put("busiest_class", any ? outcome.busiestClass() : Fields.NONE);
    fields.put("busiest_busy", decimal(share, 6));
    cells.add(
        any
            ? outcome.busiestLink() + " (" + outcome.busiestClass() + ") " + percent(share)
            : Fields.NONE);
    table.row(cells, fields);
  }

  /** Prints all rows, a table with lines below. */
  void print(Format format, PrintWriter out, List<String> below) {
    table.print(format, out, below);
  }

  private static String percent(double share) {
    return String.format(Locale.ROOT, "%.1f %%", 100 * share);
  }

  private static String amount(double bytes) {
    return bytes < 1e6
        ? String.format(Locale.ROOT, "%.0f B", bytes)
        : String.format(
            Locale.ROOT, bytes < 1e9 ? "%.2f MB" : "%.2f GB", bytes / (bytes < 1e9 ? 1e6 : 1e9));
  }

  private static Object decimal(double value, int decimals) {
    return Fields.decimal(value, decimals);
  }
}
