import java.io.Serializable;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.Function2;

/**
 * Spark's {@code treeAggregate}, as MLlib sums gradients: one partition a rank, cached, whose sum comes to the driver.
 * This is less than an all-reduce: the result is not given back to the partitions. Arguments: the master, the class
 * path of the executors.
 */
final class SparkPeer extends AllReducePeer {
  private final JavaSparkContext spark;
  private JavaRDD<float[]> partitions;
  private float[] output = {};

  private SparkPeer(JavaSparkContext spark) {
    this.spark = spark;
    this.partitions = spark.emptyRDD();
  }

  public static void main(String[] args) throws Exception {
    SparkConf settings =
        new SparkConf()
            .setMaster(args[0])
            .setAppName("compare")
            .set("spark.driver.host", "127.0.0.1")
            .set("spark.driver.bindAddress", "127.0.0.1")
            .set("spark.executor.extraClassPath", args[1])
            .set("spark.ui.enabled", "false");
    try (JavaSparkContext spark = new JavaSparkContext(settings)) {
      new SparkPeer(spark).serve();
    }
  }

  @Override
  int rank() {
    return 0;
  }

  @Override
  int size() {
    return number("WORLD_SIZE");
  }

  @Override
  void fill(int count) {
    partitions.unpersist();
    List<Integer> ranks = IntStream.range(0, size()).boxed().toList();
    partitions = spark.parallelize(ranks, size()).map(rank -> values(count, rank)).cache();
    partitions.count();
  }

  private static float[] values(int count, int rank) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = i % 13 + rank;
    }
    return values;
  }

  @Override
  void allReduce() {
    output = partitions.treeAggregate(new float[0], new Sum(), new Sum());
  }

  @Override
  float[] result() {
    return output;
  }

  @Override
  void barrier() {}

  @Override
  float[] greatest(float[] values) {
    return values;
  }

  /** Adds to the first, which is empty at first and then the sum's own. */
  private static final class Sum implements Function2<float[], float[], float[]>, Serializable {
    @Override
    public float[] call(float[] sum, float[] next) {
      if (sum.length == 0) {
        return next.clone();
      }
      for (int i = 0; i < next.length; i++) {
        sum[i] += next[i];
      }
      return sum;
    }
  }
}
