package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("once")
class SimulateTest {

  @Test
  void aTableSaysWhatWasAssumed() {
    Invocation run =
        Invocation.of(
            "simulate --algorithm ring,torus --mesh 4x4 --bytes 1M --gamma 0.01ns/B".split(" "));
    assertEquals(0, run.status(), run.err());
    assertEquals("", run.err());
    List<String> lines = run.out().lines().toList();
    assertEquals(7, lines.size());
    assertTrue(lines.get(0).startsWith("algorithm"), run.out());
    assertTrue(!lines.get(0).contains("other"), run.out());
    assertTrue(lines.get(4).startsWith("Assumed: 1us and 70GB/s on each link"), run.out());
  }

  @Test
  void tsvAndJsonHaveTheSameFigures() {
    String[] command =
        "simulate --ranks 4 --bytes 400 --alpha 10ns --bandwidth 4Gbit/s --gamma 0.5ns/B --format"
            .split(" ");
    String tsv = Invocation.of(with(command, "tsv")).out();
    List<String> names = List.of(tsv.lines().toList().get(0).split("\t"));
    List<String> values = List.of(tsv.lines().toList().get(1).split("\t"));
    // 6 (10 + 100 * 2) + 3 * 50 ns.
    assertEquals("1.410000", values.get(names.indexOf("time_us")));
    assertEquals("1.410000", values.get(names.indexOf("closed_form_us")));
    assertEquals("2400.0", values.get(names.indexOf("other_bytes")));
    String json = Invocation.of(with(command, "json")).out();
    assertTrue(json.startsWith("[\n  {\"algorithm\": \"ring\""), json);
    assertTrue(json.contains("\"time_us\": 1.410000, \"closed_form_us\": 1.410000"), json);
    assertTrue(json.endsWith("}\n]\n"), json);
  }

  @Test
  void oneLinkCanBeSlower() {
    String[] command =
        "simulate --ranks 8 --link 3-4=1us,1GB/s --host-bandwidth 10GB/s --slabs 4 --format tsv"
            .split(" ");
    Invocation run = Invocation.of(command);
    assertEquals(0, run.status(), run.err());
    assertTrue(run.out().contains("\t3->4\tother\t"), run.out());
  }

  @Test
  void theChoiceAmongAlgorithmsHasNoPlan() {
    Invocation auto = Invocation.of("simulate", "--algorithm", "auto");
    assertEquals(2, auto.status());
    assertTrue(auto.err().contains("'auto' is no algorithm; there are ring, "), auto.err());
  }

  @Test
  void whatIsSharedIsSaid() {
    Invocation hosts =
        Invocation.of(
            ("simulate --algorithm ring,dedicated-servers --ranks 8 --ranks-per-host 2 --slabs 2"
                    + " --host-bandwidth 10GB/s --hosts-per-rack 2 --oversubscription 2"
                    + " --link host=1us,90GB/s --link racks=9us,10GB/s")
                .split(" "));
    assertEquals(0, hosts.status(), hosts.err());
    for (String said :
        new String[] {
          "hosts of 2, racks of 2 2:1",
          "on nic",
          "on uplink",
          "on racks",
          "dedicated-servers:4",
          "10GB/s in and out of each host of 2 ranks",
          "but host=1us,90GB/s, but racks=9us,10GB/s",
          "Racks of 2 hosts; uplinks carry 1/2.0 of what their NICs can",
          "Dedicated servers: ranks are the workers",
        }) {
      assertTrue(hosts.out().contains(said), said + ": " + hosts.out());
    }
    Invocation pods =
        Invocation.of(
            ("simulate --mesh 8x4 --wrap y --pod 4x4 --link pods=5us,35GB/s --circuit"
                    + " --model-parallel 2")
                .split(" "));
    assertEquals(0, pods.status(), pods.err());
    for (String said :
        new String[] {
          "8x4 wrap=y pods=4x4",
          "on pods",
          "Pods of 4x4 ranks",
          "2 groups at once, each with the payload",
          "Ranks are numbered along a circuit",
        }) {
      assertTrue(pods.out().contains(said), said + ": " + pods.out());
    }
  }

