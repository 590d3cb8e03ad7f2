package io.collectives.bench;

import io.collectives.bench.chaos.Endurance;
import io.collectives.bench.chaos.FaultOutcome;
import io.collectives.bench.chaos.LongRun.Gauge;
import io.collectives.bench.chaos.Quantiles;
import io.collectives.bench.report.Fields;
import io.collectives.bench.report.Units;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.Function;
import java.util.function.LongFunction;
import java.util.function.ToLongFunction;

/** The table that {@code chaos --soak} prints, with a row for each transport. */
final class SoakFigures {
  private final FigureTable table =
      new FigureTable(
          1,
          "transport",
          "time",
          "jobs",
          "faults",
          "recoveries",
          "regrown",
          "known: median",
          "max",
          "sum: median",
          "max",
          "wrong culprits",
          "hangs",
          "wrong sums",
          "leftovers",
          "heap",
          "buffers",
          "resident",
          "threads",
          "files");
  private final List<String> bad = new ArrayList<>();

  /** Returns the progress of a run, on one line. */
  static String progress(Endurance run, Duration time) {
    return run.site()
        + ", "
        + clock(run.elapsed())
        + " of "
        + clock(time)
        + ": "
        + run.outcomes().size()
        + " faults, "
        + run.recoveries()
        + " recoveries, regrown "
        + run.regrowths()
        + " times, slowest detection "
        + (run.slowestMicros().isPresent()
            ? Units.time(run.slowestMicros().getAsLong() * 1e3)
            : Fields.NONE)
        + "; wrong culprits "
        + run.wrongCulprits()
        + ", hangs "
        + run.hangs()
        + ", wrong sums "
        + run.wrongSums()
        + ", files there "
        + run.entries();
  }

  private static String clock(Duration time) {
    return String.format(
        "%d:%02d:%02d", time.toHours(), time.toMinutesPart(), time.toSecondsPart());
  }

  /** Adds the row of a run that is over. */
  void add(Endurance run, int leftovers) {
    List<String> cells = new ArrayList<>();
    Map<String, Object> fields = new LinkedHashMap<>();
    cells.add(run.site().toString());
    fields.put("transport", run.site().toString());
    cells.add(clock(run.elapsed()));
    fields.put("seconds", BigDecimal.valueOf(run.elapsed().toMillis(), 3));
    count(cells, fields, "jobs", run.jobs());
    count(cells, fields, "faults", run.outcomes().size());
    count(cells, fields, "recoveries", run.recoveries());
    count(cells, fields, "regrown", run.regrowths());
    times(cells, fields, "known", run, FaultOutcome::knownMicros);
    times(cells, fields, "sum", run, FaultOutcome::sumMicros);
    count(cells, fields, "wrong_culprits", run.wrongCulprits());
    count(cells, fields, "hangs", run.hangs());
    count(cells, fields, "wrong_sums", run.wrongSums());
    count(cells, fields, "leftovers", leftovers);
    fromTo(cells, fields, "heap_bytes", run, Gauge::heap, SoakFigures::mebibytes);
    fromTo(cells, fields, "buffer_bytes", run, Gauge::buffers, SoakFigures::mebibytes);
    fromTo(cells, fields, "resident_bytes", run, Gauge::resident, SoakFigures::mebibytes);
    fromTo(cells, fields, "threads", run, Gauge::threads, Long::toString);
    fromTo(cells, fields, "files", run, Gauge::files, Long::toString);
    table.row(cells, fields);
    if (!run.complaints().isEmpty() || leftovers > 0) {
      bad.add(run.site().toString());
    }
  }

  private static void count(
      List<String> cells, Map<String, Object> fields, String name, int value) {
    cells.add(Units.grouped(value));
    fields.put(name, value);
  }

  private static void times(
      List<String> cells,
      Map<String, Object> fields,
      String what,
      Endurance run,
      Function<FaultOutcome, OptionalLong> figure) {
    Quantiles micros =
        new Quantiles(run.outcomes().stream().map(figure).flatMapToLong(OptionalLong::stream));
    for (String part : List.of("median", "max")) {
      boolean none = micros.isEmpty();
      long value = none ? 0 : micros.at(part.equals("max") ? 1 : 0.5);
      cells.add(none ? Fields.NONE : Units.time(value * 1e3));
      fields.put(what + "_" + part + "_ms", none ? Fields.NONE : BigDecimal.valueOf(value, 3));
    }
  }

  /** Of the first time that the job grew, and of the last. */
  private static void fromTo(
      List<String> cells,
      Map<String, Object> fields,
      String name,
      Endurance run,
      ToLongFunction<Gauge> figure,
      LongFunction<String> text) {
    List<Gauge> gauges = run.gauges();
    boolean none = gauges.isEmpty();
    long first = none ? 0 : figure.applyAsLong(gauges.get(0));
    long last = none ? 0 : figure.applyAsLong(gauges.get(gauges.size() - 1));
    cells.add(none ? Fields.NONE : text.apply(first) + " > " + text.apply(last));
    fields.put(name + "_first", none ? Fields.NONE : first);
    fields.put(name + "_last", none ? Fields.NONE : last);
  }

  private static String mebibytes(long bytes) {
    return String.format("%.1fM", bytes / 1048576.0);
  }

  /** All rows. */
  FigureTable table() {
    return table;
  }

  /** Returns whether everything was right. */
  boolean good() {
    return bad.isEmpty();
  }

  /** In one line. */
  String verdict() {
    return good()
        ? "passed: culprits and sums right, no hang, nothing grew, nothing left over"
        : "FAILED: by " + String.join(" and ", bad) + "; see above";
  }
}
