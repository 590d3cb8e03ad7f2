package io.collectives.bench;

import io.collectives.bench.chaos.Fault.Kind;
import io.collectives.bench.chaos.FaultOutcome;
import io.collectives.bench.chaos.FaultOutcome.Counts;
import io.collectives.bench.chaos.FaultOutcome.Stage;
import io.collectives.bench.chaos.PauseRun;
import io.collectives.bench.chaos.Quantiles;
import io.collectives.bench.chaos.Site;
import io.collectives.bench.report.Fields;
import io.collectives.bench.report.Units;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/**
 * The figures that {@code chaos} prints.
 *
 * @param pauses runs of pauses, one after the other
 * @param complaints the errors of jobs with several faults each
 * @param leftovers the number of files that were left, by the site of the jobs
 */
record ChaosFigures(
    List<FaultOutcome> outcomes,
    List<PauseRun> pauses,
    List<String> complaints,
    Map<Site, Integer> leftovers) {
  private static final String ALL = "all";

  private static final Duration KILL_KNOWN = Duration.ofSeconds(1);
  private static final Duration KILL_SUM = Duration.ofSeconds(2);
  private static final Duration SILENCE_MORE = Duration.ofSeconds(1);

  private static final double[] PARTS = {0.5, 0.9, 0.99, 1};
  private static final String[] PART_NAMES = {"median", "p90", "p99", "max"};

  /** A row for each kind of fault. */
  FigureTable table() {
    FigureTable table =
        new FigureTable(
            2,
            "transport",
            "fault",
            "times",
            "culprits right",
            "sums right",
            "known: median",
            "p90",
            "p99",
            "max",
            "sum: median",
            "p90",
            "p99",
            "max",
            "wrong sums",
            "false alarms",
            "hangs",
            "leftovers");
    kinds().forEach((kind, own) -> row(table, kind.site, kind.fault(), own, Fields.NONE));
    pauses.stream().map(PauseRun::site).distinct().forEach(site -> pauseRow(table, site));
    leftovers.forEach((site, left) -> row(table, site.toString(), ALL, at(site), left));
    return table;
  }

  private List<FaultOutcome> at(Site site) {
    return outcomes.stream().filter(outcome -> outcome.site().equals(site)).toList();
  }

  /** Returns whether everything was right; times do not count. */
  boolean good() {
    return complaints.isEmpty()
        && leftovers.values().stream().allMatch(left -> left == 0)
        && outcomes.stream().allMatch(outcome -> outcome.complaints().isEmpty())
        && pauses.stream().allMatch(run -> run.complaints().isEmpty());
  }

  /** In one line. */
  String verdict() {
    if (good()) {
      return "passed: culprits and sums right, no hang, no false alarm, nothing left over";
    }
    long bad = outcomes.stream().filter(outcome -> !outcome.complaints().isEmpty()).count();
    long badPauses = pauses.stream().filter(run -> !run.complaints().isEmpty()).count();
    List<String> parts = new ArrayList<>();
    if (bad > 0) {
      parts.add(bad + " of " + outcomes.size() + " faults");
    }
    if (badPauses > 0) {
      parts.add(badPauses + (badPauses == 1 ? " pause" : " pauses"));
    }
    if (bad + badPauses == 0 && !complaints.isEmpty()) {
      parts.add("jobs with several faults");
    }
    int left = leftovers.values().stream().mapToInt(Integer::intValue).sum();
    return "FAILED: "
        + (parts.isEmpty() ? "" : String.join(" and ", parts) + " went wrong; see above")
        + (parts.isEmpty() || left == 0 ? "" : "; ")
        + (left == 0 ? "" : left + " files or directories were left over");
  }

  /**
   * Returns a line for each limit of time that says whether it was kept. The death of a rank that
   * has joined is known at once. A rank that ends during the rendezvous may come back until the
   * silence limit is over; a rank that never comes is awaited until the join timeout is over.
   *
   * @param silenceLimit the silence limit of the jobs
   * @param awaited the longest time for which ranks wait for one that never comes, counted from
   *     when the last of them may have started
   */
  List<String> bars(Duration silenceLimit, Duration awaited) {
    List<String> bars = new ArrayList<>();
    kinds()
        .forEach(
            (kind, own) -> {
              boolean met = kind.stage.compareTo(Stage.MET) >= 0;
              if (kind.kind == Kind.KILL && met) {
                bars.add(bar(kind, "known", own, FaultOutcome::knownMicros, KILL_KNOWN));
                bars.add(bar(kind, "first right sum", own, FaultOutcome::sumMicros, KILL_SUM));
              } else if (kind.kind != Kind.RESET) {
                Duration limit =
                    kind.stage == Stage.AWAITED ? awaited : silenceLimit.plus(SILENCE_MORE);
                bars.add(bar(kind, "known", own, FaultOutcome::knownMicros, limit));
              }
            });
    return bars;
  }

  private static String bar(
      RowKind kind,
      String what,
      List<FaultOutcome> own,
      Function<FaultOutcome, OptionalLong> figure,
      Duration limit) {
    long limitMicros = limit.toNanos() / 1_000;
    long within =
        own.stream()
            .map(figure)
            .filter(micros -> micros.isPresent() && micros.getAsLong() <= limitMicros)
            .count();
    return kind
        + ": "
        + what
        + " by every survivor within "
        + Units.time(limit.toNanos())
        + ": "
        + (within == own.size() ? "yes" : "NO")
        + ", "
        + within
        + " of "
        + own.size();
  }

  /** The outcomes of each row. */
  private SortedMap<RowKind, List<FaultOutcome>> kinds() {
    return outcomes.stream()
        .collect(
            Collectors.groupingBy(
                outcome ->
                    new RowKind(outcome.site().toString(), outcome.fault().kind(), outcome.stage()),
                TreeMap::new,
                Collectors.toList()));
  }

  /** The key of a row: a site, a kind of fault, and the stage that its victims had reached. */
  private record RowKind(String site, Kind kind, Stage stage) implements Comparable<RowKind> {
    private static final Comparator<RowKind> ORDER =
        Comparator.comparing(RowKind::site)
            .thenComparing(RowKind::kind)
            .thenComparing(RowKind::stage, Comparator.reverseOrder());

    @Override
    public int compareTo(RowKind other) {
      return ORDER.compare(this, other);
    }

    @Override
    public String toString() {
      return site + ": " + fault();
    }

    String fault() {
      return kind + (stage == Stage.WORKING ? "" : ", " + stage);
    }
  }

  private static int sum(List<FaultOutcome> outcomes, ToIntFunction<Counts> figure) {
    return outcomes.stream().map(FaultOutcome::counts).mapToInt(figure).sum();
  }

  private static Quantiles quantiles(
      List<FaultOutcome> outcomes, Function<FaultOutcome, OptionalLong> figure) {
    return new Quantiles(outcomes.stream().map(figure).flatMapToLong(OptionalLong::stream));
  }

  private static void row(
      FigureTable table, String site, String kind, List<FaultOutcome> own, Object left) {
    int culprits = sum(own, Counts::culprits);
    int culpritsRight = sum(own, Counts::culpritsRight);
    int sums = sum(own, Counts::sums);
    int sumsRight = sum(own, Counts::sumsRight);
    List<String> cells =
        new ArrayList<>(
            List.of(
                site,
                kind,
                Units.grouped(own.size()),
                culpritsRight + " of " + culprits,
                sumsRight + " of " + sums));
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("transport", site);
    fields.put("fault", kind);
    fields.put("times", own.size());
    fields.put("culprits", culprits);
    fields.put("culprits_right", culpritsRight);
    fields.put("sums", sums);
    fields.put("sums_right", sumsRight);
    times(cells, fields, "known", quantiles(own, FaultOutcome::knownMicros));
    times(cells, fields, "sum", quantiles(own, FaultOutcome::sumMicros));
    count(cells, fields, "wrong_sums", sum(own, Counts::wrongSums));
    count(cells, fields, "false_alarms", sum(own, Counts::falseAlarms));
    count(cells, fields, "hangs", sum(own, Counts::hangs));
    count(cells, fields, "leftovers", left);
    table.row(cells, fields);
  }

  private void pauseRow(FigureTable table, Site site) {
    List<PauseRun> own = pauses.stream().filter(run -> run.site().equals(site)).toList();
    int times = own.stream().mapToInt(PauseRun::pauses).sum();
    List<String> cells =
        new ArrayList<>(
            List.of(site.toString(), "pause", Units.grouped(times), Fields.NONE, Fields.NONE));
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("transport", site.toString());
    fields.put("fault", "pause");
    fields.put("times", times);
    for (String name : List.of("culprits", "culprits_right", "sums", "sums_right")) {
      fields.put(name, Fields.NONE);
    }
    Quantiles none = new Quantiles(LongStream.empty());
    times(cells, fields, "known", none);
    times(cells, fields, "sum", none);
    count(cells, fields, "wrong_sums", Fields.NONE);
    count(cells, fields, "false_alarms", own.stream().mapToInt(PauseRun::falseAlarms).sum());
    count(cells, fields, "hangs", own.stream().mapToInt(PauseRun::hangs).sum());
    count(cells, fields, "leftovers", Fields.NONE);
    table.row(cells, fields);
  }

  private static void count(
      List<String> cells, Map<String, Object> fields, String name, Object value) {
    cells.add(value instanceof Integer number ? Units.grouped(number) : value.toString());
    fields.put(name, value);
  }

  private static void times(
      List<String> cells, Map<String, Object> fields, String what, Quantiles micros) {
    for (int i = 0; i < PARTS.length; i++) {
      boolean none = micros.isEmpty();
      cells.add(none ? Fields.NONE : Units.time(micros.at(PARTS[i]) * 1e3));
      fields.put(
          what + "_" + PART_NAMES[i] + "_ms",
          none ? Fields.NONE : BigDecimal.valueOf(micros.at(PARTS[i]), 3));
    }
  }
}
