package io.collectives.bench;

import io.collectives.bench.perf.PerfCase;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The baselines of rows: the first row of the same round with the same payload and number of
 * contributors.
 */
final class PerfBaselines {
  private final Map<Object, PerfRow> rows = new HashMap<>();

  /** The row with its baseline, which may be itself. */
  PerfRow compared(PerfRow row) {
    PerfRow first = rows.putIfAbsent(List.of(row.round(), payload(row.work())), row);
    return first == null ? row : row.withBaseline(first);
  }

  private static Object payload(PerfCase work) {
    return List.of(
        work.collective(),
        work.contributors(),
        work.operand().type(),
        work.operand().op(),
        work.operand().count(),
        work.operand().tensors().map(tensors -> tensors.model().toString() + tensors.divisor()));
  }
}
