package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;

/** Small runs with real processes. */
@Tag("process")
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
}
