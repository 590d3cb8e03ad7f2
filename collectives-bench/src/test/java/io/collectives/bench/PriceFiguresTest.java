package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.bench.chaos.PriceOutcome;
import io.collectives.bench.chaos.PriceOutcome.Arm;
import io.collectives.bench.chaos.PriceOutcome.Growth;
import io.collectives.bench.chaos.PriceOutcome.Slice;
import io.collectives.bench.chaos.PriceOutcome.Times;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import org.junit.jupiter.api.Test;

class PriceFiguresTest {
  private static final Growth SMALL = new Growth(3 << 20, 1 << 20, 4096, 0, 11, 0);

  /** Calls of so many microseconds each. */
  private static Slice slice(Arm arm, int round, int micros) {
    int intruders = arm == Arm.NONE ? 0 : 20;
    return new Slice(
        arm,
        round,
        intruders,
        intruders,
        new Times(10, 10_000L * micros, 900L * micros, 2_000, 3_000));
  }

  private static PriceFigures figures(Growth growth, String... complaints) {
    return new PriceFigures(
        new PriceOutcome(
            List.of(
                slice(Arm.NONE, 0, 100),
                slice(Arm.DUMMY, 0, 110),
                slice(Arm.RANKS, 0, 110),
                slice(Arm.DUMMY, 1, 240),
                slice(Arm.RANKS, 1, 264),
                slice(Arm.NONE, 1, 200),
                slice(Arm.RANKS, 2, 51),
                slice(Arm.NONE, 2, 50),
                slice(Arm.DUMMY, 2, 50)),
            growth,
            List.of(complaints)));
  }

  /** The machine was slower in round 1, which no ratio shows. */
  @Test
  void armsAreComparedWithinTheirRounds() {
    StringWriter text = new StringWriter();
    figures(SMALL).table().print(Format.TSV, new PrintWriter(text), List.of());
    assertEquals(
        List.of(
            "strangers\tmade\tconnected\tcalls\tmedian_us\tp99_us\tmax_us\tmean_us\tto_none\tto_none_least\tto_none_most\tto_elsewhere\tto_elsewhere_least\tto_elsewhere_most",
            "none\t0\t0\t30\t90.000\t2.000\t3.000\t100.000\t-\t-\t-\t-\t-\t-",
            "elsewhere\t60\t60\t30\t99.000\t2.000\t3.000\t110.000\t1.100\t1.000\t1.200\t-\t-\t-",
            "at the ranks\t60\t60\t30\t99.000\t2.000\t3.000\t110.000\t1.100\t1.020\t1.320\t1.020\t1.000\t1.100"),
        text.toString().lines().toList());
    assertEquals(
        List.of(
            "strangers at the ranks: at most 5 % slower than the same elsewhere: yes",
            "strangers at the ranks: at most 5 % slower than without any: NO",
            "no rank grew by more than 32.0 MiB: yes; in memory 3.0 MiB at most, 1.0 MiB at the "
                + "end; direct buffers 0.0 MiB, 0.0 MiB; open descriptors 11, 0",
            "passed: no call failed, all sums were right"),
        figures(SMALL).lines());
    assertTrue(figures(SMALL).good());
  }

  @Test
  void aFailedCallAndMuchMemoryAreSaid() {
    PriceFigures bad = figures(new Growth(33 << 20, 0, 0, 0, 0, 0), "rank 1 said 'failed …'");
    assertFalse(bad.good());
    assertTrue(bad.lines().get(2).startsWith("no rank grew by more than 32.0 MiB: NO; "));
    assertEquals("FAILED: rank 1 said 'failed …'", bad.lines().get(3));
  }
}
