package io.collectives.bench;

import static java.util.stream.Collectors.joining;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.Explanation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Whole runs of small jobs, in threads and in processes of their own. */
@Tag("process")
@Tag("once")
@Timeout(150) // Several share the processors.
class EndToEndTest {
  private static final String HEADER =
      "collective\talgorithm\ttransport\tplacement\tranks\ttype\twire\top\tbytes\tcount\titerations\tmedian_us\tmin_us\tp99_us\talgbw_GBps\tbusbw_GBps\twrong\tcore_to_core_ns\tchosen\tspeedup\tspeedup_by_bytes\tmost_sent\tleast_sent\tmost_received\tleast_received\tnegotiation_messages\tround\tcores";

  private static Invocation perf(String arguments) {
    return Invocation.of(("perf --warmup 0.02 --min-time 0.02 --check " + arguments).split(" "));
  }

  /** Of what two processes have learnt in an epoch, more is wanted than anybody can read. */
  @Test
  @Tag("long") // DigitsRunTest trains, too.
  void trainReadsDigitsAndSaysHowWell() {
    Invocation train = Invocation.of("train", "--ranks", "2", "--epochs", "1", "--least", "100");
    assertEquals(1, train.status(), train.err());
    List<String> lines = train.out().lines().toList();
    assertTrue(
        lines.get(2).matches("epoch +loss +accuracy +bits +step +slowest +images/s"), train.out());
    assertTrue(lines.get(3).startsWith("    1    "), train.out());
    assertTrue(lines.get(5).matches("FAILED: [5-9]\\d\\.\\d\\d % of .*"), train.out());
    Invocation wrong = Invocation.of("train", "--update", "servers", "--servers", "2");
    assertEquals(2, wrong.status());
    assertTrue(wrong.err().contains("servers have parts of layers"), wrong.err());
  }

  /** Four processes read what is wanted of them by default, one of them killed half-way. */
  @Test
  @Tag("long")
  void fourProcessesReadDigitsThoughOneIsKilled() {
    Invocation train = Invocation.of("train", "--kill", "2@6");
    assertEquals(0, train.status(), train.out() + train.err());
  }

  /** Two runs, whose bits are the same in the order of ranks, and one line of a picture. */
  @Test
  @Tag("long")
  void curvesOfAllAlgorithmsAreOne(@TempDir Path directory) throws IOException {
    Path chart = directory.resolve("loss.svg");
    Invocation train =
        Invocation.of(
            ("train --placement threads --ranks 2 --epochs 1 --least 10 --algorithm direct,exchange"
                    + " --repeatability rank-order --chart "
                    + chart)
                .split(" "));
    assertEquals(0, train.status(), train.out() + train.err());
    assertTrue(train.out().contains("All curves are the same to the last bit."), train.out());
    assertEquals(2, train.out().lines().filter(line -> line.startsWith("passed: ")).count());
    assertEquals(
        2, Files.readString(chart).split("class=\"mark ", -1).length - 1, "a dot, its name");
  }

  @Test
  void updatesOfShardsAreMeasured() {
    Invocation update =
        Invocation.of(
            "update --scale 1000 --rounds 1 --ranks 2 --optimizer momentum,lars --format tsv"
                .split(" "));
    assertEquals(0, update.status(), update.err());
    List<String> lines = update.out().lines().toList();
    assertEquals(3, lines.size(), update.out());
    assertTrue(lines.get(0).startsWith("model\toptimizer\tranks\tall_reduce_us"), lines.get(0));
    assertTrue(lines.get(2).startsWith("resnet50/1000\tlars\t2\t"), lines.get(2));
    assertEquals(14, lines.get(2).split("\t").length);
  }

  @Test
  @Tag("long")
  void scalingIsMeasuredAndSimulated() {
    Invocation scaling =
        Invocation.of(
            "scaling --ranks 2 --simulate 1,4096 --rounds 1 --format tsv --batch 64".split(" "));
    assertEquals(0, scaling.status(), scaling.err());
    List<String[]> rows = scaling.out().lines().map(line -> line.split("\t")).toList();
    assertEquals(4, rows.size(), scaling.out());
    assertEquals("measured 2", rows.get(1)[0] + " " + rows.get(1)[1]);
    assertEquals("simulated 4096", rows.get(3)[0] + " " + rows.get(3)[1]);
    double alone = Double.parseDouble(rows.get(2)[2]);
    for (int column : new int[] {2, 3, 7, 11}) {
      double together = Double.parseDouble(rows.get(3)[column]);
      assertTrue(together > alone && together < 4096 * alone * 1.5, scaling.out());
    }
  }

