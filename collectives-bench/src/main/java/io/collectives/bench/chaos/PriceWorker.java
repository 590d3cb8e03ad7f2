package io.collectives.bench.chaos;

import com.sun.management.UnixOperatingSystemMXBean;
import io.collectives.CollectiveException;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.bench.process.ParentLines;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/**
 * A rank that makes one synchronous all-reduce after the other, times them, and checks their sums,
 * until rank 0 is told to end, which travels to the others as the last element of its payloads. The
 * last rank of the job is not one of those who sum: see {@link Eavesdropper}.
 *
 * <p>What it says, a line each:
 *
 * <pre>
 *   summing                                  its first sums were right
 *   calls COUNT NANOS MEDIAN P99 MAX         told "mark": its calls since the last mark
 *   memory RESIDENT DIRECT DESCRIPTORS       told "memory": bytes, bytes of direct buffers, count
 *   wrong MESSAGE                            a sum was wrong
 *   failed MESSAGE                           a call failed
 *   done                                     rank 0 was told to end
 * </pre>
 *
 * What cannot be known on this system is -1.
 */
public final class PriceWorker {
  /** The command of rank 0 that makes all ranks end. */
  static final String END = "end";

  /** The command that makes a rank say what its calls took. */
  static final String MARK = "mark";

  /** The command that makes a rank say what it holds. */
  static final String MEMORY = "memory";

  private static final int FIRST_CALLS = 10;

  /** Every so many calls the whole sum is checked, at the others the last elements. */
  private static final int WHOLE = 256;

  private final Communicator group;
  private final PrintStream out;
  private final float[] input;
  private final float[] output;
  private final float expected;
  private volatile boolean ending;
  private volatile boolean marked;
  private long[] nanos = new long[1 << 16];
  private int count;

  private PriceWorker(Communicator group, int elements, PrintStream out) {
    this.group = group;
    this.out = out;
    input = new float[elements];
    output = new float[elements];
    Arrays.fill(input, group.rank() + 1);
    input[elements - 1] = 0;
    expected = group.size() * (group.size() + 1) / 2;
  }

  /**
   * Joins the job of the environment, and sums until told to end.
   *
   * @param bytes of a payload, at least 8
   */
  public static void run(long bytes, ParentLines parent, PrintStream out) {
    try (Communicator world = Collectives.join();
        Communicator group = world.group(IntStream.range(0, world.size() - 1).toArray())) {
      PriceWorker worker = new PriceWorker(group, (int) (bytes / Float.BYTES), out);
      Thread thread = new Thread(() -> worker.listen(parent), "commands");
      thread.setDaemon(true);
      thread.start();
      worker.work();
    } catch (CollectiveException e) {
      say(out, "failed " + e);
    }
  }

  private void listen(ParentLines parent) {
    try {
      for (Optional<String> line; (line = parent.next()).isPresent(); ) {
        switch (line.get()) {
          case MARK -> marked = true;
          case MEMORY -> say(out, memory());
          case END -> ending = true;
          default -> throw new IllegalArgumentException("no command: " + line.get());
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void work() {
    Payload from = Payload.of(input);
    Payload to = Payload.of(output);
    int last = input.length - 1;
    for (long call = 1; output[last] == 0; call++) {
      input[last] = ending ? 1 : 0;
      long start = System.nanoTime();
      group.allReduce(from, to, ReduceOp.SUM);
      add(System.nanoTime() - start);
      if (!isRight(call % WHOLE == 0 ? 0 : Math.max(0, last - 2), last)) {
        say(out, "wrong sum in call " + call);
        return;
      }
      if (call == FIRST_CALLS) {
        say(out, "summing");
      }
      if (marked) {
        marked = false;
        tell();
      }
    }
    say(out, "done");
  }

  private boolean isRight(int from, int to) {
    boolean right = true;
    for (int i = from; i < to; i++) {
      right &= output[i] == expected;
    }
    return right;
  }

  private void add(long time) {
    if (count == nanos.length) {
      nanos = Arrays.copyOf(nanos, 2 * count);
    }
    nanos[count++] = time;
  }

  private void tell() {
    LongStream times = Arrays.stream(nanos, 0, count);
    long sum = Arrays.stream(nanos, 0, count).sum();
    Quantiles quantiles = new Quantiles(times);
    say(
        out,
        "calls "
            + count
            + " "
            + sum
            + " "
            + quantiles.at(0.5)
            + " "
            + quantiles.at(0.99)
            + " "
            + quantiles.at(1));
    count = 0;
  }

  private static String memory() {
    long direct =
        ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
            .filter(pool -> pool.getName().equals("direct"))
            .mapToLong(BufferPoolMXBean::getMemoryUsed)
            .sum();
    long descriptors =
        ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean unix
            ? unix.getOpenFileDescriptorCount()
            : -1;
    return "memory " + resident() + " " + direct + " " + descriptors;
  }

  /** Returns what this process has in memory, as Linux says it. */
  private static long resident() {
    try {
      return Files.readAllLines(Path.of("/proc/self/status")).stream()
          .filter(line -> line.startsWith("VmRSS:"))
          .mapToLong(line -> 1024 * Long.parseLong(line.replaceAll("\\D", "")))
          .findFirst()
          .orElse(-1);
    } catch (IOException e) {
      return -1;
    }
  }

  private static void say(PrintStream to, String line) {
    to.println(line.replaceAll("\\s+", " "));
    to.flush();
  }
}
