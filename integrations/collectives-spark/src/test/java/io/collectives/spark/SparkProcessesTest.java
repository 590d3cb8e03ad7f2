package io.collectives.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.collectives.ReduceOp;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.spark.TaskContext;
import org.junit.jupiter.api.Test;

/** Tasks in two executors, which are processes, of two tasks each. */
class SparkProcessesTest extends SparkContract {
  SparkProcessesTest() {
    super(SparkJobs.processes());
  }

  /** An executor of two tasks is killed with SIGKILL. */
  @Test
  void anExecutorThatIsKilledFailsTheStageAndTheRetrySucceeds() throws Exception {
    List<double[]> rows = DigitsModel.rows();
    Failures failures = Failures.of(spark);
    List<String> results =
        SparkCollectives.train(
            spark.parallelize(rows, TASKS),
            (world, part) -> {
              int attempt = TaskContext.get().stageAttemptNumber();
              int[] pids = new int[TASKS];
              pids[world.rank()] = (int) ProcessHandle.current().pid();
              world.allReduce(pids, ReduceOp.SUM);
              if (attempt == 0 && world.rank() == TASKS - 1) {
                new ProcessBuilder("kill", "-9", "" + pids[world.rank()]).start().waitFor();
              }
              double loss = DigitsModel.together(world, listOf(part), HIDDEN);
              Set<Integer> processes = new HashSet<>();
              IntStream.of(pids).forEach(processes::add);
              return attempt + " " + processes.size() + " " + (float) loss;
            });
    String loss = "" + (float) DigitsModel.alone(rows, HIDDEN);
    assertEquals(Collections.nCopies(TASKS, "1 2 " + loss), results);
    // Whether survivors name the rank before Spark kills them, too, is a race.
    failures.awaitTold("ExecutorLostFailure");
  }
}