  @Test
  void areasOfAllNumbersOfRanksAreTheSame() {
    Invocation auc = Invocation.of("auc --examples 20000 --ranks 1,3 --rounds 2".split(" "));
    assertEquals(0, auc.status(), auc.out() + auc.err());
    assertEquals(4, auc.out().lines().filter(line -> line.contains("20,000")).count(), auc.out());
    assertTrue(auc.out().contains("passed: all areas are the same to the last bit"), auc.out());
  }

  /** A process is killed and replaced, whether a shard of the state was its own or not. */
  @ParameterizedTest
  @Tag("long")
  @ValueSource(strings = {"sharded 2@2", "allreduce 0@1"})
  void trainingGoesOnWhenAProcessIsKilled(String what, @TempDir Path directory) throws IOException {
    String[] words = what.split(" ");
    String common =
        "train --ranks 3 --epochs 3 --least 80 --algorithm direct --repeatability rank-order --update "
            + words[0];
    Path chart = directory.resolve("loss.svg");
    Invocation killed =
        Invocation.of((common + " --kill " + words[1] + " --chart " + chart).split(" "));
    Invocation undisturbed = Invocation.of((common + " --placement threads").split(" "));
    assertEquals(0, killed.status(), killed.err());
    assertTrue(killed.err().contains("rank " + words[1].charAt(0) + " is killed"), killed.err());
    assertEquals(epochs(undisturbed), epochs(killed));
    assertTrue(Files.readString(chart).contains("class=\"mark "), "a picture with dots");
  }

  /** Epoch, loss, accuracy and bits of each row. */
  private static List<String> epochs(Invocation train) {
    List<String> rows =
        train
            .out()
            .lines()
            .filter(line -> line.matches(" +\\d+ .*"))
            .map(line -> line.replaceFirst("( *\\S+ +\\S+ +\\S+ % +\\p{XDigit}{16}) .*", "$1"))
            .toList();
    assertEquals(3, rows.size(), train.out());
    return rows;
  }

  /** A table that perf writes is read by auto. */
  @Test
  void perfWritesATableForAuto(@TempDir Path directory) throws IOException {
    Path file = directory.resolve("my.table");
    Invocation perf =
        perf(
            "--placement threads --ranks 2,3 --bytes 8,64K --algorithm swing,direct,auto:shipped"
                + " --tune-table "
                + file);
    assertEquals(0, perf.status(), perf.err());
    List<String> rows =
        Files.readAllLines(file).stream().filter(line -> !line.startsWith("#")).toList();
    assertEquals(4, rows.size());
    assertTrue(perf.out().contains(String.join("\n", rows)), perf.out());
    assertTrue(rows.get(0).matches(".* # 8 B: .*, auto:shipped: exchange [0-9.]+.*"), rows.get(0));
    List<Communicator> worlds = Collectives.inProcess(3);
    try {
      Algorithm auto = Algorithm.auto(String.join(";", rows).replaceAll("#[^;]*", ""));
      Explanation said = worlds.get(0).using(auto).explain(1 << 20);
      assertTrue(
          said.reason().row().startsWith("threads all-reduce 3: 724-inf: "), said.toString());
    } finally {
      worlds.forEach(Communicator::close);
    }
  }

  /** Other memory than arrays, and several types. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "--type float32,int64 --placement processes --transport shm --ranks 2"
            + " --memory communicator --out-of-place",
        "--transport inprocess --ranks 3 --memory direct --out-of-place"
      })
  void perfFindsNothingWrong(String placement) {
    perfFindsNothingWrongWith("--algorithm direct " + placement);
  }

  /** With the rest, all transports are measured between processes and between threads. */
  @ParameterizedTest
  @Tag("long")
  @ValueSource(
      strings = {
        "--placement processes --ranks 2",
        "--placement processes --transport unix --ranks 2",
        "--placement threads --transport shm --ranks 2",
        "--placement threads --transport tcp --ranks 2",
      })
  void perfFindsNothingWrongByAuto(String placement) {
    perfFindsNothingWrongWith(placement);
  }

