package io.collectives.djl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.bench.process.LaunchedJob;
import io.collectives.djl.DigitsTraining.Way;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Four processes end with the loss of one. */
@Timeout(600)
class DigitsTrainingTest {
  /** Seven digits of float32, whose last one a sum in another order changes. */
  private static final double SEVEN_DIGITS = 5e-7;

  /** Statistics of 256 digits instead of 1,024. */
  private static final double LOCAL_STATISTICS = 0.1;

  private static Map<String, List<Double>> one;
  private static Map<String, List<Double>> four;

  @BeforeAll
  static void train() throws Exception {
    one = train(1);
    four = train(4);
  }

  private static Map<String, List<Double>> train(int ranks) throws Exception {
    LaunchedJob job = launch(ranks, List.of(), "PLAIN", "NORM", "LOCAL_NORM");
    assertEquals(0, job.status(), job::toString);
    Map<String, List<Double>> numbers = job.numbers();
    assertEquals(3 * 5, numbers.size(), job.output());
    numbers.forEach((name, values) -> assertEquals(ranks, values.size(), name));
    return numbers;
  }

  @Test
  void lossIsThatOfOneProcessToSevenDigits() {
    assertNear("PLAIN loss", SEVEN_DIGITS);
    assertNear("PLAIN train_loss", SEVEN_DIGITS);
    assertNear("PLAIN train_Accuracy", 0);
    assertTrue(only(four.get("PLAIN loss")) < 0.25);
  }

  @Test
  void batchNormComesNear() {
    assertNear("NORM loss", LOCAL_STATISTICS);
    assertTrue(only(four.get("NORM loss")) < 0.1);
  }

  private static void assertNear(String name, double bound) {
    double expected = only(one.get(name));
    double actual = only(four.get(name));
    System.out.printf("%s: %.9g, four processes %.9g%n", name, expected, actual);
    assertEquals(expected, actual, bound * expected, name);
  }

  @Test
  void runningStatisticsAreAveragedUnlessSwitchedOff() {
    List<Double> local = four.get("LOCAL_NORM statistics");
    assertEquals(4, local.stream().distinct().count(), local.toString());
    double mean = local.stream().mapToDouble(number -> number).average().orElseThrow();
    assertEquals(mean, only(four.get("NORM statistics")), 1e-7);
  }

  private static LaunchedJob launch(int ranks, List<String> options, String... ways)
      throws Exception {
    LaunchedJob.Program program =
        new LaunchedJob.Program(DigitsTraining.class, DataParallelListenerTest.JVM, List.of(ways));
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
