package io.collectives.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.JobSettings;
import io.collectives.ReduceOp;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.spark.BarrierTaskContext;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** The promises of {@link SparkCollectives}, wherever the tasks run. */
@Timeout(value = 200, unit = TimeUnit.SECONDS)
@Tag("once")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class SparkContract {
  static final int TASKS = 4;
  static final int HIDDEN = 64;

  final JavaSparkContext spark;

  SparkContract(JavaSparkContext spark) {
    this.spark = spark;
  }

  @AfterAll
  void stop() {
    spark.close();
  }

  @Test
  void fourTasksLearnWhatOneProcessLearns() {
    List<double[]> rows = DigitsModel.rows();
    double alone = DigitsModel.alone(rows, HIDDEN);
    List<Double> losses =
        SparkCollectives.train(
            spark.parallelize(rows, TASKS),
            (world, part) -> DigitsModel.together(world, listOf(part), HIDDEN));
    System.out.println(spark.master() + ": " + alone + " alone, together " + losses);
    assertEquals(TASKS, losses.size());
    for (double loss : losses) {
      assertEquals(alone, loss, alone * 5e-8);
    }
    assertTrue(alone < 0.5, "it has learned nothing: " + alone);
  }

  @Test
  void theRankIsThePartition() {
    List<String> seen =
        SparkCollectives.train(
            spark.parallelize(List.of(10, 11, 12, 13), TASKS),
            (world, part) -> {
              int[] sum = {part.next()};
              String own = world.rank() + " of " + world.size() + " has " + sum[0];
              world.allReduce(sum, ReduceOp.SUM);
              return own + ", all " + sum[0];
            });
    assertEquals(
        IntStream.range(0, TASKS)
            .mapToObj(rank -> rank + " of 4 has " + (10 + rank) + ", all 46")
            .toList(),
        seen);
  }

  @Test
  void programsJoinByThemselves() {
    List<Integer> sums =
        Barriers.map(
            spark.parallelize(List.of(1, 2, 3, 4), TASKS),
            part -> {
              // Not closed here: the end of the task does.
              Communicator world = SparkCollectives.join(BarrierTaskContext.get());
              int[] sum = {part.next()};
              world.allReduce(sum, ReduceOp.SUM);
              return sum[0];
            });
    assertEquals(List.of(10, 10, 10, 10), sums);
  }

  /** The Netty of the class path is Spark's, and may be one that the library cannot use. */
  @Test
  void programsJoinWithSettingsOfTheirOwn() {
    List<String> found =
        Barriers.map(
            spark.parallelize(List.of(1, 2, 3, 4), TASKS),
            part -> {
              BarrierTaskContext context = BarrierTaskContext.get();
              JobSettings settings =
                  SparkCollectives.settings(context, "not quite a secret").withTransport("tcp");
              try (Communicator world =
                  Collectives.join(settings, SparkCollectives.exchange(context))) {
                double[] sum = new double[100_000];
                Arrays.fill(sum, part.next());
                world.allReduce(sum, ReduceOp.SUM);
                return settings.job() + ": " + sum[0] + " " + sum[sum.length - 1];
              }
            });
    assertEquals(TASKS, found.size());
    for (String line : found) {
      assertTrue(line.matches("spark-stage-[0-9]+-attempt-0: 10.0 10.0"), line);
    }
  }

  @Test
  void aTaskThatFailsFailsTheStageAndTheRetrySucceeds() throws Exception {
    Failures failures = Failures.of(spark);
    List<Integer> attempts =
        SparkCollectives.train(
            spark.parallelize(List.of(1, 2, 3, 4), TASKS),
            (world, part) -> {
              int attempt = TaskContext.get().stageAttemptNumber();
              world.barrier();
              if (attempt == 0 && world.rank() == 2) {
                throw new IllegalStateException("planted");
              }
              world.barrier();
              return attempt;
            });
    assertEquals(List.of(1, 1, 1, 1), attempts);
    failures.awaitTold("planted");
  }

  static <T> List<T> listOf(Iterator<T> part) {
    List<T> rows = new ArrayList<>();
    part.forEachRemaining(rows::add);
    return rows;
  }

  /** The ends of tasks that did not succeed, as Spark tells them. */
  static final class Failures extends SparkListener {
    private final List<String> reasons = new ArrayList<>();

    static Failures of(JavaSparkContext spark) {
      Failures failures = new Failures();
      spark.sc().addSparkListener(failures);
      return failures;
    }

    @Override
    public synchronized void onTaskEnd(SparkListenerTaskEnd end) {
      if (!end.taskInfo().successful()) {
        reasons.add(end.reason().toString());
        notifyAll();
      }
    }

    /** Waits until tasks have failed with words in their reasons: Spark tells them late. */
    synchronized void awaitTold(String words) throws InterruptedException {
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
      while (reasons.stream().noneMatch(reason -> reason.contains(words))) {
        long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
        assertTrue(left > 0, () -> "nobody says \"" + words + "\": " + reasons);
        wait(left);
      }
    }

    synchronized void awaitEnded(int tasks) throws InterruptedException {
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
      while (reasons.size() < tasks) {
        long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
        assertTrue(left > 0, () -> "only these have ended: " + reasons);
        wait(left);
      }
    }
  }
}
