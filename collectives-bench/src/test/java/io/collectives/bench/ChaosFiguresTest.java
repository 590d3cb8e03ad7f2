package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.bench.chaos.Fault;
import io.collectives.bench.chaos.Fault.Kind;
import io.collectives.bench.chaos.Fault.Phase;
import io.collectives.bench.chaos.FaultOutcome;
import io.collectives.bench.chaos.FaultOutcome.Counts;
import io.collectives.bench.chaos.FaultOutcome.Stage;
import io.collectives.bench.chaos.PauseRun;
import io.collectives.bench.chaos.Site;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class ChaosFiguresTest {
  private static final Site SITE = new Site("shm", 1, null);

  private static Fault fault(Kind kind, Phase phase) {
    return new Fault(kind, phase, 1, 10, List.of(0, 1, 2, 3), List.of());
  }

  private static FaultOutcome good(Kind kind, long knownMicros, long sumMicros) {
    return new FaultOutcome(
        SITE,
        fault(kind, Phase.CALLING),
        Stage.WORKING,
        OptionalLong.of(knownMicros),
        OptionalLong.of(sumMicros),
        new Counts(3, 3, 3, 3, 0, 0, 0),
        List.of());
  }

  private static FaultOutcome joining(Kind kind, Stage stage, long knownMicros) {
    boolean met = stage == Stage.MET;
    return new FaultOutcome(
        SITE,
        fault(kind, Phase.JOINING),
        stage,
        OptionalLong.of(knownMicros),
        met ? OptionalLong.of(knownMicros) : OptionalLong.empty(),
        new Counts(3, 3, met ? 3 : 0, met ? 3 : 0, 0, 0, 0),
        List.of());
  }

  private static ChaosFigures figures(List<FaultOutcome> outcomes, List<PauseRun> pauses) {
    return new ChaosFigures(outcomes, pauses, List.of(), Map.of(SITE, 0));
  }

  private static List<String> bars(ChaosFigures figures) {
    return figures.bars(Duration.ofSeconds(5), Duration.ofSeconds(13));
  }

  @Test
  void figuresOfEachKindAreARow() {
    ChaosFigures figures =
        figures(
            List.of(
                good(Kind.KILL, 20_000, 50_000),
                good(Kind.STOP, 5_200_000, 5_300_000),
                good(Kind.KILL, 30_500, 60_000)),
            List.of(new PauseRun(SITE, 7, 0, 0, List.of())));
    StringWriter text = new StringWriter();
    figures.table().print(Format.TSV, new PrintWriter(text), List.of());
    assertEquals(
        List.of(
            "transport\tfault\ttimes\tculprits\tculprits_right\tsums\tsums_right\tknown_median_ms\tknown_p90_ms\tknown_p99_ms\tknown_max_ms\tsum_median_ms\tsum_p90_ms\tsum_p99_ms\tsum_max_ms\twrong_sums\tfalse_alarms\thangs\tleftovers",
            "shm\tkill\t2\t6\t6\t6\t6\t20.000\t30.500\t30.500\t30.500\t50.000\t60.000\t60.000\t60.000\t0\t0\t0\t-",
            "shm\tstop\t1\t3\t3\t3\t3\t5200.000\t5200.000\t5200.000\t5200.000\t5300.000\t5300.000\t5300.000\t5300.000\t0\t0\t0\t-",
            "shm\tpause\t7\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t0\t0\t-",
            "shm\tall\t3\t9\t9\t9\t9\t30.500\t5200.000\t5200.000\t5200.000\t60.000\t5300.000\t5300.000\t5300.000\t0\t0\t0\t0"),
        text.toString().lines().toList());
    assertTrue(figures.good());
    assertEquals(
        List.of(
            "shm: kill: known by every survivor within 1.00 s: yes, 2 of 2",
            "shm: kill: first right sum by every survivor within 2.00 s: yes, 2 of 2",
            "shm: stop: known by every survivor within 6.00 s: yes, 1 of 1"),
        bars(figures));
  }

  @Test
  void whatIsLateOrNeverIsNotWithin() {
    FaultOutcome never =
        new FaultOutcome(
            SITE,
            fault(Kind.KILL, Phase.IDLE),
            Stage.WORKING,
            OptionalLong.empty(),
            OptionalLong.empty(),
            new Counts(3, 2, 3, 1, 0, 1, 1),
            List.of("rank 2 lost rank 0 instead of one of [1]"));
    ChaosFigures figures =
        figures(
            List.of(good(Kind.KILL, 1_000_001, 2_000_000), good(Kind.KILL, 999, 2_000_001), never),
            List.of());
    assertFalse(figures.good());
    assertEquals("FAILED: 1 of 3 faults went wrong; see above", figures.verdict());
    assertEquals(
        List.of(
            "shm: kill: known by every survivor within 1.00 s: NO, 1 of 3",
            "shm: kill: first right sum by every survivor within 2.00 s: NO, 1 of 3"),
        bars(figures));
  }

  @Test
  void faultsWhileJoiningAreToldApartByHowFarTheirVictimsCame() {
    ChaosFigures figures =
        figures(
            List.of(
                joining(Kind.KILL, Stage.AWAITED, 13_000_000),
                joining(Kind.KILL, Stage.ANNOUNCED, 6_000_001),
                joining(Kind.KILL, Stage.MET, 900_000),
                joining(Kind.STOP, Stage.AWAITED, 13_000_001),
                joining(Kind.STOP, Stage.MET, 6_000_000),
                good(Kind.KILL, 1, 2),
                good(Kind.RESET, 1, 2),
                good(Kind.CUT, 6_000_000, 7_000_000),
                good(Kind.ISOLATE, 6_000_001, 7_000_000)),
            List.of());
    assertEquals(
        List.of(
            "shm: kill: known by every survivor within 1.00 s: yes, 1 of 1",
            "shm: kill: first right sum by every survivor within 2.00 s: yes, 1 of 1",
            "shm: kill, met: known by every survivor within 1.00 s: yes, 1 of 1",
            "shm: kill, met: first right sum by every survivor within 2.00 s: yes, 1 of 1",
            "shm: kill, announced: known by every survivor within 6.00 s: NO, 0 of 1",
            "shm: kill, awaited: known by every survivor within 13.0 s: yes, 1 of 1",
            "shm: stop, met: known by every survivor within 6.00 s: yes, 1 of 1",
            "shm: stop, awaited: known by every survivor within 13.0 s: NO, 0 of 1",
            "shm: cut: known by every survivor within 6.00 s: yes, 1 of 1",
            "shm: isolate: known by every survivor within 6.00 s: NO, 0 of 1"),
        bars(figures));
    StringWriter text = new StringWriter();
    figures.table().print(Format.TSV, new PrintWriter(text), List.of());
    List<String> lines = text.toString().lines().toList();
    assertEquals(
        "shm\tkill, awaited\t1\t3\t3\t0\t0\t13000.000\t13000.000\t13000.000\t13000.000\t-\t-\t-\t-\t0\t0\t0\t-",
        lines.get(4));
    assertTrue(figures.good());
  }

  @Test
  void whatIsLeftOverOrComplainedOfIsAFailure() {
    List<FaultOutcome> outcomes = List.of(good(Kind.KILL, 1, 2));
    ChaosFigures left = new ChaosFigures(outcomes, List.of(), List.of(), Map.of(SITE, 2));
    assertFalse(left.good());
    assertEquals("FAILED: 2 files or directories were left over", left.verdict());
    ChaosFigures said =
        new ChaosFigures(outcomes, List.of(), List.of("rank 1 hangs"), Map.of(SITE, 0));
    assertFalse(said.good());
    assertEquals("FAILED: jobs with several faults went wrong; see above", said.verdict());
  }

  @Test
  void aPauseThatWentWrongIsAFailure() {
    ChaosFigures figures =
        figures(
            List.of(good(Kind.KILL, 1, 2)),
            List.of(
                new PauseRun(SITE, 3, 2, 0, List.of("rank 1 said 'lost …' instead of 'idle'")),
                new PauseRun(SITE, 4, 0, 0, List.of())));
    assertFalse(figures.good());
    assertEquals("FAILED: 1 pause went wrong; see above", figures.verdict());
  }
}
