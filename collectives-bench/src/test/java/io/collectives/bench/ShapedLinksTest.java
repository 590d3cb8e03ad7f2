package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.collectives.bench.model.Model;
import io.collectives.bench.model.WholeTensors;
import io.collectives.bench.network.LinkRate;
import io.collectives.bench.network.Network;
import io.collectives.bench.perf.ModelTensors;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Hosts with slow links; needs root. */
@Tag("process")
@Tag("once")
@Tag("long")
class ShapedLinksTest {
  private static final int SCALE = 512;
  private static final String RATE = "100Mbit/s";

  /** The bytes that a bucket lets pass at once. */
  private static final int BURST = 80 << 10;

  @BeforeEach
  void needsRoot() {
    Optional<String> whyNot = Network.whyNoRates();
    whyNot.ifPresent(why -> System.err.println("SKIPPED: ShapedLinksTest: " + why));
    assumeTrue(whyNot.isEmpty(), () -> "no slow links here: " + whyNot.orElseThrow());
  }

  /**
   * Of M bytes: a ring of 2 and two servers that share the work carry M each way at each host, the
   * server of the longest tensor carries that of both workers.
   */
  @Test
  void hostsCarryWhatTheLayoutSays() {
    Invocation perf =
        Invocation.of(
            ("perf --workers 2 --algorithm ring,parameter-server:0+n --tensors table2 --way one,"
                    + "atomic --iterations 2 --warmup 0 --check --format tsv --scale "
                    + SCALE
                    + " --link-bandwidth "
                    + RATE)
                .split(" "));
    assertEquals(0, perf.status(), perf.err());
    List<Map<String, String>> rows = rows(perf.out());
    assertEquals(
        List.of(
            "table2/512:one ring 2",
            "table2/512:one parameter-server:0+2 4",
            "table2/512:atomic parameter-server:0+2 4"),
        rows.stream()
            .map(row -> row.get("collective") + " " + row.get("algorithm") + " " + row.get("ranks"))
            .toList());
    int[] counts = new ModelTensors(Model.TABLE2, ModelTensors.Way.ONE, 2, SCALE, 0).counts();
    long all = 4L * Arrays.stream(counts).sum();
    int[] places = WholeTensors.deal(counts, 2);
    long[] whole = new long[2];
    for (int i = 0; i < counts.length; i++) {
      whole[places[i]] += 2 * 4 * counts[i];
    }
    Arrays.sort(whole);
    carries(rows.get(0), all, all);
    carries(rows.get(1), all, all);
    carries(rows.get(2), whole[0], whole[1]);
    double share = (double) all / whole[1];
    assertEquals(share, Double.parseDouble(rows.get(2).get("speedup_by_bytes")), 0.05);
    for (Map<String, String> row : rows) {
      assertEquals("0", row.get("wrong"), row.toString());
      double fastest =
          (Long.parseLong(row.get("most_sent")) - BURST)
              * 8e6
              / LinkRate.parse(RATE).bitsPerSecond();
      assertTrue(Double.parseDouble(row.get("min_us")) > fastest, "faster than its link: " + row);
    }
  }

  /** At most a twentieth for headers, acknowledgements and barriers. */
  private static void carries(Map<String, String> row, long least, long most) {
    for (String way : List.of("sent", "received")) {
      long low = Long.parseLong(row.get("least_" + way));
      long high = Long.parseLong(row.get("most_" + way));
      assertTrue(least <= low && low <= 1.05 * least, least + " bytes at least: " + row);
      assertTrue(most <= high && high <= 1.05 * most, most + " bytes at most: " + row);
    }
  }

  private static List<Map<String, String>> rows(String tsv) {
    List<String[]> lines = tsv.lines().map(line -> line.split("\t")).toList();
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
}