  private static void perfFindsNothingWrongWith(String placement) {
    Invocation perf = perf("--format tsv --bytes 8,64K " + placement);
    assertEquals(0, perf.status(), perf.err());
    List<String> lines = perf.out().lines().toList();
    assertEquals(HEADER, lines.get(0));
    assertEquals(placement.contains(",") ? 1 + 4 : 1 + 2, lines.size());
    for (String line : lines.subList(1, lines.size())) {
      String[] cells = line.split("\t");
      assertEquals(28, cells.length, line);
      assertEquals("as-in-memory", cells[6], line);
      assertTrue(cells[27].matches("smt|near|far|disturbed"), line);
      assertEquals("1", cells[26], line);
      assertEquals("0", cells[16], line);
      assertTrue(Double.parseDouble(cells[11]) > 0, line);
      assertTrue(Integer.parseInt(cells[10]) >= 9, line);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--op sum --algorithm ring,bidirectional-ring,torus:2x2,direct,parameter-server:2,"
            + "shortest-way-ring,binomial-tree,recursive-doubling,halving-doubling,"
            + "double-binary-tree",
        "--algorithm direct,ring --op sum,average,min,max,product"
      })
  void everyAlgorithmAndOpIsMeasured(String what) {
    Invocation perf =
        perf("--placement threads --ranks 4 --bytes 1000 --iterations 3 --format tsv " + what);
    assertEquals(0, perf.status(), perf.err());
    assertEquals(1 + 10, perf.out().lines().count());
  }

  /** Proxies are threads of one process, which share memory; workers reach them by TCP. */
  @Test
  @Tag("long")
  void proxiesAreMeasured() {
    Invocation perf =
        perf(
            "--ranks 4 --bytes 1000 --iterations 3 --format tsv --algorithm parameter-server"
                + " --servers 1 --dedicated --proxies 2 --proxies-in threads");
    assertEquals(0, perf.status(), perf.err());
    String[] cells = perf.out().lines().toList().get(1).split("\t");
    assertEquals("parameter-server:0+1x2", cells[1]);
    assertEquals("auto (tcp)", cells[2]);
    assertEquals("0", cells[16]);
  }

  @Test
  void persistentCallsAreMeasuredBesideOthers() {
    String all = Arrays.stream(Collective.values()).map(Collective::toString).collect(joining(","));
    Invocation perf =
        perf(
            "--ranks 3 --transport inprocess --algorithm direct --bytes 4012 --iterations 3"
                + " --format tsv --op average --finite-check --persistent --collective "
                + all);
    assertEquals(0, perf.status(), perf.err());
    List<String> lines = perf.out().lines().toList();
    assertEquals(1 + 2 * Collective.values().length, lines.size());
    for (int i = 0; i < Collective.values().length; i++) {
      String[] ordinary = lines.get(1 + 2 * i).split("\t");
      String[] persistent = lines.get(2 + 2 * i).split("\t");
      assertEquals(Collective.values()[i].toString(), ordinary[0]);
      assertEquals(ordinary[0] + ":persistent", persistent[0]);
      assertEquals("0", ordinary[16]);
      assertEquals("0", persistent[16]);
    }
  }

  /** Of a length that no number of ranks divides, so that parts differ. */
  @ParameterizedTest
  @CsvSource({"auto:shipped, inprocess, array", "torus, tcp, communicator"})
  void everyCollectiveIsMeasuredAndChecked(String algorithm, String transport, String memory) {
    String all = Arrays.stream(Collective.values()).map(Collective::toString).collect(joining(","));
    Invocation perf =
        perf(
            "--placement threads --ranks 3 --bytes 4012 --iterations 3 --format tsv --transport "
                + transport
                + " --memory "
                + memory
                + " --collective "
                + all
                + " --algorithm "
                + algorithm);
    assertEquals(0, perf.status(), perf.err());
    List<String> lines = perf.out().lines().toList();
    assertEquals(1 + Collective.values().length, lines.size());
    for (int i = 1; i < lines.size(); i++) {
      String[] cells = lines.get(i).split("\t");
      assertEquals(Collective.values()[i - 1].toString(), cells[0]);
      assertEquals(algorithm.equals("torus") ? "torus:3x1" : algorithm, cells[1]);
      assertEquals("0", cells[16], lines.get(i));
      assertEquals(algorithm.equals("torus"), cells[18].equals("-"), "chosen: " + cells[18]);
    }
  }

