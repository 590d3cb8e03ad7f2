package io.collectives.bench.perf;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ReduceOp;
import io.collectives.bench.process.FreePort;
import io.collectives.bench.process.JavaCommand;
import io.collectives.bench.process.ProcessGroup;
import io.collectives.bench.process.RankEnvironment;
import io.collectives.bench.process.Worker;
import java.io.IOException;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;

/**
 * The times of a job from the start of its JVMs to its first sum on all ranks. The ranks are
 * programs that do nothing else, so that all of it is the JVM's and the library's.
 *
 * @param jvmNanos until the last rank's main method ran
 * @param joinNanos from there until the slowest rank had joined
 * @param sumNanos what the slowest first all-reduce took
 * @param totalNanos from the start until all ranks had told their sums
 */
public record StartUp(long jvmNanos, long joinNanos, long sumNanos, long totalNanos) {
  private static final int COUNT = 256;

  /** Runs one job. */
  public static StartUp measure(int ranks, String transport, PrintStream err) throws IOException {
    try (ProcessGroup group = new ProcessGroup()) {
      int port = FreePort.find();
      List<String> command = JavaCommand.of(StartUp.class, List.of(), List.of());
      long start = System.nanoTime();
      List<Worker> workers = new ArrayList<>();
      for (int rank = 0; rank < ranks; rank++) {
        RankEnvironment environment = new RankEnvironment(rank, ranks, port);
        workers.add(Worker.start(group, rank, command, environment.variables(transport), err));
      }
      long jvm = 0;
      long join = 0;
      long sum = 0;
      for (Worker worker : workers) {
        worker.receive();
        jvm = System.nanoTime() - start;
      }
      for (Worker worker : workers) {
        String[] nanos = worker.receive().split(" ");
        join = Math.max(join, Long.parseLong(nanos[0]));
        sum = Math.max(sum, Long.parseLong(nanos[1]));
      }
      long total = System.nanoTime() - start;
      for (Worker worker : workers) {
        worker.close();
      }
      group.awaitEnd();
      return new StartUp(jvm, join, sum, total);
    }
  }

  /** A rank. */
  public static void main(String[] args) {
    long start = System.nanoTime();
    System.out.println("started");
    try (Communicator world = Collectives.join()) {
      long joined = System.nanoTime();
      float[] values = new float[COUNT];
      values[0] = 1;
      world.allReduce(values, ReduceOp.SUM);
      if (values[0] != world.size()) {
        throw new IllegalStateException(values[0] + " is not the sum of " + world.size());
      }
      System.out.println((joined - start) + " " + (System.nanoTime() - joined));
    }
  }
}
