package io.collectives.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collective;
import io.collectives.bench.simulate.ForgetfulPlanProvider;
import io.collectives.spi.AlgorithmSpec;
import io.collectives.spi.Algorithms;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("once")
class VerifyTest {

  @Test
  void allPlansAreRightOn1To64Ranks() {
    Invocation run = Invocation.of("verify");
    assertEquals(0, run.status(), run.err());
    assertEquals("", run.err());
    long plans =
        Algorithms.onClassPath().all().stream()
            .mapToLong(spec -> IntStream.rangeClosed(1, 64).filter(spec::suits).count())
            .sum();
    assertTrue(plans >= 704, plans + " plans");
    assertTrue(run.out().endsWith("\nAll " + plans + " are right.\n"), run.out());
    assertEquals(1 + plans + 1 + 1, run.out().lines().count());
  }

  @Test
  void toriOfARangeOfMeshes() {
    Invocation run = Invocation.of("verify --algorithm torus --mesh 1x1..8x8".split(" "));
    assertEquals(0, run.status(), run.err());
    assertTrue(run.out().endsWith("\nAll 64 are right.\n"), run.out());
    assertTrue(run.out().lines().anyMatch(line -> line.startsWith("torus:3x8 ")), run.out());
  }

  @Test
  void toriThatDoNotWrap() {
    Invocation run =
        Invocation.of("verify --algorithm torus --mesh 1x1..5x5 --wrap x,y,none".split(" "));
    assertEquals(0, run.status(), run.err());
    assertTrue(run.out().endsWith("\nAll 75 are right.\n"), run.out());
    assertTrue(run.out().contains("torus:3x5 wrap=none "), run.out());
  }

  @Test
  void everyCollectiveByEveryAlgorithm() {
    Invocation run =
        Invocation.of(
            ("verify --ranks 4..9 --root 3 --collective all-reduce,barrier,reduce-scatter,"
                    + "all-gather,broadcast,reduce,gather,scatter,all-to-all")
                .split(" "));
    assertEquals(0, run.status(), run.err());
    long plans =
        Algorithms.onClassPath().all().stream()
            .mapToLong(spec -> 9 * IntStream.rangeClosed(4, 9).filter(spec::suits).count())
            .sum();
    assertTrue(run.out().endsWith("\nAll " + plans + " are right.\n"), run.out());
  }

  /** Algorithm, collective, ranks, chunks, lanes, rounds, transfers, sent, least, … */
  @Test
  void figuresOfTheOtherCollectives() {
    Invocation run =
        Invocation.of(
            ("verify --ranks 4 --algorithm direct --format tsv --collective reduce-scatter,"
                    + "broadcast,gather,all-to-all,barrier")
                .split(" "));
    assertEquals(
        List.of(
            "direct\treduce-scatter\t4\t4\t1\t1\t12\t0.75\t0.75\t1\t12\t3",
            "direct\tbroadcast\t4\t4\t1\t2\t12\t1.5\t1.0\t1\t9\t3",
            "direct\tgather\t4\t4\t1\t1\t3\t0.25\t0.25\t1\t3\t3",
            "direct\tall-to-all\t4\t16\t1\t3\t12\t0.75\t0.75\t1\t12\t3",
            "direct\tbarrier\t4\t1\t1\t2\t8\t-\t-\t1\t8\t3"),
        run.out().lines().skip(1).toList());
  }

  @Test
  void proxiesAndHostsAreProven() {
    Invocation run =
        Invocation.of(
            "verify --algorithm parameter-server:0+2x2/2 --ranks 8 --format tsv".split(" "));
    assertEquals(
        List.of("parameter-server:0+2x2/2\tall-reduce\t8\t4\t2\t6\t28\t1.5\t1.0\t1\t20\t3"),
        run.out().lines().skip(1).toList(),
        run.err());
  }