  @Test
  void tensorsOfAModelAreReducedInEveryWay() {
    Invocation perf =
        perf(
            "--placement threads --transport inprocess --iterations 1 --format tsv "
                + "--algorithm auto:shipped --tensors resnet50 --scale 200");
    assertEquals(0, perf.status(), perf.err());
    List<String> lines = perf.out().lines().toList();
    assertEquals(HEADER, lines.get(0));
    List<String> titles = lines.stream().skip(1).map(line -> line.split("\t")[0]).toList();
    assertEquals(
        Stream.of("fused", "one", "each", "copied").map(way -> "resnet50/200:" + way).toList(),
        titles);
    for (String line : lines.subList(1, 5)) {
      assertEquals("0", line.split("\t")[16], line);
      assertEquals("510980", line.split("\t")[8], line);
    }
  }

  @Test
  void waysThatNeedServersOrNoneAreMeasuredWhereTheyFit() {
    Invocation perf =
        perf(
            "--placement threads --workers 2 --iterations 1 --format tsv --algorithm "
                + "ring,parameter-server:0+n --tensors table2 --scale 1000 --way "
                + "fused,atomic,negotiated");
    assertEquals(0, perf.status(), perf.err());
    assertEquals(
        List.of("fused 2 0 -", "negotiated 2 0 2", "fused 4 0 -", "atomic 4 0 -"),
        perf.out()
            .lines()
            .skip(1)
            .map(line -> line.split("\t"))
            .map(
                cells ->
                    String.join(
                        " ",
                        cells[0].substring(cells[0].indexOf(':') + 1),
                        cells[4],
                        cells[16],
                        cells[25]))
            .toList());
  }

  /** Dedicated servers come on top of workers; a line is compared with the first one. */
  @Test
  void workersAreComparedWithWhatCameFirst() {
    Invocation perf =
        perf(
            "--placement threads --workers 3,1 --bytes 3000 --iterations 3 --format tsv "
                + "--algorithm ring,parameter-server:0+2,ring,parameter-server:n,auto:shipped");
    assertEquals(0, perf.status(), perf.err());
    List<String[]> rows = perf.out().lines().skip(1).map(line -> line.split("\t")).toList();
    assertEquals(
        List.of(
                "3 ring",
                "5 parameter-server:0+2",
                "3 ring",
                "3 parameter-server:3",
                "3 auto:shipped")
            .toString(),
        rows.subList(0, 5).stream().map(row -> row[4] + " " + row[1]).toList().toString());
    assertEquals(
        List.of(
                "1 ring",
                "3 parameter-server:0+2",
                "1 ring",
                "1 parameter-server:1",
                "1 auto:shipped")
            .toString(),
        rows.subList(5, 10).stream().map(row -> row[4] + " " + row[1]).toList().toString());
    for (int i = 0; i < 10; i++) {
      double first = Double.parseDouble(rows.get(i - i % 5)[11]);
      double speedup = first / Double.parseDouble(rows.get(i)[11]);
      assertEquals(speedup, Double.parseDouble(rows.get(i)[19]), 0.001 * speedup + 0.0001);
      assertEquals("0", rows.get(i)[16]);
    }
  }

  /** A line is compared with the first of its own round. */
  @Test
  void roundsAreMeasuredInTurn() {
    String what =
        "--transport inprocess --bytes 4K --iterations 3 --algorithm ring,direct --rounds 2";
    Invocation perf = perf("--format tsv " + what);
    assertEquals(0, perf.status(), perf.err());
    List<String[]> rows = perf.out().lines().skip(1).map(line -> line.split("\t")).toList();
    assertEquals(
        List.of("ring 1", "direct 1", "ring 2", "direct 2"),
        rows.stream().map(row -> row[1] + " " + row[26]).toList());
    for (int i = 0; i < 4; i++) {
      double first = Double.parseDouble(rows.get(i - i % 2)[11]);
      double speedup = first / Double.parseDouble(rows.get(i)[11]);
      assertEquals(speedup, Double.parseDouble(rows.get(i)[19]), 0.001 * speedup + 0.0001);
      assertEquals("0", rows.get(i)[16]);
    }
    Invocation table = perf(what);
    assertEquals(0, table.status(), table.err());
    List<String> lines = table.out().lines().toList();
    assertEquals(7, lines.size(), table.out());
    assertTrue(lines.get(0).contains("in rounds"), table.out());
    assertTrue(lines.get(4).startsWith("threads all-reduce"), table.out());
    assertTrue(lines.get(6).contains("medians of 2 rounds"), table.out());
  }

