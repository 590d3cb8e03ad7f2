package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Steps are modelled by {@code simulate --step}. */
@Tag("once")
class SimulateStepTest {

  private static Invocation simulate(String options) {
    return Invocation.of(("simulate " + options).split(" "));
  }

  private static List<Map<String, String>> rows(String options) {
    Invocation run = simulate(options + " --format tsv");
    assertEquals(0, run.status(), run.err());
    List<String> lines = run.out().lines().toList();
    String[] names = lines.get(0).split("\t");
    List<Map<String, String>> rows = new ArrayList<>();
    for (String line : lines.subList(1, lines.size())) {
      Map<String, String> row = new HashMap<>();
      for (int i = 0; i < names.length; i++) {
        row.put(names[i], line.split("\t")[i]);
      }
      rows.add(row);
    }
    return rows;
  }

  private static double number(Map<String, String> row, String name) {
    return Double.parseDouble(row.get(name));
  }

  @Test
  void aTableSaysWhatAStepConsistsOfAndWhatWasAssumed() {
    Invocation run =
        simulate(
            "--step resnet50 --batch 16 --flops 50TFLOP/s --ranks 4 --update 2ms --input 1ms"
                + " --shard");
    assertEquals(0, run.status(), run.err());
    assertEquals("", run.err());
    for (String said :
        List.of(
            "resnet50:fused",
            "update",
            "exposed",
            "A rank computes at 50TFLOP/s",
            "Each rank updates a part of the weights",
            "Assumed: 1us and 70GB/s on each link",
            "All ranks are equally fast")) {
      assertTrue(run.out().contains(said), said + ": " + run.out());
    }
    assertTrue(!run.out().contains("closed form"), run.out());
  }

  /** A ring of two moves 102,228,128 bytes each way; then the update follows. */
  @Test
  void partsOfAStepAddUp() {
    Map<String, String> row =
        rows("--step resnet50 --way one --backward 20ms --forward 10ms --update 4ms --ranks 2"
                + " --alpha 0us --bandwidth 10GB/s")
            .get(0);
    assertEquals(30 + 10.2228128 + 4, number(row, "step_ms"), 1e-3);
    assertEquals(10.2228128, number(row, "exposed_ms"), 1e-3);
    assertEquals(1, number(row, "calls"));
    double shares = 0;
    for (String part : List.of("input_wait", "forward", "backward", "update", "exposed")) {
      shares += number(row, part + "_share");
    }
    assertEquals(1, shares, 1e-4);
    assertEquals(34 / 44.2228128, number(row, "of_linear"), 1e-4);
    String json = simulate("--step resnet50 --backward 20ms --ranks 2 --format json").out();
    assertTrue(json.startsWith("[\n  {\"model\": \"resnet50:fused\""), json);
  }

  @Test
  void everyCombinationHasARow() {
    List<Map<String, String>> rows =
        rows(
            "--step resnet50,bert-large --way fused,one,each --batch 1,2 --flops 1TFLOP/s"
                + " --ranks 1,2 --scale 64 --algorithm ring,direct");
    assertEquals(2 * 3 * 2 * 2 * 2, rows.size());
    for (Map<String, String> row : rows) {
      if (row.get("ranks").equals("1")) {
        assertEquals(0, number(row, "calls"), row.toString());
        assertEquals(1, number(row, "of_linear"), row.toString());
      }
    }
  }

  @Test
  void linksAreThoseOnWhichMeasuredCallsTakeTheirTime() {
    // A ring of 4 has 6 rounds, each with a quarter of the payload.
    Invocation run =
        simulate(
            "--step table2 --backward 100ms --way one --no-overlap --ranks 4"
                + " --measured 1K=0.601536ms,1000K=2.136ms");
    assertEquals(0, run.status(), run.err());
    assertTrue(run.out().contains("100 µs, 1.00 GB/s"), run.out());
    // 177,528,832 bytes, half as many again on the way, beside the backward pass.
    assertTrue(run.out().contains("367 ms"), run.out());
    assertTrue(!run.out().contains("70GB/s"), run.out());
  }

  @Test
  void aChartShowsOneStepOrManyRanks(@TempDir Path directory) throws Exception {
    Path one = directory.resolve("one.svg");
    Path many = directory.resolve("many.svg");
    String step = "--step bert-large --scale 8 --backward 9ms --forward 4ms --update 3ms ";
    assertEquals(0, simulate(step + "--shard --ranks 4 --chart " + one).status());
    String svg = Files.readString(one);
    for (String said : List.of("backward", "update", "reduce-scatter", "all-gather")) {
      assertTrue(svg.contains(said), said);
    }
    assertEquals(0, simulate(step + "--ranks 2,4,8 --chart " + many).status());
    assertTrue(Files.readString(many).contains("exposed"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--step resnet50|either --flops or --backward",
        "--step resnet50 --flops 1TFLOP/s --backward 1ms|either --flops or --backward",
        "--step resnet50 --flops 1TFLOP/s --forward 1ms|--forward: needs --backward",
        "--step resnet50 --flops 5Tflops|is no rate of computing",
        "--step resnet50 --flops 0TFLOP/s|is no rate of computing",
        "--step table2 --flops 1TFLOP/s|its layers are not known",
        "--step table2 --backward 1ms --ready work|its layers are not known",
        "--step resnet50 --backward 1ms --batch 0|--batch 0: must be from 1 to 1000000",
        "--step resnet50 --backward 1ms --contention 1.5|--contention 1.5: must be from 0 to 1",
        "--step resnet50 --backward 1ms --type int32|float32, bfloat16 or float16",
        "--step resnet50 --backward 1ms --bytes 1M|--bytes: is of calls, not of a --step",
        "--step resnet50 --backward 1ms --collective barrier|--collective: is of calls",
        "--batch 4|--batch: is of a --step",
        "--shard|--shard: is of a --step",
        "--step resnet50 --backward 1ms --measured 1K=1ms|a short call and a longer one",
        "--step resnet50 --backward 1ms --measured 1K,2K|is no measured call",
        "--step resnet50 --backward 1ms --measured 1K=1ms,1M=2ms --alpha 1us|leave them out",
        "--step resnet50 --backward 1ms --measured 1K=1ms,1M=2ms --ranks 1|one rank sends nothing",
        "--step resnet50 --backward 1ms --measured 1M=1ms,2M=9ms|less time than its part",
        "--step resnet50 --backward 1ms --shard --algorithm dedicated-servers|dedicated-servers",
        "--step resnet50 --backward 1ms --scale 0|--scale 0: must be from 1",
      })
  void wrongUsageIsOneLine(String options, String said) {
    Invocation run = simulate(options);
    assertEquals(2, run.status(), run.out());
    assertTrue(run.err().contains(said), run.err());
    assertEquals(1, run.err().lines().count(), run.err());
  }
}
