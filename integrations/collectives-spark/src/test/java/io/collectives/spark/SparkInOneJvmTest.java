package io.collectives.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.collectives.Communicator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.spark.BarrierTaskContext;
import org.apache.spark.SparkException;
import org.apache.spark.api.java.JavaFutureAction;
import org.junit.jupiter.api.Test;

/** Tasks that are threads of this JVM. */
class SparkInOneJvmTest extends SparkContract {
  private static final CountDownLatch JOINING = new CountDownLatch(TASKS - 1);

  SparkInOneJvmTest() {
    super(SparkJobs.local());
  }

  /** A rank never comes, and the job is cancelled with an interrupt of its tasks. */
  @Test
  void anInterruptEndsAJoin() throws Exception {
    Failures failures = Failures.of(spark);
    spark.setJobGroup("group", "never complete", true);
    JavaFutureAction<Void> job =
        Barriers.foreachAsync(
            spark.parallelize(List.of(0, 1, 2, 3), TASKS),
            part -> {
              if (part.next() == TASKS - 1) {
                new CountDownLatch(1).await();
              }
              JOINING.countDown();
              SparkCollectives.join(BarrierTaskContext.get());
            });
    JOINING.await();
    spark.sc().cancelJobGroup("group");
    assertThrows(ExecutionException.class, () -> job.get(30, TimeUnit.SECONDS));
    failures.awaitEnded(TASKS);
  }

  @Test
  void theEndOfATaskEndsItsPartInTheJob() throws Exception {
    Failures failures = Failures.of(spark);
    assertThrows(
        SparkException.class,
        () ->
            Barriers.map(
                spark.parallelize(List.of(0, 1, 2, 3), TASKS),
                part -> {
                  Communicator world = SparkCollectives.join(BarrierTaskContext.get());
                  if (part.next() == 2) {
                    throw new IllegalStateException("planted");
                  }
                  world.barrier();
                  return 0;
                }));
    // Sooner than the time limit of calls, which is 30 s.
    failures.awaitEnded(TASKS);
  }

  @Test
  void addressesHaveHosts() {
    assertEquals("10.0.0.1", SparkCollectives.host("10.0.0.1:7077"));
    assertEquals("fd00::1", SparkCollectives.host("[fd00::1]:7077"));
    assertEquals("worker-1", SparkCollectives.host("worker-1"));
  }
}
