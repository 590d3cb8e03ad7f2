package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.FusionSettings;
import io.collectives.GradientReducer;
import io.collectives.JobSettings;
import io.collectives.Payload;
import io.collectives.RankFailedException;
import io.collectives.ReduceOp;
import io.collectives.ps.ParameterServers;
import io.collectives.ps.Roles;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/**
 * Two hosts of two workers, threads of one process; two servers of two proxies, of which the first
 * are processes, and the others threads of one. A server has one TCP connection from each host;
 * within a host there is none. A proxy is killed: all others name it, and go on without it.
 */
@Tag("process")
@Timeout(150) // Several share the processors.
@EnabledOnOs(OS.LINUX) // Connections are counted there only.
@Tag("once")
@Tag("long")
class ProxiesProcessesTest {
  private static final int SIZE = 8;
  private static final int LOST = 5;
  private static final int[][] PROCESSES = {{0, 1, 2, 3}, {4}, {5}, {6, 7}};
  private static final List<String> HOSTS = List.of("a", "a", "b", "b", "c", "c", "d", "d");

  @TempDir Path directory;

  private final List<Process> processes = new ArrayList<>();

  /** The program of each process, with its ranks as threads. */
  static final class Program {
    public static void main(String[] arguments) throws InterruptedException {
      List<Thread> threads = new ArrayList<>();
      for (String rank : Arrays.asList(arguments).subList(1, arguments.length)) {
        Path rendezvous = Path.of(arguments[0]);
        Thread thread = new Thread(() -> run(Integer.parseInt(rank), rendezvous));
        thread.start();
        threads.add(thread);
      }
      for (Thread thread : threads) {
        thread.join();
      }
    }

    private static void run(int rank, Path rendezvous) {
      JobSettings settings =
          JobSettings.of(rank, SIZE, rendezvous.toUri()).withHost(HOSTS.get(rank));
      try (Communicator world = Collectives.join(settings)) {
        Roles roles = Roles.dedicated(SIZE, 2, 2).withHosts(HOSTS);
        ParameterServers servers = ParameterServers.of(world, roles);
        try {
          train(servers, rank, true);
          say(rank, "was not told");
        } catch (RankFailedException e) {
          say(rank, "lost rank " + e.worldRank());
          if (landsInSharedMemory()) {
            say(rank, "lands in shared memory");
          }
        }
        train(servers.on(world.shrink().group()), rank, false);
        say(rank, "went on");
      }
    }

    private static void train(ParameterServers servers, int rank, boolean forEver) {
      if (!servers.isWorker()) {
        if (forEver) {
          // Two that connect to each other at once have two connections for a moment.
          int expected = rank < 6 ? 1 : 2;
          Awaitility.await()
              .atMost(90, TimeUnit.SECONDS)
              .untilAsserted(() -> assertEquals(expected, connections()));
          say(rank, expected + " connections");
        }
        servers.serve();
        return;
      }
      FusionSettings fusion = FusionSettings.balancedBuffers().withOp(ReduceOp.SUM);
      try (GradientReducer reducer =
          GradientReducer.of(servers.workers(), fusion, servers.reduction())) {
        float[] gradients = new float[300_000];
        GradientReducer.Tensor tensor = reducer.register("t", Payload.of(gradients));
        for (int step = 0; step < 5 || forEver; step++) {
          Arrays.fill(gradients, rank + step);
          reducer.ready(tensor);
          reducer.await();
          for (float gradient : gradients) {
            if (gradient != 6 + 4 * step) {
              throw new AssertionError("step " + step + ": " + gradient);
            }
          }
          if (step == 2) {
            say(rank, "training");
          }
        }
      }
    }

    private static void say(int rank, String text) {
      System.out.println("rank " + rank + ": " + text);
    }

    /** Returns whether this process has made a region in which what it passes on lands. */
    private static boolean landsInSharedMemory() {
      try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
        return maps.anyMatch(line -> line.contains("/region-"));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    /** Returns how many TCP connections this process has. */
    private static long connections() {
      Set<String> sockets = new HashSet<>();
      try (Stream<Path> files = Files.list(Path.of("/proc/self/fd"))) {
        for (Path file : files.toList()) {
          if (Files.isSymbolicLink(file)) {
            sockets.add(Files.readSymbolicLink(file).toString());
          }
        }
        long count = 0;
        for (String table : List.of("/proc/self/net/tcp", "/proc/self/net/tcp6")) {
          if (Files.isReadable(Path.of(table))) {
            count +=
                Files.readAllLines(Path.of(table)).stream()
                    .map(line -> line.strip().split("\\s+"))
                    .filter(fields -> fields[3].equals("01"))
                    .filter(fields -> sockets.contains("socket:[" + fields[9] + "]"))
                    .count();
          }
        }
        return count;
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  @AfterEach
  void endAll() {
    processes.forEach(Process::destroyForcibly);
  }

  @Test
  void aServerHasAConnectionFromEachHostAndItsProxiesMayDie() throws Exception {
    Path rendezvous = Files.createDirectory(directory.resolve("rendezvous"));
    for (int process = 0; process < PROCESSES.length; process++) {
      List<String> arguments = new ArrayList<>(List.of(rendezvous.toString()));
      IntStream.of(PROCESSES[process]).forEach(rank -> arguments.add("" + rank));
      processes.add(
          JavaProcess.of(output(process), Program.class, arguments.toArray(String[]::new)).start());
    }
    for (int worker = 0; worker < 4; worker++) {
      await(worker, "training");
    }
    // Each speaks with one worker of one of the hosts; the last two are threads of one process.
    for (int rank = 4; rank < SIZE; rank++) {
      await(rank, (rank < 6 ? 1 : 2) + " connections");
    }
    processes.get(processOf(LOST)).destroyForcibly();
    await(LOST - 1, "lands in shared memory"); // It was leased to the one that is dead now.
    for (int rank = 0; rank < SIZE; rank++) {
      if (rank != LOST) {
        await(rank, "lost rank " + LOST);
      }
    }
    for (int process = 0; process < PROCESSES.length; process++) {
      if (process != processOf(LOST)) {
        assertTrue(processes.get(process).waitFor(90, TimeUnit.SECONDS), "process hangs");
        assertEquals(0, processes.get(process).exitValue());
      }
    }
    for (int rank = 0; rank < SIZE; rank++) {
      if (rank != LOST) {
        await(rank, "went on");
      }
    }
  }

  private static int processOf(int rank) {
    return IntStream.range(0, PROCESSES.length)
        .filter(process -> Arrays.stream(PROCESSES[process]).anyMatch(own -> own == rank))
        .findFirst()
        .orElseThrow();
  }

  private void await(int rank, String text) {
    Path output = output(processOf(rank));
    Awaitility.await()
        .atMost(90, TimeUnit.SECONDS)
        .alias("rank " + rank + " to say '" + text + "'")
        .until(() -> Files.readAllLines(output).contains("rank " + rank + ": " + text));
  }

  private Path output(int process) {
    return directory.resolve("process-" + process + ".txt");
  }
}