  /** No link carries more than it can, so the rate of a bus is not above that of a NIC. */
  @Test
  void theRateOfABusIsNotAboveThatOfANic() {
    Invocation run =
        Invocation.of(
            ("simulate --algorithm ring,hierarchical,dedicated-servers,atomic-servers --ranks 64 "
                    + "--ranks-per-host 8 --host-bandwidth 100Gbit/s --alpha 15us "
                    + "--bandwidth 100Gbit/s --link host=2us,130GB/s --slabs 16 --bytes 100M "
                    + "--serve arrival --format tsv")
                .split(" "));
    assertEquals(0, run.status(), run.err());
    List<String[]> rows = run.out().lines().map(line -> line.split("\t")).toList();
    int busbw = List.of(rows.get(0)).indexOf("busbw_GBps");
    assertEquals(5, rows.size());
    for (String[] row : rows.subList(1, 5)) {
      assertTrue(Double.parseDouble(row[busbw]) <= 12.5, String.join(" ", row));
    }
  }

  /** 400 bytes of 4 ranks, 10 ns and 2 ns a byte: worked out by hand. */
  @ParameterizedTest
  @CsvSource({
    "all-reduce, 6, 1.260, 0.476190",
    "reduce-scatter, 3, 0.630, 0.476190",
    "all-gather, 3, 0.630, 0.476190",
    "reduce-scatter+all-gather, 6, 1.260, 0.476190",
    "broadcast, 3, 2.430, 0.164609",
    "reduce, 3, 2.430, 0.164609",
    "gather, 1, 0.210, 1.428571",
    "scatter, 1, 0.210, 1.428571",
    "all-to-all, 3, 0.210, 1.428571",
    "barrier, 2, 0.020, 0.000000",
  })
  void everyCollectiveIsSimulated(String collective, int rounds, String micros, String busbw) {
    String[] command =
        ("simulate --ranks 4 --bytes 400 --alpha 10ns --bandwidth 4Gbit/s --format tsv"
                + " --collective "
                + collective)
            .split(" ");
    List<String> lines = Invocation.of(command).out().lines().toList();
    List<String> names = List.of(lines.get(0).split("\t"));
    List<String> values = List.of(lines.get(1).split("\t"));
    assertEquals(collective, values.get(names.indexOf("collective")));
    assertEquals(String.valueOf(rounds), values.get(names.indexOf("rounds")));
    assertEquals(micros + "000", values.get(names.indexOf("time_us")));
    assertEquals("1.000000", values.get(names.indexOf("ratio")));
    assertEquals(busbw, values.get(names.indexOf("busbw_GBps")));
  }

  @Test
  void aSweepOverSizesOfPayloadsIsDrawnOverBytes(@TempDir Path directory) throws Exception {
    Path file = directory.resolve("figure.svg");
    Invocation run =
        Invocation.of(("simulate --ranks 4 --bytes 1K,32K,1M --chart " + file).split(" "));
    assertEquals(0, run.status(), run.err());
    // A dot for each size, and one beside the name.
    assertEquals(4, Files.readString(file).split("class=\"mark ", -1).length - 1);
  }

  @ParameterizedTest
  @CsvSource({"png, \u0089PNG", "svg, <svg"})
  void aSweepIsDrawn(String type, String magic, @TempDir Path directory) throws Exception {
    Path file = directory.resolve("figure." + type);
    Invocation run =
        Invocation.of(
            ("simulate --algorithm ring,torus --mesh 2x2,4x4,8x8 --wrap none,xy --chart " + file)
                .split(" "));
    assertEquals(0, run.status(), run.err());
    byte[] picture = Files.readAllBytes(file);
    assertTrue(new String(picture, java.nio.charset.StandardCharsets.ISO_8859_1).startsWith(magic));
    assertEquals(12, run.out().lines().filter(line -> line.contains(" GB/s ")).count());
  }

