package io.collectives.pytorch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.bench.process.LaunchedJob;
import io.collectives.pytorch.DigitsTraining.Way;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Four processes end with the loss of one. */
@Timeout(600)
class DigitsTrainingTest {
  /** Seven digits of float32, whose last one a sum in another order changes. */
  private static final double SEVEN_DIGITS = 5e-7;

  /** Statistics of 256 digits instead of 1,024. */
  private static final double LOCAL_STATISTICS = 0.05;

  private static final Way[] WAYS =
      Stream.of(Way.values()).filter(way -> way != Way.KILLED).toArray(Way[]::new);

  private static Map<String, List<Double>> one;
  private static Map<String, List<Double>> four;

  @BeforeAll
  static void train() throws Exception {
    one = train(1);
    four = train(4);
  }

  private static Map<String, List<Double>> train(int ranks) throws Exception {
    String[] ways = Stream.of(WAYS).map(Way::name).toArray(String[]::new);
    LaunchedJob job = launch(ranks, List.of(), ways);
    assertEquals(0, job.status(), job::toString);
    Map<String, List<Double>> numbers = job.numbers();
    assertEquals(3 * ways.length, numbers.size(), job.output());
    numbers.forEach((name, values) -> assertEquals(ranks, values.size(), name));
    return numbers;
  }

  @Test
  void lossIsThatOfOneProcessToSevenDigits() {
    for (Way way : WAYS) {
      double bound = way == Way.LOCAL_NORM ? LOCAL_STATISTICS : SEVEN_DIGITS;
      double expected = only(one.get(way + " loss"));
      double loss = only(four.get(way + " loss"));
      System.out.printf("%s: %.9g, four processes %.9g%n", way, expected, loss);
      assertEquals(expected, loss, bound * expected, way.name());
      assertTrue(loss > 0 && loss < 0.35, way + " has not learnt: " + loss);
    }
  }

  @Test
  void waysToClearAndToDivideAStepMakeNoDifference() {
    double plain = only(four.get(Way.PLAIN + " loss"));
    for (Way way : List.of(Way.DROPPED, Way.DIRECT, Way.MICRO)) {
      assertEquals(plain, only(four.get(way + " loss")), SEVEN_DIGITS * plain, way.name());
    }
    assertNotEquals(plain, only(four.get(Way.UNEVEN + " loss")), 0.01);
  }

  @Test
  void runningStatisticsDifferUntilTheyAreAveraged() {
    List<Double> local = four.get(Way.LOCAL_NORM + " local");
    assertEquals(4, local.stream().distinct().count(), local.toString());
    double mean = local.stream().mapToDouble(number -> number).average().orElseThrow();
    assertEquals(mean, only(four.get(Way.LOCAL_NORM + " mean")), 1e-8);
  }

  @Test
  void synchronizedStatisticsAreThoseOfAllDigits() {
    double running = only(four.get(Way.SYNC_NORM + " local"));
    assertEquals(only(one.get(Way.SYNC_NORM + " local")), running, 1e-6);
    // One process: libtorch's own layer computes the same.
    double expected = only(one.get(Way.LOCAL_NORM + " loss"));
    assertEquals(expected, only(one.get(Way.SYNC_NORM + " loss")), 1e-5 * expected);
  }

  private static LaunchedJob launch(int ranks, List<String> options, String... ways)
      throws Exception {
    LaunchedJob.Program program =
        new LaunchedJob.Program(DigitsTraining.class, List.of("-Xmx512m"), List.of(ways));
    return LaunchedJob.run(ranks, options, program, Duration.ofSeconds(800));
  }

  @Test
  void survivorsNameTheRankThatWasKilled() throws Exception {
    LaunchedJob job = launch(4, List.of("--keep-going"), Way.KILLED.name());
    List<String> errors = job.lines().stream().filter(line -> line.startsWith("error ")).toList();
    assertEquals(3, errors.size(), job.output());
    for (String error : errors) {
      assertTrue(error.contains("RankFailedException: rank 2 is lost"), error);
    }
  }

  private static double only(List<Double> numbers) {
    assertEquals(1, numbers.stream().distinct().count(), numbers.toString());
    return numbers.get(0);
  }
}
