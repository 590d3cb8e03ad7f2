package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.collectives.bench.network.Network;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;

/** Small runs with real processes. */
@Tag("process")
@Tag("once")
class ChaosTest {

  @Test
  @DisabledOnOs(OS.WINDOWS)
  void survivorsOfAKillAndOfAStopGoOn() {
    Invocation run =
        Invocation.of(
            "chaos --faults 2 --ranks 3 --kinds kill,stop --silence 4 --format tsv".split(" "));
    assertEquals(0, run.status(), run.out() + run.err());
    List<String> lines = run.out().lines().toList();
    assertEquals(3, lines.size(), run.out());
    // Two survivors of each; the stopped rank must find that it is the culprit.
    assertTrue(lines.get(1).startsWith("kill\t1\t2\t2\t2\t2\t"), run.out());
    assertTrue(lines.get(2).startsWith("stop\t1\t3\t3\t2\t2\t"), run.out());
    assertTrue(lines.stream().skip(1).allMatch(line -> line.endsWith("\t0\t0")), run.out());
  }

  @Test
  @DisabledOnOs(OS.WINDOWS)
  void nobodyIsGivenUpForAPause() {
    Invocation run =
        Invocation.of("chaos --faults 0 --pauses 2 --pause 0.5 --silence 10 --ranks 3".split(" "));
    assertEquals(0, run.status(), run.out() + run.err());
    assertTrue(run.out().contains("pause      2             0      0"), run.out());
    assertTrue(run.out().contains("\npassed: "), run.out());
  }

  /** When the victims come to the meeting depends on the machine; what must hold does not. */
  @Test
  @DisabledOnOs(OS.WINDOWS)
  void allNameWhoIsLostWhileTheyJoin() {
    Invocation run =
        Invocation.of(
            ("chaos --faults 2 --while joining --kinds kill,stop --ranks 3 --silence 2 "
                    + "--join-timeout 8 --seed 2 --format tsv")
                .split(" "));
    assertEquals(0, run.status(), run.out() + run.err());
    List<String[]> rows = rows(run);
    assertEquals(2, rows.size(), run.out());
    for (int i = 0; i < 2; i++) {
      String[] row = rows.get(i);
      assertTrue(row[0].matches((i == 0 ? "kill" : "stop") + ", (awaited|meeting|met)"), row[0]);
      assertEquals(List.of("1", "2", "2"), List.of(row).subList(1, 4), run.out());
      assertTrue(row[4].equals(row[0].endsWith(", met") ? "2" : "0"), run.out());
      assertEquals(row[4], row[5], run.out());
      assertTrue(run.out().lines().skip(1).allMatch(line -> line.endsWith("\t0\t0")), run.out());
    }
  }

  @Test
  void cutsAreFoundOut() {
    Optional<String> whyNot = Network.whyNot();
    whyNot.ifPresent(why -> System.err.println("SKIPPED: ChaosTest.cutsAreFoundOut: " + why));
    assumeTrue(whyNot.isEmpty(), () -> "no silent cuts here: " + whyNot.orElseThrow());
    Invocation run =
        Invocation.of(
            "chaos --faults 2 --ranks 3 --kinds cut,isolate --silence 3 --format tsv".split(" "));
    assertEquals(0, run.status(), run.out() + run.err());
    List<String[]> rows = rows(run);
    assertEquals(List.of("cut", "1", "3", "3", "2", "2"), List.of(rows.get(0)).subList(0, 6));
    // The isolated rank can name anybody, but must not go on alone.
    assertEquals(List.of("isolate", "1", "2", "2", "2", "2"), List.of(rows.get(1)).subList(0, 6));
  }

  @Test
  void strangersFailNoCall() {
    Invocation run =
        Invocation.of(
            ("chaos --strangers 50 --strangers-per-second 50 --bytes 64K --warmup 0 --seed 9 "
                    + "--format tsv")
                .split(" "));
    assertEquals(0, run.status(), run.out() + run.err());
    List<String[]> rows = rows(run);
    assertEquals(
        List.of("none 0 0", "elsewhere 50 50", "at the ranks 50 50"),
        rows.stream().map(row -> row[0] + " " + row[1] + " " + row[2]).toList());
    assertTrue(rows.stream().allMatch(row -> Long.parseLong(row[3]) > 0), run.out());
    assertTrue(rows.get(0)[8].equals("-") && Double.parseDouble(rows.get(2)[8]) > 0, run.out());
  }

  /** The fields of each line but the first, which has their names. */
  private static List<String[]> rows(Invocation run) {
    return run.out().lines().skip(1).map(line -> line.split("\t")).toList();
  }
}
