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
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;

/**
 * The times of a job from the start of its JVMs to its first sum on all ranks, and until its sums
 * are as fast as they become. The ranks are programs that do nothing else, so that all of it is the
 * JVM's and the library's.
 *
 * @param jvmNanos until the last rank's main method ran
 * @param joinNanos from there until the slowest rank had joined
 * @param sumNanos what the slowest first all-reduce took
 * @param totalNanos from the start until all ranks had told their sums
 * @param steadyNanos from the start until sums ran at 90 % of their steady speed: until the first
 *     {@link #BLOCK} of them whose median is at most 1/0.9 of the median of the last quarter of the
 *     run, on the rank where that was last
 */
public record StartUp(
    long jvmNanos, long joinNanos, long sumNanos, long totalNanos, long steadyNanos) {
  /** The number of sums whose median counts. */
  static final int BLOCK = 100;

  private static final double PART = 0.9;
  private static final int COUNT = 256;

  /** Returns the command of a rank that sums for some seconds. */
  public static List<String> command(int seconds) {
    return JavaCommand.of(StartUp.class, List.of(), List.of(Integer.toString(seconds)));
  }

  /**
   * Runs one job.
   *
   * @param commands what each rank runs
   */
  public static StartUp measure(
      int ranks, IntFunction<List<String>> commands, String transport, PrintStream err)
      throws IOException {
    try (ProcessGroup group = new ProcessGroup()) {
      int port = FreePort.find();
      long start = System.nanoTime();
      List<Worker> workers = new ArrayList<>();
      for (int rank = 0; rank < ranks; rank++) {
        Map<String, String> variables = new RankEnvironment(rank, ranks, port).variables(transport);
        workers.add(Worker.start(group, rank, commands.apply(rank), variables, err));
      }
      long jvm = 0;
      long join = 0;
      long sum = 0;
      long steady = 0;
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
        steady = Math.max(steady, Long.parseLong(worker.receive()));
        worker.close();
      }
      group.awaitEnd();
      return new StartUp(jvm, join, sum, total, total + steady);
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
      System.out.println(steadyFrom(sums(world, Long.parseLong(args[0]) * 1_000_000_000)));
    }
  }

  /**
   * A hundred sums.
   *
   * @param from when they began, after the first sum
   * @param median of the times that each took
   */
  record Block(long from, long median) {}

  /** Sums until the time is up on one rank, of which the others learn by the sum. */
  private static List<Block> sums(Communicator world, long nanos) {
    List<Block> blocks = new ArrayList<>();
    float[] values = new float[COUNT];
    long[] times = new long[BLOCK];
    long start = System.nanoTime();
    while (values[0] == 0) {
      long from = System.nanoTime() - start;
      for (int i = 0; i < BLOCK; i++) {
        values[0] = from < nanos ? 0 : 1;
        long before = System.nanoTime();
        world.allReduce(values, ReduceOp.SUM);
        times[i] = System.nanoTime() - before;
      }
      Arrays.sort(times);
      blocks.add(new Block(from, times[BLOCK / 2]));
    }
    return blocks;
  }

  /** Returns when the first block began that was nearly as fast as those of the last quarter. */
  static long steadyFrom(List<Block> blocks) {
    long end = blocks.get(blocks.size() - 1).from;
    long[] last =
        blocks.stream()
            .filter(block -> block.from >= end - end / 4)
            .mapToLong(Block::median)
            .sorted()
            .toArray();
    double most = last[(last.length - 1) / 2] / PART;
    return blocks.stream().filter(block -> block.median <= most).findFirst().orElseThrow().from;
  }
}
