package io.collectives.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.ReduceOp;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The time of a training step by all-reduce beside that by {@code treeAggregate}, in pairs, on the
 * same rows and gradients, with two executors of two tasks each.
 */
@Timeout(value = 400, unit = TimeUnit.SECONDS)
@Tag("long")
@Tag("once")
class StepTimesTest {
  private static final int TASKS = 4;
  private static final int STEPS = 10;
  private static final int PAIRS = 5;

  @Test
  void anAllReduceIsFasterThanATreeAggregate() {
    try (JavaSparkContext spark = SparkJobs.processes()) {
      JavaRDD<double[]> rows = spark.parallelize(DigitsModel.rows(), TASKS).cache();
      for (int hidden : new int[] {64, 1024}) {
        List<Double> ratios = new ArrayList<>();
        // The first pair loads classes.
        for (int pair = 0; pair <= PAIRS; pair++) {
          double[] tree = treeAggregate(spark, rows, hidden);
          double[] reduced = allReduce(rows, hidden);
          assertEquals(tree[1], reduced[1], tree[1] * 5e-8);
          if (pair > 0) {
            ratios.add(tree[0] / reduced[0]);
            System.out.printf(
                "%d weights: treeAggregate %.2f ms a step, all-reduce %.2f ms, ratio %.1f%n",
                DigitsModel.weights(hidden).length, tree[0], reduced[0], tree[0] / reduced[0]);
          }
        }
        ratios.sort(null);
        System.out.printf(
            "%d weights: ratio %.1f at least, %.1f in the middle, %.1f at most%n",
            DigitsModel.weights(hidden).length,
            ratios.get(0),
            ratios.get(PAIRS / 2),
            ratios.get(PAIRS - 1));
        assertTrue(ratios.get(PAIRS / 2) > 1, ratios::toString);
      }
    }
  }

  /** Returns the milliseconds of a step, and the loss. */
  private static double[] treeAggregate(
      JavaSparkContext spark, JavaRDD<double[]> rows, int hidden) {
    double[] weights = DigitsModel.weights(hidden);
    double loss = 0;
    long start = System.nanoTime();
    for (int step = 0; step < STEPS; step++) {
      Broadcast<double[]> sent = spark.broadcast(weights);
      double[] sums =
          rows.treeAggregate(
              new double[weights.length + 1],
              (sum, row) -> {
                DigitsModel.addGradients(sent.value(), hidden, row, sum);
                return sum;
              },
              (a, b) -> {
                for (int i = 0; i < a.length; i++) {
                  a[i] += b[i];
                }
                return a;
              });
      sent.destroy();
      DigitsModel.step(weights, sums);
      loss = sums[weights.length];
    }
    return new double[] {(System.nanoTime() - start) / 1e6 / STEPS, loss};
  }

  /** Returns the milliseconds of a step of the slowest task, and the loss. */
  private static double[] allReduce(JavaRDD<double[]> rows, int hidden) {
    List<double[]> results =
        SparkCollectives.train(
            rows,
            (world, part) -> {
              List<double[]> own = SparkContract.listOf(part);
              double[] weights = DigitsModel.weights(hidden);
              double[] sums = new double[weights.length + 1];
              double loss = 0;
              world.barrier();
              long start = System.nanoTime();
              for (int step = 0; step < STEPS; step++) {
                Arrays.fill(sums, 0);
                own.forEach(row -> DigitsModel.addGradients(weights, hidden, row, sums));
                world.allReduce(sums, ReduceOp.SUM);
                DigitsModel.step(weights, sums);
                loss = sums[weights.length];
              }
              return new double[] {(System.nanoTime() - start) / 1e6 / STEPS, loss};
            });
    double slowest = results.stream().mapToDouble(result -> result[0]).max().orElseThrow();
    return new double[] {slowest, results.get(0)[1]};
  }
}
