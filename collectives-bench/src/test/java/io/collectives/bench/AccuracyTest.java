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
class AccuracyTest {
  private static final String HEADER =
      "algorithm\ttype\twire\tranks\tby\tsteps\telements\trms_error\tmax_error";

  private static List<String> rows(String arguments) {
    Invocation run = Invocation.of(("accuracy --format tsv " + arguments).split(" "));
    assertEquals(0, run.status(), run.err());
    assertEquals("", run.err());
    List<String> lines = run.out().lines().toList();
    assertEquals(HEADER, lines.get(0));
    return lines.subList(1, lines.size());
  }

  private static double rms(String row) {
    return Double.parseDouble(row.split("\t")[7]);
  }

  @Test
  void aRingRoundsAtEachHopAndTwoHopsOnceEachWay() {
    List<String> rows =
        rows("--algorithm ring,direct --ranks 4,64 --simulate --wire bfloat16,int8");
    assertEquals(8, rows.size());
    assertTrue(rows.get(1).startsWith("ring\tfloat32\tbfloat16\t64\tplan\t1\t4096\t"), rows.get(1));
    // Ring and direct by bfloat16, then by int8.
    assertTrue(rms(rows.get(1)) > 2 * rms(rows.get(0)), rows.toString());
    assertTrue(rms(rows.get(1)) > 2 * rms(rows.get(5)), rows.toString());
    assertTrue(rms(rows.get(5)) < 1.5 * rms(rows.get(4)), rows.toString());
    assertTrue(rms(rows.get(3)) > 2 * rms(rows.get(7)), rows.toString());
  }

  @Test
  void theEngineAndThePlanHaveTheSameFigures() {
    String arguments =
        "--algorithm halving-doubling,recursive-doubling --ranks 5 --type float32,float64";
    List<String> byEngine = rows(arguments);
    // The narrow wires are those of float32.
    assertEquals(2 * (4 + 1), byEngine.size());
    assertEquals(
        byEngine.stream().map(row -> row.replace("\tengine\t", "\tplan\t")).toList(),
        rows(arguments + " --simulate"));
    double ofFloats = rms(byEngine.get(0));
    double ofDoubles = rms(byEngine.get(4));
    assertTrue(ofFloats > 0x1p-27 && ofFloats < 0x1p-23, byEngine.get(0));
    assertTrue(ofDoubles > 0x1p-56 && ofDoubles < 0x1p-52, byEngine.get(4));
  }

  @Test
  void whatIsKeptMakesUpForWhatIsLostOverTheSteps(@TempDir Path directory) throws Exception {
    Path file = directory.resolve("figure.svg");
    List<String> rows =
        rows(
            "--algorithm direct --ranks 4 --steps 1,64 --elements 1024 --wire int8,int8+feedback"
                + " --chart "
                + file);
    assertEquals(4, rows.size());
    // The same numbers lose the same in each step.
    assertEquals(rms(rows.get(0)), rms(rows.get(1)), 0);
    assertEquals(rms(rows.get(0)), rms(rows.get(2)), 0);
    assertTrue(rms(rows.get(3)) < rms(rows.get(1)) / 16, rows.toString());
    // A dot for each number of steps of both lines, and one beside the name of each.
    assertEquals(6, Files.readString(file).split("class=\"mark ", -1).length - 1);
  }

  @Test
  void aTableSaysWhatIsMeasuredAndJsonIsForPrograms() {
    String arguments = "accuracy --algorithm ring --wire int8 --ranks 2,65 --elements 1";
    List<String> lines = Invocation.of(arguments.split(" ")).out().lines().toList();
    assertEquals(6, lines.size());
    assertTrue(lines.get(1).matches("ring .* engine +1 +256 .*"), lines.get(1));
    assertTrue(lines.get(2).matches("ring .* plan +1 +256 .*"), lines.get(2));
    assertTrue(lines.get(4).startsWith("Contributions: normal, mean 0, deviation 1; seed 1."));
    assertTrue(lines.get(5).startsWith("Errors: relative to the root mean square"));
    String json = Invocation.of((arguments + " --format json").split(" ")).out();
    assertTrue(
        json.contains("\"by\": \"plan\", \"steps\": 1, \"elements\": 256, \"rms_error\": 0.0"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "--algorithm tree | --algorithm: 'tree' is no algorithm; there are ",
        "--algorithm torus:3x2 --ranks 4 | --algorithm: torus:3x2 has 6 places, the group has 4 ranks",
        "--wire int4 | --wire: 'int4' is no wire type; there are as-in-memory, bfloat16",
        "--wire as-in-memory+feedback | --wire: 'as-in-memory+feedback' is no wire type",
        "--wire int8 --type float64 | --wire: none of these fits any --type and --algorithm given",
        "--wire int8+feedback --algorithm exchange | --wire: none of these fits",
        "--type int32 | --type int32: sums of integers are exact",
        "--ranks 0 | --ranks: '0' is no number of ranks",
        "--ranks 5000 | --ranks: 5000 ranks: up to 4096 can be simulated",
        "--elements 0 | --elements 0: must be from 1 to 65536",
        "--steps 0 | --steps 0: must be from 1 to 100000, in rising order",
        "--steps 4,4 | --steps 4: must be from 1 to 100000, in rising order",
        "--noise -1 | --noise: noise -1.0: must be from 0 to 100",
        "--chart figure.gif | --chart figure.gif: must end with .png or .svg",
      })
  void wrongUsageIsOneLineAnd2(String arguments, String start) {
    Invocation wrong = Invocation.of(("accuracy " + arguments).split(" "));
    assertEquals(2, wrong.status(), wrong.err());
    assertEquals("", wrong.out());
    assertEquals(1, wrong.err().lines().count(), wrong.err());
    assertTrue(wrong.err().startsWith("collectives accuracy: " + start), wrong.err());
  }
}
