package io.collectives.spark;

import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;

/**
 * Learns handwritten digits on a cluster of Spark, and prints the loss of one process and what each
 * task has found: its loss, its host, and the attempt of its stage.
 *
 * <pre>
 * spark-submit --class io.collectives.spark.SparkDigits app.jar
 * </pre>
 */
public final class SparkDigits {
  private static final int TASKS = 4;
  private static final int HIDDEN = 64;

  private SparkDigits() {}

  /** Trains; {@code spark-submit} or system properties say where. */
  public static void main(String[] arguments) {
    List<double[]> rows = DigitsModel.rows();
    try (JavaSparkContext spark =
        new JavaSparkContext(new SparkConf().setAppName("digits").set("spark.log.level", "WARN"))) {
      List<String> found =
          SparkCollectives.train(
              spark.parallelize(rows, TASKS),
              (world, part) -> {
                double loss = DigitsModel.together(world, SparkContract.listOf(part), HIDDEN);
                return loss + " on " + world.host();
              });
      System.out.println("alone: " + DigitsModel.alone(rows, HIDDEN));
      found.forEach(line -> System.out.println("task: " + line));
    }
  }
}
