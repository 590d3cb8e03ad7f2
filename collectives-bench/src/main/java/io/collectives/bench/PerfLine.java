package io.collectives.bench;

import io.collectives.bench.perf.CaseResult;
import io.collectives.bench.perf.CoreDistance;
import io.collectives.bench.perf.HostTraffic;
import io.collectives.bench.perf.PerfCase;
import io.collectives.bench.report.Spread;
import java.util.List;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;

/**
 * A line of {@code perf}'s table: a case in all rounds.
 *
 * @param rows the case in each round; at least one
 */
record PerfLine(List<PerfRow> rows) {

  /** Returns the case that was measured. */
  PerfCase work() {
    return rows.get(0).work();
  }

  /** The algorithm, and what was chosen for it; several if it was not the same in all rounds. */
  String algorithm() {
    String chosen =
        rows.stream().map(row -> row.result().chosen()).distinct().collect(Collectors.joining("/"));
    String asked = rows.get(0).algorithm();
    return chosen.equals(CaseResult.NOTHING) ? asked : asked + ": " + chosen;
  }

  /** A figure in all rounds. */
  Spread spread(ToDoubleFunction<PerfRow> figure) {
    return Spread.of(rows.stream().mapToDouble(figure));
  }

  /** Returns a figure of the traffic of hosts in all rounds; requires {@link #hasTraffic}. */
  Spread traffic(ToDoubleFunction<HostTraffic> figure) {
    return spread(row -> figure.applyAsDouble(row.result().traffic().orElseThrow()));
  }

  /** Returns the distance of the cores in all rounds. */
  CoreDistance cores() {
    return CoreDistance.of(rows.stream().map(PerfRow::cores).toList());
  }

  /** Returns whether the traffic of hosts was counted. */
  boolean hasTraffic() {
    return rows.stream().allMatch(row -> row.result().traffic().isPresent());
  }

  /** In nanoseconds. */
  Spread time() {
    return spread(row -> row.result().times().medianNanos());
  }

  /** Returns the number of wrong elements in all rounds together; -1 if they were not checked. */
  long wrong() {
    long wrong = rows.stream().mapToLong(row -> row.result().wrong()).sum();
    return work().method().check() ? wrong : -1;
  }
}
