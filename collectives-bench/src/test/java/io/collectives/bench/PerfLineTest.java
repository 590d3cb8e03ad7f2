package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collective;
import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.WireType;
import io.collectives.bench.perf.AlgorithmChoice;
import io.collectives.bench.perf.CaseResult;
import io.collectives.bench.perf.CoreDistance;
import io.collectives.bench.perf.Memory;
import io.collectives.bench.perf.PerfCase;
import io.collectives.bench.report.Spread;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** A line holds the rounds of a case. */
class PerfLineTest {

  private static PerfRow row(String algorithm, boolean check, int round, long micros, long wrong) {
    PerfCase work =
        new PerfCase(
            Collective.ALL_REDUCE,
            2,
            new AlgorithmChoice(algorithm),
            new PerfCase.Operand(ElementType.FLOAT32, ReduceOp.SUM, 1000, 1, Optional.empty()),
            new PerfCase.Buffers(Memory.ARRAY, false),
            false,
            new PerfCase.Method(0, 1, check, false));
    long nanos = 1000 * micros;
    String chosen = algorithm.equals("auto") ? (round == 1 ? "direct" : "ring") : "-";
    CaseResult result =
        new CaseResult(
            new CaseResult.Times(round, nanos, nanos / 2, 2 * nanos),
            wrong,
            0,
            Optional.empty(),
            chosen);
    return new PerfRow(
        new PerfRow.Setting(algorithm, "shm", Placement.THREADS, WireType.INT8),
        work,
        result,
        50,
        round == 3 ? CoreDistance.FAR : CoreDistance.NEAR,
        round,
        Optional.empty());
  }

  /** The times of two algorithms, round by round, and a ring again at the end of each. */
  private static List<PerfLine> lines(boolean check, long[] ring, long[] auto, long wrong) {
    PerfBaselines baselines = new PerfBaselines();
    List<PerfRow> first = new ArrayList<>();
    List<PerfRow> second = new ArrayList<>();
    List<PerfRow> third = new ArrayList<>();
    for (int i = 0; i < ring.length; i++) {
      first.add(baselines.compared(row("ring", check, i + 1, ring[i], check ? 0 : -1)));
      second.add(baselines.compared(row("auto", check, i + 1, auto[i], wrong)));
      third.add(baselines.compared(row("ring", check, i + 1, 2 * ring[i], check ? 0 : -1)));
    }
    return List.of(new PerfLine(first), new PerfLine(second), new PerfLine(third));
  }

  /** The medians of the times are the same; what counts is how they compare within a round. */
  @Test
  void speedupIsTheMedianOfTheRatiosWithinARound() {
    List<PerfLine> lines = lines(true, new long[] {10, 20, 90}, new long[] {20, 5, 30}, 2);
    assertEquals(new Spread(1, 1, 1), lines.get(0).spread(PerfRow::speedup));
    assertEquals(new Spread(20e3, 10e3, 90e3), lines.get(0).time());
    assertEquals(new Spread(20e3, 5e3, 30e3), lines.get(1).time());
    assertEquals(new Spread(3, 0.5, 4), lines.get(1).spread(PerfRow::speedup));
    assertEquals(0, lines.get(0).wrong());
    assertEquals(6, lines.get(1).wrong());
    assertEquals("auto: direct/ring", lines.get(1).algorithm());
    assertEquals("ring", lines.get(2).algorithm());
    assertEquals(new Spread(0.5, 0.5, 0.5), lines.get(2).spread(PerfRow::speedup));
    assertEquals(-1, lines(false, new long[] {1}, new long[] {1}, -1).get(1).wrong());
  }

  @Test
  void rowsTellTheWireAndTheCores() {
    PerfRow row = row("ring", false, 1, 10, -1);
    assertEquals("int8", row.fields().get("wire").toString());
    assertEquals("near", row.fields().get("cores").toString());
    assertEquals("float32", row.fields().get("type").toString());
    List<PerfRow> near = List.of(row, row("ring", false, 2, 10, -1));
    assertEquals(CoreDistance.NEAR, new PerfLine(near).cores());
    assertEquals(
        CoreDistance.DISTURBED,
        new PerfLine(List.of(near.get(0), row("ring", false, 3, 10, -1))).cores());
    assertEquals(CoreDistance.FAR, CoreDistance.of(120, 300));
    assertEquals(CoreDistance.DISTURBED, CoreDistance.of(50, 120));
  }

  @Test
  void theTableHasMediansBesideTheLeastAndTheGreatest() {
    List<PerfLine> lines = lines(true, new long[] {10, 20, 90}, new long[] {20, 5, 30}, 0);
    List<PerfCase> cases = lines.stream().map(PerfLine::work).toList();
    PerfColumns columns = new PerfColumns(cases, Optional.empty(), true, 3);
    assertEquals(2, columns.header().split("in rounds", -1).length - 1);
    String line = columns.line(lines.get(1)).replaceAll(" +", " ");
    assertTrue(
        line.contains(
            " 2 20.0 µs 5.00 µs to 30.0 µs 10.0 µs 40.0 µs 0.20 GB/s 0.20 GB/s 3.00 0.500 to 4.00 0 50 ns disturbed"),
        line);
    String once = new PerfColumns(cases, Optional.empty(), true, 1).header();
    assertTrue(!once.contains("in rounds"), once);
  }
}
