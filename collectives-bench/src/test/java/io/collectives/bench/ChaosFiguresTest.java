package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.bench.chaos.Fault;
import io.collectives.bench.chaos.Fault.Kind;
import io.collectives.bench.chaos.FaultOutcome;
import io.collectives.bench.chaos.PauseRun;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class ChaosFiguresTest {

  private static FaultOutcome good(Kind kind, long knownMicros, long sumMicros) {
    return new FaultOutcome(
        new Fault(kind, false, 1, 10),
        OptionalLong.of(knownMicros),
        OptionalLong.of(sumMicros),
        3,
        3,
        3,
        3,
        0,
        0,
        List.of());
  }

  private static List<String> bars(ChaosFigures figures) {
    return figures.bars(Duration.ofSeconds(1), Duration.ofSeconds(2), Duration.ofSeconds(6));
  }

  @Test
  void figuresOfEachKindAreARow() {
    ChaosFigures figures =
        new ChaosFigures(
            List.of(
                good(Kind.KILL, 20_000, 50_000),
                good(Kind.STOP, 5_200_000, 5_300_000),
                good(Kind.KILL, 30_500, 60_000)),
            List.of(new PauseRun(7, 0, 0, List.of())));
    StringWriter text = new StringWriter();
    figures.table().print(PerfRow.Format.TSV, new PrintWriter(text), List.of());
    assertEquals(
        List.of(
            "fault\ttimes\tculprits\tculprits_right\tsums\tsums_right\tknown_median_ms\tknown_p90_ms\t"
                + "known_p99_ms\tknown_max_ms\tsum_median_ms\tsum_p90_ms\tsum_p99_ms\tsum_max_ms\t"
                + "false_alarms\thangs",
            "kill\t2\t6\t6\t6\t6\t20.000\t30.500\t30.500\t30.500\t50.000\t60.000\t60.000\t60.000\t0\t0",
            "stop\t1\t3\t3\t3\t3\t5200.000\t5200.000\t5200.000\t5200.000\t5300.000\t5300.000\t5300.000\t5300.000\t0\t0",
            "pause\t7\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t0\t0"),
        text.toString().lines().toList());
    assertTrue(figures.good());
    assertEquals(
        List.of(
            "kill: known by every survivor within 1.00 s: yes, 2 of 2",
            "kill: first right sum by every survivor within 2.00 s: yes, 2 of 2",
            "stop: known by every survivor within 6.00 s: yes, 1 of 1"),
        bars(figures));
  }

  @Test
  void whatIsLateOrNeverIsNotWithin() {
    FaultOutcome never =
        new FaultOutcome(
            new Fault(Kind.KILL, true, 1, 10),
            OptionalLong.empty(),
            OptionalLong.empty(),
            3,
            2,
            3,
            1,
            1,
            1,
            List.of("rank 2 lost rank 0 instead of one of [1]"));
    ChaosFigures figures =
        new ChaosFigures(
            List.of(good(Kind.KILL, 1_000_001, 2_000_000), good(Kind.KILL, 999, 2_000_001), never),
            List.of());
    assertFalse(figures.good());
    assertEquals("FAILED: 1 of 3 faults went wrong; see above", figures.verdict());
    assertEquals(
        List.of(
            "kill: known by every survivor within 1.00 s: NO, 1 of 3",
            "kill: first right sum by every survivor within 2.00 s: NO, 1 of 3"),
        bars(figures));
  }

  @Test
  void aPauseThatWentWrongIsAFailure() {
    ChaosFigures figures =
        new ChaosFigures(
            List.of(good(Kind.KILL, 1, 2)),
            List.of(
                new PauseRun(3, 2, 0, List.of("rank 1 said 'lost …' instead of 'idle'")),
                new PauseRun(4, 0, 0, List.of())));
    assertFalse(figures.good());
    assertEquals("FAILED: 1 pause went wrong; see above", figures.verdict());
  }
}
