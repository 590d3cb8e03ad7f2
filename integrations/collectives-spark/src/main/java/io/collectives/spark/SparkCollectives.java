package io.collectives.spark;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.JobSecret;
import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.Security;
import io.collectives.TextExchange;
import java.io.Serializable;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.BarrierTaskContext;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.util.TaskCompletionListener;
import scala.Function1;
import scala.Tuple2;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * Joins the tasks of a barrier stage of Spark to a job: the rank of a task is the number of its
 * partition.
 *
 * <pre>{@code
 * List<Double> losses = SparkCollectives.train(rows, (world, part) -> {
 *   …
 *   world.allReduce(gradients, ReduceOp.AVERAGE);
 *   …
 *   return loss;
 * });
 * }</pre>
 *
 * <p>The tasks learn each other's addresses by the barrier's own {@code allGather}: each listens
 * first, at a free port of the address by which Spark knows its executor, and tells then. Tasks of
 * one executor, and executors of one host, share memory; others use TCP. Every attempt of a stage
 * is a job of its own, by its name and by the random epoch that rank 0 draws for it, so nothing
 * that is left of a failed attempt can disturb the next.
 *
 * <p>When a task fails or its executor dies, calls of the other tasks end with an error that names
 * its rank, unless Spark has killed these tasks before; Spark fails the stage, and runs all of its
 * tasks again, as often as {@code spark.stage.maxConsecutiveAttempts} says.
 */
public final class SparkCollectives {
  private static final int SECRET_LENGTH = 32;

  private SparkCollectives() {}

  /**
   * Runs a training on a barrier stage with a task for each partition, and waits for it. The secret
   * by which the ranks know each other is made here, on the driver, and sent along with the tasks.
   *
   * @param rows the data set; Spark must have as many free slots as this has partitions
   * @return the results, by rank. If the stage fails as often as Spark tries, its {@link
   *     org.apache.spark.SparkException} is thrown, which Scala does not declare
   */
  public static <T, R> List<R> train(JavaRDD<T> rows, Training<T, R> training) {
    return train(rows.rdd(), training);
  }

  /** Runs a training as {@link #train(JavaRDD, Training)} does. */
  public static <T, R> List<R> train(RDD<T> rows, Training<T, R> training) {
    String secret = drawSecret();
    Function1<scala.collection.Iterator<T>, scala.collection.Iterator<Tuple2<Integer, R>>> task =
        (Function1<scala.collection.Iterator<T>, scala.collection.Iterator<Tuple2<Integer, R>>>
                & Serializable)
            part -> CollectionConverters.asScala(result(secret, training, part));
    ClassTag<Tuple2<Integer, R>> type = ClassTag$.MODULE$.apply(Tuple2.class);
    JavaRDD<Tuple2<Integer, R>> trained =
        JavaRDD.fromRDD(rows.barrier().mapPartitions(task, false, type), type);
    // Spark runs a failed barrier stage again only if a shuffle follows it.
    Map<Integer, R> byRank =
        JavaPairRDD.fromJavaRDD(trained).partitionBy(new HashPartitioner(1)).collectAsMap();
    return new ArrayList<>(new TreeMap<>(byRank).values());
  }

  private static <T, R> Iterator<Tuple2<Integer, R>> result(
      String secret, Training<T, R> training, scala.collection.Iterator<T> part) {
    try (Communicator world = join(BarrierTaskContext.get(), secret)) {
      R result = training.train(world, CollectionConverters.asJava(part));
      return List.of(new Tuple2<>(world.rank(), result)).iterator();
    } catch (Exception e) {
      throw SparkCollectives.<RuntimeException>asIs(e);
    }
  }

  /** Throws any exception, as tasks of Spark may. */
  @SuppressWarnings("unchecked")
  private static <E extends Exception> E asIs(Exception e) throws E {
    throw (E) e;
  }

  /**
   * Joins the tasks of a barrier stage. Rank 0 draws the secret, and the barrier's {@code
   * allGather} carries it, through the driver; where Spark's own messages can be read by others,
   * set {@code spark.authenticate} and {@code spark.network.crypto.enabled}.
   *
   * @param context of the present task, {@code BarrierTaskContext.get()}
   * @return the tasks of the stage; it is closed when the task ends, if it is not before
   * @throws JoinException if the stage fails meanwhile or the task is killed, or as in {@link
   *     Collectives#join(JobSettings, TextExchange)}
   */
  public static Communicator join(BarrierTaskContext context) {
    String own = context.partitionId() == 0 ? drawSecret() : "";
    try {
      return join(context, context.allGather(own)[0]);
    } catch (JoinException e) {
      throw e;
    } catch (Exception e) {
      // Scala's methods throw checked exceptions that they do not declare.
      throw new JoinException(
          "task "
              + context.partitionId()
              + " of stage "
              + context.stageId()
              + " cannot exchange texts with the other tasks: "
              + e.getMessage(),
          e);
    }
  }

  /**
   * Joins the tasks of a barrier stage as {@link #join(BarrierTaskContext)} does, with a secret
   * that comes with the tasks.
   *
   * @param secret of at least {@link JobSecret#SHORTEST} bytes, the same at all tasks, as {@link
   *     #drawSecret()} makes it on the driver
   */
  public static Communicator join(BarrierTaskContext context, String secret) {
    Communicator world = Collectives.join(settings(context, secret), exchange(context));
    context.addTaskCompletionListener((TaskCompletionListener) ended -> world.close());
    return world;
  }

  /**
   * Returns the settings with which {@link #join(BarrierTaskContext, String)} joins, which a
   * program may change before it passes them to {@link Collectives#join(JobSettings,
   * TextExchange)}.
   */
  public static JobSettings settings(BarrierTaskContext context, String secret) {
    String job = "spark-stage-" + context.stageId() + "-attempt-" + context.stageAttemptNumber();
    return JobSettings.of(context.partitionId(), context.getTaskInfos().length)
        .withJob(job)
        .withListen(host(context.getTaskInfos()[context.partitionId()].address()), 0)
        .withSecurity(Security.none().withSecret(JobSecret.of(secret)));
  }

  /** Returns the exchange of texts by the barrier of a stage. */
  public static TextExchange exchange(BarrierTaskContext context) {
    return text -> List.of(context.allGather(text));
  }

  /** Draws a secret, of 64 hexadecimal digits; for the driver. */
  public static String drawSecret() {
    byte[] bytes = new byte[SECRET_LENGTH];
    new SecureRandom().nextBytes(bytes);
    return HexFormat.of().formatHex(bytes);
  }

  /** Returns the host of {@code host:port} or {@code [v6-address]:port}. */
  static String host(String address) {
    int colon = address.lastIndexOf(':');
    String host = colon < 0 ? address : address.substring(0, colon);
    return host.startsWith("[") && host.endsWith("]") ? host.substring(1, host.length() - 1) : host;
  }
}