  @Test
  void aPictureThatCannotBeWrittenIs1() {
    Invocation run = Invocation.of("simulate", "--chart", "/no/such/directory/figure.png");
    assertEquals(1, run.status());
    assertEquals(1, run.err().lines().count(), run.err());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "--ranks 0 | --ranks: '0' is no number of ranks; write 8, 1..64, 4x2 or 1x1..8x8",
        "--ranks 8..4 | --ranks: '8..4' is no number of ranks",
        "--ranks 99999 | --ranks: '99999' is no number of ranks",
        "--mesh 4 | --mesh: '4' is no mesh; write 4x4, or --ranks 4",
        "--mesh 300x300 | --mesh: '300x300' is no number of ranks",
        "--ranks 65536 | 65536 ranks with a link for each pair: from 1 to 32768 can be simulated",
        "--ranks 4 --mesh 2x2 | --ranks and --mesh: only one",
        "--wrap z | --wrap: 'z' is none of x, y, xy, none",
        "--algorithm tree | --algorithm: 'tree' is no algorithm; there are ",
        "--algorithm TREE | --algorithm: 'TREE' is no algorithm; there are ",
        "--algorithm torus:3x2 --ranks 4 | torus:3x2 has 6 places, the group has 4 ranks",
        "--alpha 1 | --alpha: '1' is no time; write it with its unit, as 500ns,",
        "--alpha -1us | --alpha: '-1us' is no time",
        "--bandwidth 70 | --bandwidth: '70' is no rate; write it with its unit, as 70GB/s",
        "--bandwidth 0GB/s | --bandwidth: '0GB/s' is no rate",
        "--gamma 1ns | --gamma: '1ns' is no time for a byte; write 0.01ns/B",
        "--host-bandwidth x | --host-bandwidth: 'x' is no rate",
        "--link z=1us,1GB/s | --link: 'z=1us,1GB/s' is no link; write x=1us,70GB/s",
        "--link x=1us | --link: 'x=1us' is no link",
        "--link x=1us,1GB/s --ranks 4 | --link x=1us,1GB/s: there are no such links",
        "--link pods=1us,1GB/s --mesh 4x4 | --link pods=1us,1GB/s: there are no such links",
        "--wrap x | --wrap: needs --mesh",
        "--mesh 1x8 --wrap x | --wrap x: the mesh 1x8 has one place along x, which has nothing to link",
        "--pod 4x4 | --pod: needs --mesh",
        "--pod 3x4 --mesh 8x8 | pods of 3x4 do not fill the mesh 8x8: each dimension must be a multiple",
        "--pod 4 --mesh 8x8 | --pod: '4' is no shape; write 32x32",
        "--model-parallel 3 --mesh 8x8 | 3-way model parallelism on mesh 8x8: the width 8 must be a multiple",
        "--model-parallel 0 --mesh 8x8 | --model-parallel 0: must be at least 1",
        "--model-parallel 2 | --circuit and --model-parallel: need --mesh",
        "--circuit | --circuit and --model-parallel: need --mesh",
        "--circuit --mesh 3x3 --wrap none | mesh 3x3 wrap=none has no circuit from neighbor to neighbor",
        "--ranks-per-host 0 | --ranks-per-host 0: must be at least 1",
        "--ranks-per-host 4 --mesh 4x4 | --ranks-per-host and --hosts-per-rack: ranks of a --mesh have links of their own",
        "--hosts-per-rack 4 | --hosts-per-rack: needs --host-bandwidth",
        "--oversubscription 3 | --oversubscription 3.0: needs --hosts-per-rack",
        "--oversubscription 0.5 --hosts-per-rack 4 --host-bandwidth 1GB/s | --oversubscription 0.5: must be from 1",
        "--collective sum | --collective: 'sum' is none of all-reduce,",
        "--collective broadcast --root 8 | root 8: ranks of a group are 0 to 7",
        "--algorithm dedicated-servers --mesh 4x4 | dedicated-servers plans an all-reduce of ranks that stand in no mesh only",
        "--algorithm dedicated-servers:0 | dedicated-servers:0 for 8 workers on hosts of 1: at least 1 server",
        "--link x=1,1GB/s | --link: x=1,1GB/s: '1' is no time",
        "--link 0-9=1us,1GB/s | --link 0-9=1us,1GB/s: there is no link from rank 0 to rank 9",
        "--slabs 0 | --slabs 0: must be from 1 to 65536",
        "--ranks 4096 --slabs 65536 | ring: 4096 ranks with 4096 chunks and 65536 slabs are too many",
        "--bytes x | --bytes: 'x' is no size",
        "--chart figure.gif | --chart figure.gif: must end with .png or .svg",
        "--format xml | --format: 'xml' is none of table, tsv, json",
        "extra | unexpected argument 'extra'",
      })
  void wrongUsageIsOneLineAnd2(String arguments, String start) {
    Invocation wrong = Invocation.of(("simulate " + arguments).split(" "));
    assertEquals(2, wrong.status(), wrong.err());
    assertEquals("", wrong.out());
    assertEquals(1, wrong.err().lines().count(), wrong.err());
    assertTrue(wrong.err().startsWith("collectives simulate: " + start), wrong.err());
    assertTrue(wrong.err().endsWith("--help'\n"), wrong.err());
  }

  private static String[] with(String[] command, String last) {
    String[] all = java.util.Arrays.copyOf(command, command.length + 1);
    all[command.length] = last;
    return all;
  }
}
