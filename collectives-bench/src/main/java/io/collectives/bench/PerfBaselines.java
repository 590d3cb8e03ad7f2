package io.collectives.bench;

import io.collectives.bench.perf.PerfCase;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What rows are compared with: of all with the same payload and contributors, those of the
 * algorithm and way that came first. Of these the last one counts, so that each of several rounds
 * is compared with what was measured in it.
 */
final class PerfBaselines {
  private final Map<Object, PerfRow> rows = new HashMap<>();

  /** The row with its baseline, which may be itself. */
  PerfRow compared(PerfRow row) {
    PerfRow first = rows.putIfAbsent(payload(row.work()), row);
    if (first == null || isOfSameKind(first, row)) {
      rows.put(payload(row.work()), row);
      return row;
    }
    return row.withBaseline(first);
  }

  private static boolean isOfSameKind(PerfRow one, PerfRow other) {
    return one.algorithm().equals(other.algorithm())
        && one.work().title().equals(other.work().title());
  }

  private static Object payload(PerfCase work) {
    return List.of(
        work.collective(),
        work.contributors(),
        work.type(),
        work.op(),
        work.count(),
        work.tensors().map(tensors -> tensors.model().toString() + tensors.divisor()));
  }
}
