package io.collectives.bench.runreport;

import io.collectives.bench.report.Units;
import io.collectives.bench.runreport.RankReport.Reducer;
import io.collectives.bench.runreport.RankReport.Step;
import io.collectives.bench.runreport.ReducerRun.RankRow;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;

/** Sentences about a run that say what to change, each with its number, the worst first. */
final class Advice {
  private static final double GC_SHARE = 0.05;
  private static final int LEAST_COLLECTIONS = 10;
  private static final double SUMS_SHARE = 0.1;
  private static final double LEAST_SCORE = 0.02;

  /** Fewer late steps are told only if the score is large. */
  private static final int LEAST_LATE = 3;

  private static final double LARGE_SCORE = 0.1;
  private static final double LEAST_GAIN_SHARE = 0.02;
  private static final double LEAST_GAIN_MICROS = 500;
  private static final int NAMED = 8;

  /** A sentence and the share of the time that it is about; facts that come first have 2. */
  private record Sentence(double weight, String text) {}

  private final List<Sentence> sentences = new ArrayList<>();

  /** Judges reports, which are of one job. */
  Advice(List<RankReport> reports, List<ReducerRun> runs) {
    missing(reports);
    failures(reports);
    for (RankReport report : reports) {
      garbage(report);
    }
    for (ReducerRun run : runs) {
      for (int i = 0; i < run.ranks().size(); i++) {
        late(run, i);
      }
      lengths(run);
    }
    transports(reports);
    sentences.sort(Comparator.comparingDouble(Sentence::weight).reversed());
  }

  List<String> sentences() {
    return sentences.stream().map(Sentence::text).toList();
  }

  private void add(double weight, String text) {
    sentences.add(new Sentence(weight, text));
  }

  private void missing(List<RankReport> reports) {
    int size = reports.stream().mapToInt(report -> report.job().size()).max().orElse(0);
    Set<Integer> present =
        reports.stream().map(report -> report.job().rank()).collect(Collectors.toSet());
    Set<Integer> absent = new TreeSet<>();
    for (int rank = 0; rank < size; rank++) {
      if (!present.contains(rank)) {
        absent.add(rank);
      }
    }
    if (!absent.isEmpty()) {
      add(
          2,
          "There is no report of "
              + names(absent)
              + " of "
              + size
              + ": what they did is not in these figures.");
    }
    Set<Integer> open = new TreeSet<>();
    for (RankReport report : reports) {
      if (!report.job().isClosed()) {
        open.add(report.job().rank());
      }
    }
    if (!open.isEmpty()) {
      add(
          2,
          "The report of "
              + names(open)
              + " is not the last one: the job runs, or a process ended without closing its"
              + " communicator.");
    }
    long first = reports.stream().mapToLong(report -> report.job().begunMillis()).min().orElse(0);
    for (RankReport report : reports) {
      long later = report.job().begunMillis() - first;
      if (later > 600_000) {
        add(
            2,
            "Rank "
                + report.job().rank()
                + " joined "
                + Units.time(later * 1e6)
                + " after another one: are these of one run? Delete those of earlier runs.");
      }
    }
  }

  private void failures(List<RankReport> reports) {
    reports.stream()
        .flatMap(report -> report.failures().stream())
        .distinct()
        .limit(NAMED)
        .forEach(failure -> add(2, "A group broke: " + failure));
  }

  private void garbage(RankReport report) {
    double share = report.machine().gcMillis() / (double) report.job().millis();
    if (share >= GC_SHARE && report.machine().collections() >= LEAST_COLLECTIONS) {
      add(
          share,
          String.format(
              Locale.ROOT,
              "Garbage collections take %.0f %% of the time of rank %d (%s in %d collections):"
                  + " allocate less in a step, or give it more heap than %,d MiB (-Xmx).",
              100 * share,
              report.job().rank(),
              Units.time(report.machine().gcMillis() * 1e6),
              report.machine().collections(),
              report.machine().heapBytes() >> 20));
    }
  }

  private void late(ReducerRun run, int index) {
    Lateness lateness = run.lateness();
    NavigableMap<Long, Double> late = lateness.lateSteps(index);
    double score = lateness.score(index);
    if (score < (late.size() < LEAST_LATE ? LARGE_SCORE : LEAST_SCORE)) {
      return;
    }
    int rank = run.reports().get(index).job().rank();
    double by = Medians.of(late.values());
    long period = lateness.period(index);
    String when =
        period == 1
            ? "nearly every step"
            : period > 1
                ? "every " + ordinal(period) + " step"
                : late.size() + " of " + lateness.steps() + " steps";
    add(
        score,
        String.format(
            Locale.ROOT,
            "Rank %d is late in %s by %s, and the others wait for it for %.0f %% of the time: %s",
            rank,
            when,
            Units.time(by * 1e3),
            100 * score,
            cause(run, index, late, by)));
  }

