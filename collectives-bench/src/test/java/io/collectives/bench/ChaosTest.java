package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.collectives.bench.network.Network;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;

/** Small runs with real processes. */
@Tag("process")
@Tag("once")
@Tag("long")
@Timeout(150) // Several share the processors.
class ChaosTest {

  @Test
  @DisabledOnOs(OS.WINDOWS)
  void survivorsOfAKillGoOnByEveryTransport() {
    Invocation run =
        Invocation.of(
            ("chaos --faults 4 --ranks 3 --kinds kill --silence 10 --format tsv "
                    + "--transport tcp,shm,unix,auto --hosts 2")
                .split(" "));
    assertEquals(0, run.status(), run.out() + run.err());
    List<String[]> rows = rows(run);
    List<String> sites = List.of("auto, 2 hosts", "shm", "tcp", "unix");
    assertEquals(2 * sites.size(), rows.size(), run.out());
    for (int i = 0; i < sites.size(); i++) {
      assertEquals(
          List.of(sites.get(i), "kill", "1", "2", "2", "2", "2"),
          List.of(rows.get(i)).subList(0, 7));
    }
    for (String[] row : rows) {
      String left = row[1].equals("all") ? "0" : "-";
      assertEquals(List.of("0", "0", "0", left), List.of(row).subList(15, 19), run.out());
    }
  }

  /** Two survivors; the stopped rank must find that it is the culprit. */
  @Test
  @DisabledOnOs(OS.WINDOWS)
  void whoWasStoppedFindsThatItIsGivenUp() {
    Invocation run =
        Invocation.of(
            "chaos --faults 1 --ranks 3 --kinds stop --silence 4 --format tsv --transport shm"
                .split(" "));
    assertEquals(0, run.status(), run.out() + run.err());
    assertEquals(
        List.of("shm", "stop", "1", "3", "3", "2", "2"), List.of(rows(run).get(0)).subList(0, 7));
  }

  @Test
  @DisabledOnOs(OS.WINDOWS)
  void severalFaultsInOneJobAreAllFoundOut() {
    Invocation run =
        Invocation.of(
            ("chaos --faults 2 --faults-per-job 2 --kinds kill --silence 4 --format tsv "
                    + "--transport shm --seed 5")
                .split(" "));
    assertEquals(0, run.status(), run.out() + run.err());
    assertEquals(List.of("shm", "kill", "2"), List.of(rows(run).get(0)).subList(0, 3), run.out());
  }

  /** A process that was killed comes again. */
  @Test
  @DisabledOnOs(OS.WINDOWS)
  void aJobRunsForLong() {
    Invocation run =
        Invocation.of(
            "chaos --soak 1s --ranks 3 --kinds kill --silence 4 --format tsv --transport shm"
                .split(" "));
    assertEquals(0, run.status(), run.out() + run.err());
    String[] row = rows(run).get(0);
    assertEquals(List.of("shm", "1"), List.of(row[0], row[2]), run.out());
    assertTrue(Integer.parseInt(row[3]) >= 1 && row[3].equals(row[4]), run.out());
    assertTrue(Integer.parseInt(row[5]) >= 1, run.out());
    assertEquals(List.of("0", "0", "0", "0"), List.of(row).subList(10, 14), run.out());
  }

  @Test
  @DisabledOnOs(OS.WINDOWS)
  void nobodyIsGivenUpForAPause() {
    Invocation run =
        Invocation.of("chaos --faults 0 --pauses 2 --pause 0.5 --silence 10 --ranks 3".split(" "));
    assertEquals(0, run.status(), run.out() + run.err());
    List<String> pause = List.of(run.out().lines().toList().get(1).split(" +"));
    assertEquals(List.of("tcp", "pause", "2", "-", "-", "-", "0", "0", "-"), pause);
    assertTrue(run.out().contains("\npassed: "), run.out());
  }

  /**
   * Victims come to the rendezvous when the machine lets them; what must hold does not depend on
   * it.
   */
  @Test
  @DisabledOnOs(OS.WINDOWS)
  void allNameWhoIsLostWhileTheyJoin() {
    Invocation run =
        Invocation.of(
            ("chaos --faults 1 --while joining --kinds kill --ranks 3 --silence 2 "
                    + "--join-timeout 8 --seed 2 --format tsv")
                .split(" "));
    assertEquals(0, run.status(), run.out() + run.err());
    List<String[]> rows = rows(run);
    String[] row = rows.get(0);
    assertTrue(row[1].matches("kill, (awaited|announced|met)"), row[1]);
    assertEquals(List.of("1", "2", "2"), List.of(row).subList(2, 5), run.out());
    assertTrue(row[5].equals(row[1].endsWith(", met") ? "2" : "0"), run.out());
    assertEquals(row[5], row[6], run.out());
    assertEquals(List.of("0", "0", "0"), List.of(row).subList(15, 18), run.out());
  }

  @Test
  void cutsAreFoundOut() {
    Optional<String> whyNot = Network.whyNot();
    whyNot.ifPresent(why -> System.err.println("SKIPPED: ChaosTest.cutsAreFoundOut: " + why));
    assumeTrue(whyNot.isEmpty(), () -> "no silent cuts here: " + whyNot.orElseThrow());
    Invocation run =
        Invocation.of(
            "chaos --faults 3 --kinds cut,isolate,reset --silence 3 --format tsv".split(" "));
    assertEquals(0, run.status(), run.out() + run.err());
    List<String[]> rows = rows(run);
    List<List<String>> starts =
        rows.stream().map(row -> List.of(row).subList(1, 7)).collect(Collectors.toList());
    // Where connections cannot be reset, that is skipped.
    starts.remove(List.of("reset", "1", "4", "4", "3", "3"));
    assertEquals(List.of("cut", "1", "4", "4", "3", "3"), starts.get(0));
    // The isolated rank can name anybody, but must not go on alone.
    assertEquals(List.of("isolate", "1", "3", "3", "3", "3"), starts.get(1));
  }

  @Test
  void intrudersFailNoCall() {
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