  @Test
  void severalNumbersOfRanksAreMeasuredAndDrawn(@TempDir Path directory) throws IOException {
    Path file = directory.resolve("growth.svg");
    Invocation perf =
        perf(
            "--placement threads --ranks 2,3 --bytes 4K --iterations 3 --format tsv --algorithm ring,direct --chart "
                + file);
    assertEquals(0, perf.status(), perf.err());
    List<String> lines = perf.out().lines().skip(1).toList();
    assertEquals(
        List.of("ring 2", "direct 2", "ring 3", "direct 3"),
        lines.stream().map(line -> line.split("\t")).map(cell -> cell[1] + " " + cell[4]).toList());
    // Two lines of two points each, and one more beside the name of each.
    String picture = Files.readString(file);
    assertEquals(2 * (2 + 1), picture.split("class=\"mark ", -1).length - 1);
    assertTrue(picture.contains("mark vermilion"));
  }

  @Test
  @Tag("long") // It sums for five seconds.
  void aStartUpIsLongerThanItsParts() {
    Invocation perf =
        Invocation.of("perf", "--start-up", "1", "--transport", "shm", "--format", "tsv");
    assertEquals(0, perf.status(), perf.err());
    List<String> lines = perf.out().lines().toList();
    assertEquals(
        "transport\tranks\tstarts\tmedian_ms\tmin_ms\tmax_ms\tjvm_ms\tjoin_ms\tfirst_sum_ms"
            + "\tsteady_ms\taot",
        lines.get(0));
    String[] cells = lines.get(1).split("\t");
    assertEquals(List.of("shm", "2", "1"), List.of(cells).subList(0, 3));
    double total = Double.parseDouble(cells[3]);
    double parts = 0;
    for (int i = 6; i < 9; i++) {
      assertTrue(Double.parseDouble(cells[i]) > 0, lines.get(1));
      parts = Math.max(parts, Double.parseDouble(cells[i]));
    }
    assertTrue(parts < total, lines.get(1));
    double steady = Double.parseDouble(cells[9]);
    assertTrue(steady >= total && steady < total + 60_000, lines.get(1));
    assertEquals("false", cells[10]);
    assertEquals(cells[3], cells[4]);
    assertEquals(cells[3], cells[5]);
  }

  @Test
  void jsonIsAnArrayOfObjects() {
    Invocation perf =
        perf("--placement threads --ranks 1 --bytes 8,16 --iterations 1 --format json");
    assertEquals(0, perf.status(), perf.err());
    List<String> lines = perf.out().lines().toList();
    assertEquals("[", lines.get(0));
    assertTrue(
        lines.get(1).startsWith("  {\"collective\": \"all-reduce\", \"algorithm\": \"auto\","),
        perf.out());
    assertTrue(lines.get(1).endsWith("},"), perf.out());
    assertEquals("]", lines.get(3));
  }

  @Test
  void tableEndsWithHowItWasMade() {
    Invocation perf = perf("--placement threads --ranks 2 --bytes 8 --iterations 5");
    assertEquals(0, perf.status(), perf.err());
    List<String> lines = perf.out().lines().toList();
    assertEquals(4, lines.size());
    assertTrue(lines.get(0).startsWith("collective"));
    assertTrue(lines.get(3).contains("JDK ") && lines.get(3).contains("seed 1"), lines.get(3));
  }

  @ParameterizedTest
  @Tag("long") // The demo of the whole model in float32 is a command of the README.
  @ValueSource(strings = {"processes --wire-type=int8", "threads --type=bfloat16"})
  void demoPasses(String placement) {
    Invocation demo =
        Invocation.of(("demo --ranks=2 --steps=1 --warmup=0 --placement=" + placement).split(" "));
    assertEquals(0, demo.status(), demo.out() + demo.err());
    assertTrue(demo.out().contains("25,557,032 parameters"), demo.out());
    assertTrue(demo.out().contains("identical bits: yes"), demo.out());
  }
}