  @Test
  void tsvAndJsonHaveTheSameFigures() {
    Invocation tsv = Invocation.of("verify --algorithm ring --ranks 4 --format tsv".split(" "));
    assertEquals(
        List.of("ring\tall-reduce\t4\t4\t1\t6\t24\t1.5\t1.5\t1\t4\t2"),
        tsv.out().lines().skip(1).toList());
    Invocation json = Invocation.of("verify --algorithm ring --ranks 4 --format json".split(" "));
    assertTrue(json.out().contains("\"rounds\": 6, \"transfers\": 24, \"sent_M\": 1.5"));
  }

  /** The lower bound is one: no plan is below it, dedicated servers or not. */
  @Test
  void nothingSendsLessThanTheLeast() {
    Invocation run =
        Invocation.of(
            ("verify --ranks 5..9 --format tsv --algorithm ring,direct,recursive-doubling,"
                    + "parameter-server:2,parameter-server:0+1,"
                    + "parameter-server:0+2,parameter-server:0+4")
                .split(" "));
    assertEquals(0, run.status(), run.err());
    List<String[]> rows = run.out().lines().skip(1).map(line -> line.split("\t")).toList();
    assertEquals(5 * 7, rows.size());
    for (String[] row : rows) {
      double sent = Double.parseDouble(row[7]);
      double least = Double.parseDouble(row[8]);
      assertTrue(sent >= least, String.join(" ", row));
    }
    // With four workers and as many servers each sends the payload once.
    assertEquals(1, Verify.least(Collective.ALL_REDUCE, 8, 4));
    assertEquals(1.2, Verify.least(Collective.ALL_REDUCE, 5, 4), 1e-9);
    assertEquals(1.5, Verify.least(Collective.ALL_REDUCE, 4, 4));
    assertEquals(0, Verify.least(Collective.ALL_REDUCE, 2, 1));
  }

  @Test
  void theHelpNamesAllAlgorithms() {
    String help = Invocation.of("verify", "--help").out().replaceAll("\\s+", " ");
    for (AlgorithmSpec spec : Algorithms.onClassPath().all()) {
      assertTrue(help.contains(spec.name()), spec.name() + " is not in: " + help);
    }
  }

  @Test
  void aWrongPlanIs1AndTheVerifiersMessage(@TempDir Path directory) {
    Invocation run =
        ForgetfulPlanProvider.onClassPath(
            directory, () -> Invocation.of("verify --algorithm forgetful --ranks 1..4".split(" ")));
    assertEquals(1, run.status());
    assertEquals("", run.out());
    assertEquals(1, run.err().lines().count(), run.err());
    assertTrue(
        run.err().startsWith("collectives verify: forgetful, all-reduce on 2 ranks, is wrong: "),
        run.err());
    assertTrue(run.err().contains("rank 1"), run.err());
  }

  @Test
  void anAlgorithmMayPlanSomeCollectivesOnly(@TempDir Path directory) {
    Invocation run =
        ForgetfulPlanProvider.onClassPath(
            directory,
            () -> Invocation.of("verify --collective gather --algorithm forgetful".split(" ")));
    assertEquals(2, run.status());
    assertTrue(
        run.err().contains("\"forgetful\" does not plan gather, only all-reduce"), run.err());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--algorithm tree | --algorithm: 'tree' is no algorithm; there are ring,",
        "--algorithm torus:2x2 | --algorithm: torus:2x2 has 4 places, the group has 1 ranks",
        "--ranks x | --ranks: 'x' is no number of ranks; write 8, 1..64,",
        "--ranks 1..20000 | --ranks: '1..20000' is more than 10000 sizes",
        "--mesh 4x4..2x2 | --ranks: '4x4..2x2' is no number",
        "--collective sum | --collective: 'sum' is none of all-reduce, barrier, reduce-scatter,",
        "--collective reduce --root 2 --ranks 2..4 | --root 2: ranks are 0 to 1 where there are fewest",
        "--format xml | --format: 'xml' is none of",
      })
  void wrongUsageIsOneLineAnd2(String arguments, String start) {
    Invocation wrong = Invocation.of(("verify " + arguments).split(" "));
    assertEquals(2, wrong.status(), wrong.err());
    assertEquals("", wrong.out());
    assertEquals(1, wrong.err().lines().count(), wrong.err());
    assertTrue(wrong.err().startsWith("collectives verify: " + start), wrong.err());
  }
}
