package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.AbortedException;
import io.collectives.Algorithm;
import io.collectives.CallSettings;
import io.collectives.CollectiveBuffer;
import io.collectives.CollectiveException;
import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.JobSettings;
import io.collectives.RankFailedException;
import io.collectives.ReduceOp;
import io.netty.util.internal.PlatformDependent;
import java.io.IOException;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Jobs that are opened, used and ended again and again leave nothing behind. They run in a JVM of
 * their own, because threads, files and memory are counted for a whole JVM.
 */
@Tag("process")
@Tag("once")
@Tag("long")
class LeakTest {
  /** The number of threads that libraries may start late, or that one job more or less holds. */
  private static final long THREADS = 4;

  private static final long FILES = 4;
  private static final long BYTES = 128 << 10;

  @TempDir Path directory;

  /** The resources that a JVM holds; -1 for what cannot be told. */
  private record Held(long threads, long files, long directBytes, long nettyBytes, long mapped) {

    static Held parse(String line) {
      long[] n = Arrays.stream(line.split(" ")).skip(2).mapToLong(Long::parseLong).toArray();
      return new Held(n[0], n[1], n[2], n[3], n[4]);
    }

    static Held now() throws IOException {
      long files = -1;
      Path open = Path.of("/proc/self/fd");
      if (Files.isDirectory(open)) {
        try (Stream<Path> all = Files.list(open)) {
          files = all.count();
        }
      }
      return new Held(
          ManagementFactory.getThreadMXBean().getThreadCount(),
          files,
          pool("direct"),
          PlatformDependent.usedDirectMemory(),
          pool("mapped"));
    }

    private static long pool(String name) {
      return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
          .filter(pool -> pool.getName().equals(name))
          .mapToLong(BufferPoolMXBean::getMemoryUsed)
          .sum();
    }

    boolean isWithin(Held before) {
      return threads <= before.threads + THREADS
          && files <= before.files + FILES
          && directBytes <= before.directBytes + BYTES
          && nettyBytes <= before.nettyBytes + BYTES
          && mapped <= before.mapped + BYTES;
    }

    String line(int cycles) {
      return "held "
          + cycles
          + " "
          + threads
          + " "
          + files
          + " "
          + directBytes
          + " "
          + nettyBytes
          + " "
          + mapped;
    }
  }

  /** The JVM in which the jobs run: transport, cycles, how many at once, directory. */
  static final class Program {
    private static final int SETTLED = 100;
    private static final int MOST_RANKS = 3;

    private final String transport;
    private final Path directory;
    private final ExecutorService ranks;
    private final AtomicInteger next = new AtomicInteger();

    private Program(String transport, Path directory, int atOnce) {
      this.transport = transport;
      this.directory = directory;
      // Of a fixed number, all of which begin at once: threads count.
      ranks = Executors.newFixedThreadPool(MOST_RANKS * atOnce);
    }

    public static void main(String[] arguments) throws Exception {
      // Else the JDK keeps a buffer for each thread, as long as the longest piece it has read.
      System.setProperty("jdk.nio.maxCachedBufferSize", "0");
      int cycles = Integer.parseInt(arguments[1]);
      int atOnce = Integer.parseInt(arguments[2]);
      Program program = new Program(arguments[0], Path.of(arguments[3]), atOnce);
      try {
        program.cycles(SETTLED, atOnce);
        Held before = quiet(null);
        System.out.println(before.line(SETTLED));
        program.cycles(cycles, atOnce);
        System.out.println(quiet(before).line(cycles));
        System.exit(0);
      } catch (Throwable e) {
        e.printStackTrace();
        System.exit(1);
      }
    }

    /** Returns what is held when that is no more than before, or when waiting for it is in vain. */
    private static Held quiet(Held before) throws IOException {
      Held[] held = {Held.now()};
      try {
        Awaitility.await()
            .pollInSameThread() // One of its own would count.
            .pollInterval(50, TimeUnit.MILLISECONDS)
            .atMost(5, TimeUnit.SECONDS)
            .until(
                () -> {
                  System.gc(); // Frees the direct buffers of which nobody knows any more.
                  Held last = held[0];
                  held[0] = Held.now();
                  return before == null ? held[0].equals(last) : held[0].isWithin(before);
                });
      } catch (ConditionTimeoutException e) {
        // The test tells what is held.
      }
      return held[0];
    }

    private void cycles(int until, int atOnce) throws Exception {
      List<Future<?>> lanes = new ArrayList<>();
      ExecutorService jobs = Executors.newFixedThreadPool(atOnce);
      for (int lane = 0; lane < atOnce; lane++) {
        lanes.add(
            jobs.submit(
                () -> {
                  for (int cycle; (cycle = next.getAndIncrement()) < until; ) {
                    cycle(cycle);
                  }
                  return null;
                }));
      }
      for (Future<?> lane : lanes) {
        lane.get();
      }
      next.set(until);
      jobs.shutdown();
      jobs.awaitTermination(10, TimeUnit.SECONDS);
    }

