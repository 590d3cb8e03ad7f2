package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SimulateTest {

  @Test
  void aTableSaysWhatWasAssumed() {
    Invocation run =
        Invocation.of(
            "simulate --algorithm ring,torus --mesh 4x4 --bytes 1M --gamma 0.01ns/B".split(" "));
    assertEquals(0, run.status(), run.err());
    assertEquals("", run.err());
    List<String> lines = run.out().lines().toList();
    assertEquals(6, lines.size());
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

  @ParameterizedTest
  @CsvSource({"png, \u0089PNG", "svg, <?xml"})
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
        "--ranks 4 --mesh 2x2 | --ranks and --mesh: only one",
        "--wrap z | --wrap: 'z' is none of x, y, xy, none",
        "--algorithm tree | 'tree' is no algorithm; there are ring,",
        "--algorithm TREE | --algorithm: algorithm name \"TREE\": allowed are",
        "--algorithm torus:3x2 --ranks 4 | torus:3x2 has 6 places, the job 4 ranks",
        "--alpha 1 | --alpha: '1' is no time; write it with its unit, as 500ns,",
        "--alpha -1us | --alpha: '-1us' is no time",
        "--bandwidth 70 | --bandwidth: '70' is no rate; write it with its unit, as 70GB/s",
        "--bandwidth 0GB/s | --bandwidth: '0GB/s' is no rate",
        "--gamma 1ns | --gamma: '1ns' is no time for a byte; write 0.01ns/B",
        "--host-bandwidth x | --host-bandwidth: 'x' is no rate",
        "--link z=1us,1GB/s | --link: 'z=1us,1GB/s' is no link; write x=1us,70GB/s",
        "--link x=1us | --link: 'x=1us' is no link",
        "--link x=1,1GB/s | --link x=1,1GB/s: '1' is no time",
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
