package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.collectives.bench.network.MeshNetwork;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code perf --mesh}. */
class PerfMeshTest {
  /** Barriers, headers of frames and of packets, and acknowledgements, beside long payloads. */
  private static final double WITH_HEADERS = 1.08;

  /** The bytes that a bucket of slow links lets pass at once. */
  private static final int BURST = 20 << 10;

  private static final int MEGABIT = 10;

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--mesh 0x4 | --mesh: mesh 0x4: both dimensions must be at least 1; try",
        "--mesh 4 | --mesh: '4' is no mesh; write 4x2, or 4x2 wrap=x, wrap=y or wrap=none; try",
        "--mesh 1x1 | --mesh 1x1: must have from 2 to 64 places; try",
        "--mesh 9x9 | --mesh 9x9: must have from 2 to 64 places; try",
        "--mesh 2x2 --link 10 | --link: '10' is no rate of a link; write it as 200Mbit/s",
        "--mesh 2x2 --link x=1kbit/s | --link: '1kbit/s' is no rate of a link; write it as",
        "--mesh 2x2 --link z=1Mbit/s | --link: 'z=1Mbit/s' is no rate of a link; write it as",
        "--mesh 2x2 --ranks 4 | --ranks with --mesh: each place is a process on a host of its own;",
        "--mesh 2x2 --transport shm | --transport with --mesh: each place is a process on a host",
        "--mesh 3x2 --model-parallel 2 | --model-parallel: 2-way model parallelism on mesh 3x2:",
        "--mesh 2x1 --model-parallel 2 | --model-parallel 2: groups of one rank have nothing to do",
        "--mesh 2x2 --algorithm auto | --mesh with --algorithm auto: it stands beside what a plan",
        "--mesh 2x2 --algorithm torus:4x4 | --algorithm: torus:4x4 has 16 places, the group has 4",
        "--mesh 4x2 --pod 3x2 | --algorithm ring on --mesh 4x2: pods of 3x2 do not fill the mesh",
        "--mesh 4x2 --pod 3 | --pod: '3' is no mesh; write 4x2,",
        "--mesh 2x2 --link pods=1Mbit/s | --link pods=: needs --pod, the shape of pods; try",
        "--mesh 2x2 --alpha 3 | --alpha: '3' is no time; write it with its unit, as 500ns,",
      })
  void wrongUsageIsOneLineAnd2(String arguments, String start) {
    String all = "perf --bytes 4K --link 5Mbit/s " + arguments;
    if (!arguments.contains("--algorithm")) {
      all += " --algorithm ring";
    }
    Invocation wrong = Invocation.of(all.split(" "));
    assertEquals(2, wrong.status(), wrong.err());
    assertEquals("", wrong.out());
    assertEquals(1, wrong.err().lines().count(), wrong.err());
    assertTrue(wrong.err().startsWith("collectives perf: " + start), wrong.err());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--mesh 2x2 --bytes 4K | --mesh: say what links carry, as --link 20Mbit/s; try",
        "--mesh 2x2 --link 5Mbit/s | --mesh: say how long payloads are on links that are slow",
        "--mesh 2x2 --bytes 4K --link y=5Mbit/s | --link y=5Mbit/s: some links of the mesh 2x2",
        "--link 5Mbit/s | --link, --pod and --model-parallel are of --mesh; try",
        "--pod 2x2 | --link, --pod and --model-parallel are of --mesh; try",
      })
  void whatIsMissingIsSaid(String arguments, String start) {
    Invocation wrong = Invocation.of(("perf --algorithm ring " + arguments).split(" "));
    assertEquals(2, wrong.status(), wrong.err());
    assertTrue(wrong.err().startsWith("collectives perf: " + start), wrong.err());
  }

  /**
   * On a line of three, what a ring sends home from its end passes the host between: both links
   * toward it carry it. A line's own plan sends to neighbors only.
   */
  @Test
  @Tag("process")
  @Tag("once")
  @Tag("long")
  void linksCarryWhatThePlanSaysAlsoOfOthers() {
    needsRoot();
    List<Map<String, String>> rows =
        rows(
            "--mesh",
            "3x1 wrap=none",
            "--algorithm",
            "ring,torus",
            "--bytes",
            "384K",
            "--link",
            MEGABIT + "Mbit/s");
    double m = 384 << 10;
    double third = 4 * m / 3; // 2M(n-1)/n
    carries(rows.get(0), Map.of("0->1", third, "1->2", third, "2->1", third, "1->0", third));
    // Shares of M/3: those of the places beyond, then those of the places before.
    carries(rows.get(1), Map.of("0->1", m, "1->2", m, "2->1", m, "1->0", m));
    assertTrue(
        Double.parseDouble(rows.get(1).get("model_us"))
            < Double.parseDouble(rows.get(0).get("model_us")));
  }

  /** Two groups of ranks beside each other share the links between (Kumar et al., figure 4). */
  @Test
  @Tag("process")
  @Tag("once")
  @Tag("long")
  void stridedGroupsShareSlowLinks() {
    needsRoot();
    List<Map<String, String>> rows =
        rows(
            "--mesh",
            "4x1 wrap=none",
            "--algorithm",
            "hierarchical",
            "--model-parallel",
            "2",
            "--bytes",
            "256K",
            "--link",
            "x=" + MEGABIT + "Mbit/s,y=100Mbit/s");
    double m = 256 << 10;
    // Groups 0 2 and 1 3: each sends M each way, over two links.
    carries(
        rows.get(0),
        Map.of("0->1", m, "1->2", 2 * m, "2->3", m, "3->2", m, "2->1", 2 * m, "1->0", m));
    assertEquals("2", rows.get(0).get("groups"));
  }

  private static void needsRoot() {
    Optional<String> whyNot = MeshNetwork.whyNot();
    whyNot.ifPresent(why -> System.err.println("SKIPPED: PerfMeshTest: " + why));
    assumeTrue(whyNot.isEmpty(), () -> "no mesh of namespaces here: " + whyNot.orElseThrow());
  }

  /** Runs it, checked, and returns the rows. */
  private static List<Map<String, String>> rows(String... arguments) {
    List<String> all = new ArrayList<>(List.of("perf"));
    all.addAll(List.of(arguments));
    all.addAll(List.of("--check --iterations 2 --warmup 0 --format tsv".split(" ")));
    Invocation perf = Invocation.of(all.toArray(String[]::new));
    assertEquals(0, perf.status(), perf.err());
    List<String[]> lines = perf.out().lines().map(line -> line.split("\t")).toList();
    return lines.stream()
        .skip(1)
        .map(
            cells -> {
              Map<String, String> row = new HashMap<>();
              for (int i = 0; i < cells.length; i++) {
                row.put(lines.get(0)[i], cells[i]);
              }
              return row;
            })
        .toList();
  }

  /** Asserts what each link has carried, that sums are right, and that nothing was too fast. */
  private static void carries(Map<String, String> row, Map<String, Double> links) {
    assertEquals("0", row.get("wrong"), row.toString());
    Map<String, String> counted = new HashMap<>();
    Arrays.stream(row.get("links").split(" "))
        .map(link -> link.split("="))
        .forEach(link -> counted.put(link[0], link[1]));
    assertEquals(links.keySet(), counted.keySet());
    double most = 0;
    for (Map.Entry<String, Double> link : links.entrySet()) {
      String[] bytes = counted.get(link.getKey()).split("/");
      long wire = Long.parseLong(bytes[0]);
      double plan = link.getValue();
      assertEquals(plan, Long.parseLong(bytes[1]), 1, link.getKey() + ": " + row);
      assertTrue(plan <= wire && wire <= WITH_HEADERS * plan, link.getKey() + ": " + row);
      most = Math.max(most, plan);
    }
    double least = (most - BURST) * 8 / MEGABIT;
    assertTrue(Double.parseDouble(row.get("least_us")) > least, "faster than its links: " + row);
  }
}