    /** A job of 2 or 3 ranks that ends well, or is aborted, or loses a rank, and then ends. */
    private void cycle(int cycle) throws Exception {
      int size = 2 + cycle / 4 % 2;
      boolean joins = !transport.equals("inprocess");
      List<Communicator> inProcess = joins ? List.of() : Collectives.inProcess(size);
      URI place = joins ? Files.createTempDirectory(directory, "job").toUri() : null;
      List<Future<?>> outcomes = new ArrayList<>();
      for (int i = 0; i < size; i++) {
        int rank = i;
        outcomes.add(
            ranks.submit(
                () -> {
                  CallSettings calls = CallSettings.defaults();
                  try (Communicator world =
                      joins
                          ? Collectives.join(
                              JobSettings.of(rank, size, place)
                                  .withTransport(transport)
                                  .withHost("host-" + rank % 2)
                                  .withMemoryDirectory(directory)
                                  .withCalls(calls))
                          : inProcess.get(rank)) {
                    live(world, cycle);
                  }
                  return null;
                }));
      }
      for (Future<?> outcome : outcomes) {
        try {
          outcome.get(40, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
          throw new IllegalStateException("cycle " + cycle + " of " + size + " ranks", e);
        }
      }
    }

    private static void live(Communicator world, int cycle) {
      int count = 1 + cycle * 97 % 50_000;
      switch (cycle % 4) {
        case 1 -> {
          if (world.rank() == 0) {
            world.abort("cycle " + cycle);
          }
          goOn(world, count, world.size());
        }
        case 3 -> {
          if (world.rank() != world.size() - 1) {
            goOn(world, count, world.size() - 1);
          }
        }
        default -> {
          sum(world, count);
          if (cycle % 8 < 4) {
            sumInBuffers(world, count, cycle % 8 == 0);
          }
          world.barrier();
        }
      }
    }

    /** Sums in two buffers, one of which ends with the world, as all do that nobody closes. */
    private static void sumInBuffers(Communicator world, int count, boolean closes) {
      CollectiveBuffer first = world.allocate(ElementType.INT32, count);
      CollectiveBuffer second = world.allocate(ElementType.INT32, count);
      for (CollectiveBuffer buffer : List.of(first, second, first)) {
        buffer.ints().put(count - 1, 1);
        world.using(Algorithm.direct()).allReduce(buffer.payload(), ReduceOp.SUM);
        if (buffer.ints().get(count - 1) != world.size()) {
          throw new CollectiveException("sum " + buffer.ints().get(count - 1));
        }
      }
      if (closes) {
        first.close();
        sum(world, count);
      }
    }

    /** The group is broken or will be; those who are left sum once more. */
    private static void goOn(Communicator world, int count, int left) {
      try {
        sum(world, count);
        throw new IllegalStateException("the group is not broken");
      } catch (AbortedException | RankFailedException e) {
        try (Communicator group = world.shrink().group()) {
          if (group.size() != left) {
            throw new IllegalStateException("left are " + group.size() + " instead of " + left, e);
          }
          sum(group, 100);
        }
      }
    }

    private static void sum(Communicator group, int count) {
      int[] buffer = new int[count];
      Arrays.fill(buffer, group.rank() + 1);
      group.allReduce(buffer, ReduceOp.SUM);
      int expected = group.size() * (group.size() + 1) / 2;
      if (buffer[0] != expected || buffer[count - 1] != expected) {
        throw new CollectiveException("sum " + buffer[0] + " instead of " + expected);
      }
    }
  }

  @ParameterizedTest
  @Timeout(120)
  @CsvSource({"inprocess, 260, 1", "tcp, 220, 4", "shm, 220, 4", "auto, 220, 4"})
  void nothingIsLeftBehind(String transport, int cycles, int atOnce) throws Exception {
    Path output = directory.resolve("output.txt");
    Process process =
        JavaProcess.of(
                output, Program.class, transport, "" + cycles, "" + atOnce, directory.toString())
            .start();
    try {
      assertTrue(process.waitFor(110, TimeUnit.SECONDS), () -> "hangs: " + text(output));
      assertEquals(0, process.exitValue(), () -> text(output));
      List<String> held =
          Files.readAllLines(output).stream().filter(line -> line.startsWith("held ")).toList();
      assertEquals(2, held.size(), () -> text(output));
      assertTrue(held.get(1).startsWith("held " + cycles + " "), () -> text(output));
      assertTrue(
          Held.parse(held.get(1)).isWithin(Held.parse(held.get(0))),
          () -> "threads, files, direct, netty's and mapped bytes: " + held);
      try (Stream<Path> all = Files.list(directory)) {
        assertEquals(
            List.of(), all.filter(path -> path.toString().contains("collectives-")).toList());
      }
    } finally {
      process.destroyForcibly();
    }
  }

  private static String text(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      return e.toString();
    }
  }
}
