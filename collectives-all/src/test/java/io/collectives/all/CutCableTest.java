package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.RankFailedException;
import io.collectives.ReduceOp;
import io.collectives.Survivors;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Real processes on hosts of their own: network namespaces that are joined by a switch. One cable
 * is cut, so that connections stay open in both directions and nothing comes any more. Needs root.
 */
@Tag("process")
@Timeout(150) // Several share the processors.
@Tag("once")
class CutCableTest {
  private static final int SIZE = 3;
  private static final int CUT = 2;

  private final String prefix = "clv" + ProcessHandle.current().pid() + "-";
  private final List<Process> processes = new ArrayList<>();
  private final List<String> namespaces = new ArrayList<>();

  @TempDir Path directory;

  /** The program of each rank. */
  static final class Program {
    public static void main(String[] arguments) {
      try (Communicator world = Collectives.join()) {
        try {
          for (int step = 0; ; step++) {
            world.allReduce(new float[100_000], ReduceOp.SUM);
            if (step == 20) {
              System.out.println("summing");
            }
          }
        } catch (RankFailedException e) {
          System.out.println("lost rank " + e.worldRank() + ", " + e.verdict());
        }
        try {
          Survivors survivors = world.shrink();
          int[] sum = {1};
          survivors.group().allReduce(sum, ReduceOp.SUM);
          System.out.println("went on as " + sum[0] + " without " + survivors.lost());
        } catch (RankFailedException e) {
          System.out.println("stopped: " + e.getMessage());
        }
      }
    }
  }

  @BeforeEach
  void plug() throws Exception {
    boolean possible = Files.isExecutable(Path.of("/usr/sbin/ip")) && isRoot();
    if (!possible) {
      System.err.println(
          "SKIPPED: CutCableTest needs root and /usr/sbin/ip to make network namespaces");
    }
    Assumptions.assumeTrue(possible, "needs root and /usr/sbin/ip to make network namespaces");
    add("switch");
    ip("-n", prefix + "switch", "link", "add", "bridge", "type", "bridge");
    ip("-n", prefix + "switch", "link", "set", "bridge", "up");
    for (int rank = 0; rank < SIZE; rank++) {
      String host = prefix + rank;
      add("" + rank);
      ip(
          ("link add eth0 netns " + host + " type veth peer name port" + rank + " netns ")
              .concat(prefix + "switch")
              .split(" "));
      ip("-n", prefix + "switch", "link", "set", "port" + rank, "master", "bridge", "up");
      ip("-n", host, "address", "add", address(rank) + "/24", "dev", "eth0");
      ip("-n", host, "link", "set", "lo", "up");
      ip("-n", host, "link", "set", "eth0", "up");
    }
  }

  @AfterEach
  void unplug() throws Exception {
    processes.forEach(Process::destroyForcibly);
    for (Process process : processes) {
      process.waitFor();
    }
    for (String namespace : namespaces) {
      ip("netns", "delete", namespace);
    }
  }

  @Test
  void aRankBehindACutCableIsGivenUpAndStops() throws Exception {
    for (int rank = 0; rank < SIZE; rank++) {
      processes.add(start(rank));
    }
    for (int rank = 0; rank < SIZE; rank++) {
      Path output = output(rank);
      Awaitility.await()
          .atMost(90, TimeUnit.SECONDS)
          .until(() -> Files.readString(output).contains("summing"));
    }
    ip("-n", prefix + "switch", "link", "set", "port" + CUT, "down");
    for (int rank = 0; rank < SIZE; rank++) {
      assertTrue(processes.get(rank).waitFor(90, TimeUnit.SECONDS), "rank " + rank + " hangs");
      String text = Files.readString(output(rank));
      assertTrue(text.contains(", UNRESPONSIVE"), text);
      if (rank == CUT) {
        assertTrue(text.contains("stopped: only 1 of the ranks"), text);
      } else {
        assertTrue(text.contains("lost rank " + CUT), text);
        assertTrue(text.contains("went on as 2 without [" + CUT + "]"), text);
      }
    }
  }

  private static String address(int rank) {
    return "10.77.0." + (rank + 1);
  }

  private Path output(int rank) {
    return directory.resolve("rank-" + rank + ".txt");
  }

  private Process start(int rank) throws IOException {
    ProcessBuilder builder = JavaProcess.of(output(rank), Program.class);
    builder.command().addAll(0, List.of("/usr/sbin/ip", "netns", "exec", prefix + rank));
    builder.environment().put("RANK", "" + rank);
    builder.environment().put("WORLD_SIZE", "" + SIZE);
    builder.environment().put("MASTER_ADDR", address(0));
    builder.environment().put("MASTER_PORT", "29400");
    builder.environment().put("COLLECTIVES_TRANSPORT", "tcp"); // Its cables are cut.
    builder.environment().put("COLLECTIVES_LISTEN", address(rank));
    builder.environment().put("COLLECTIVES_SECRET", "a secret for hosts behind a switch");
    builder.environment().put("COLLECTIVES_SILENCE_LIMIT", "2");
    builder.environment().put("COLLECTIVES_CALL_TIMEOUT", "20");
    return builder.start();
  }

  private static boolean isRoot() throws Exception {
    Process id = new ProcessBuilder("id", "-u").start();
    return new String(id.getInputStream().readAllBytes()).trim().equals("0");
  }

  private void add(String name) throws Exception {
    ip("netns", "add", prefix + name);
    namespaces.add(prefix + name);
  }

  private static void ip(String... arguments) throws Exception {
    List<String> command = new ArrayList<>(List.of("/usr/sbin/ip"));
    command.addAll(List.of(arguments));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes());
    assertEquals(0, process.waitFor(), command + ": " + output);
  }
}