  /** Compares the late steps of a rank with the same steps of the others. */
  private static String cause(
      ReducerRun run, int index, NavigableMap<Long, Double> late, double by) {
    double gc = 1e3 * mean(run, index, late, Step::gcMillis);
    double outside = excess(run, index, late, Step::outside);
    double backward = excess(run, index, late, Step::backward);
    if (gc >= by / 3) {
      return "garbage collections take " + Units.time(gc * 1e3) + " of each of these steps.";
    }
    if (outside >= backward && outside > by / 4) {
      return Units.time(outside * 1e3)
          + " more than elsewhere pass before its first gradient: look at how it reads data, at its"
          + " forward pass and its update.";
    }
    if (backward > by / 4) {
      return Units.time(backward * 1e3)
          + " more than elsewhere pass in its backward pass: give it less work, or look at what"
          + " else its host does.";
    }
    return "its passes take no longer than elsewhere, so look at its links and its host.";
  }

  private static double mean(
      ReducerRun run, int index, NavigableMap<Long, Double> late, ToLongFunction<Step> what) {
    Reducer rank = run.ranks().get(index);
    return late.keySet().stream()
        .mapToLong(number -> what.applyAsLong(rank.kept().get(number)))
        .average()
        .orElse(0);
  }

  private static double excess(
      ReducerRun run, int index, NavigableMap<Long, Double> late, ToLongFunction<Step> what) {
    List<Double> excesses = new ArrayList<>();
    for (long number : late.keySet()) {
      List<Long> others = new ArrayList<>();
      for (int i = 0; i < run.ranks().size(); i++) {
        if (i != index) {
          others.add(what.applyAsLong(run.ranks().get(i).kept().get(number)));
        }
      }
      excesses.add(
          what.applyAsLong(run.ranks().get(index).kept().get(number)) - Medians.of(others));
    }
    return Medians.of(excesses);
  }

  private void lengths(ReducerRun run) {
    OverlapModel model = run.model();
    if (!model.isFitted()) {
      return;
    }
    double step = Medians.of(run.rankRows().stream().map(row -> row.times().step()).toList());
    double exposed = model.exposedMicros();
    if (exposed >= SUMS_SHARE * step) {
      add(
          exposed / step / 2,
          String.format(
              Locale.ROOT,
              "Sums outlast the backward pass by %s of each step's %s, without waits for late ranks:"
                  + " half as many bytes (WireType.BFLOAT16) would save about %s; so would larger"
                  + " batches (a model, in which a sum takes %s and %s for each MB).",
              Units.time(exposed * 1e3),
              Units.time(step * 1e3),
              Units.time((exposed - model.exposedOfShare(0.5)) * 1e3),
              Units.time(model.fixedMicros() * 1e3),
              Units.time(model.microsPerByte() * 1e9)));
    }
    long best = model.bestLength();
    double gain = model.exposedMicros() - model.exposedMicros(best);
    if (gain >= LEAST_GAIN_MICROS && gain >= LEAST_GAIN_SHARE * step) {
      add(
          gain / step,
          String.format(
              Locale.ROOT,
              "Buffers of %s would hide %s more of each step's %s (a model, in which a sum takes"
                  + " %s and %s for each MB): set COLLECTIVES_BUFFER_LENGTH=%d, or"
                  + " FusionSettings.withBufferLength.",
              best >= 1 << 20 ? (best >> 20) + " MiB" : (best >> 10) + " KiB",
              Units.time(gain * 1e3),
              Units.time(step * 1e3),
              Units.time(model.fixedMicros() * 1e3),
              Units.time(model.microsPerByte() * 1e9),
              best));
    }
  }

  private void transports(List<RankReport> reports) {
    Set<String> hosts = new TreeSet<>();
    Set<String> names = new TreeSet<>();
    for (RankReport report : reports) {
      hosts.add(report.job().host());
      names.addAll(report.machine().transports());
    }
    if (reports.size() > 1 && hosts.size() == 1 && names.equals(Set.of("tcp"))) {
      add(
          0.01,
          "All ranks are on one host, but talk by tcp: COLLECTIVES_TRANSPORT=auto takes shared"
              + " memory there.");
    }
  }

  private static String names(Set<Integer> ranks) {
    String others = ranks.size() > NAMED ? " and " + (ranks.size() - NAMED) + " others" : "";
    return ranks.stream()
        .limit(NAMED)
        .map(rank -> Integer.toString(rank))
        .collect(Collectors.joining(", ", ranks.size() == 1 ? "rank " : "ranks ", others));
  }

  private static String ordinal(long number) {
    String ending =
        number % 100 >= 11 && number % 100 <= 13
            ? "th"
            : switch ((int) (number % 10)) {
              case 1 -> "st";
              case 2 -> "nd";
              case 3 -> "rd";
              default -> "th";
            };
    return number + ending;
  }

  /** Returns the rank that others wait for longest, if that is more than noise. */
  static String slowest(List<RankRow> rows) {
    return rows.stream()
        .filter(row -> row.score() >= LEAST_SCORE)
        .max(Comparator.comparingDouble(RankRow::score))
        .map(row -> "rank " + row.report().job().rank())
        .orElse("none");
  }
}
