package io.collectives.bench;

import io.collectives.bench.perf.StartUp;
import io.collectives.bench.report.Fields;
import io.collectives.bench.report.Provenance;
import io.collectives.bench.report.Units;
import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;

/** The figures of {@code perf --start-up}. */
final class StartUpTable {
  private final FigureTable table =
      new FigureTable(
          1,
          "transport",
          "ranks",
          "starts",
          "median",
          "min",
          "max",
          "JVM",
          "join",
          "first sum",
          "steady");

  /** True if the JVMs used an archive of classes. */
  private final boolean archived;

  StartUpTable(boolean archived) {
    this.archived = archived;
  }

  /** A row; the parts are medians, too, and need not add up to that of the whole. */
  void row(Transport transport, int ranks, List<StartUp> starts) {
    long median = median(starts, StartUp::totalNanos);
    long least = starts.stream().mapToLong(StartUp::totalNanos).min().orElseThrow();
    long most = starts.stream().mapToLong(StartUp::totalNanos).max().orElseThrow();
    long jvm = median(starts, StartUp::jvmNanos);
    long join = median(starts, StartUp::joinNanos);
    long sum = median(starts, StartUp::sumNanos);
    long steady = median(starts, StartUp::steadyNanos);
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("transport", transport);
    fields.put("ranks", ranks);
    fields.put("starts", starts.size());
    fields.put("median_ms", millis(median));
    fields.put("min_ms", millis(least));
    fields.put("max_ms", millis(most));
    fields.put("jvm_ms", millis(jvm));
    fields.put("join_ms", millis(join));
    fields.put("first_sum_ms", millis(sum));
    fields.put("steady_ms", millis(steady));
    fields.put("aot", archived);
    table.row(
        List.of(
            transport.toString(),
            Integer.toString(ranks),
            Integer.toString(starts.size()),
            Units.time(median),
            Units.time(least),
            Units.time(most),
            Units.time(jvm),
            Units.time(join),
            Units.time(sum),
            Units.time(steady)),
        fields);
  }

  void print(Format format, PrintWriter out) {
    table.print(
        format,
        out,
        List.of(
            Provenance.line()
                + "; from the start of the JVMs"
                + (archived ? ", with an archive of their classes," : "")
                + " to the first all-reduce of 1 KiB on all ranks"));
  }

  private static Object millis(long nanos) {
    return Fields.decimal(nanos / 1e6, 1);
  }

  /** The middle one, of an even number the lower. */
  private static long median(List<StartUp> starts, ToLongFunction<StartUp> part) {
    return starts.stream().mapToLong(part).sorted().toArray()[(starts.size() - 1) / 2];
  }
}
