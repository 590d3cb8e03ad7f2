package io.collectives.all;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.JobSettings;
import io.collectives.spi.Rendezvous;
import io.collectives.spi.RendezvousProvider;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A rank that waits at a port from which the system also takes those of outgoing connections
 * connects to itself now and then. In a network of its own where there are two such ports, that
 * happens at once.
 */
@Timeout(60)
@Tag("once")
final class OwnPortTest {
  private static final int PORT = 40_000;

  @TempDir private Path directory;
  private final List<Process> processes = new ArrayList<>();

  /** Two ranks in one JVM, of which rank 0 comes when rank 1 may have connected to itself. */
  static final class Program {
    private Program() {}

    /** Prints whether they have met. */
    public static void main(String[] args) throws Exception {
      // That the system does so here, or else nothing is tested.
      InetSocketAddress place = new InetSocketAddress(InetAddress.getByName("127.0.0.1"), PORT);
      boolean itself = false;
      for (int i = 0; i < 50 && !itself; i++) {
        try (Socket socket = new Socket()) {
          socket.connect(place);
          itself = socket.getLocalSocketAddress().equals(socket.getRemoteSocketAddress());
          socket.setSoLinger(true, 0);
        } catch (ConnectException e) {
          // The other port.
        }
      }
      System.out.println(itself ? "connects to itself" : "does not connect to itself");
      CompletableFuture<Object> one = CompletableFuture.supplyAsync(() -> meet(1));
      // Half of rank 1's attempts come from its own port.
      long tries = attempts();
      Awaitility.await().atMost(90, TimeUnit.SECONDS).until(() -> attempts() >= tries + 6);
      Object zero = meet(0);
      System.out.println(zero.equals(one.join()) ? "met" : "did not meet");
    }

    /** Returns how often anybody in this network has tried to connect. */
    private static long attempts() throws IOException {
      List<String[]> tcp =
          Files.readAllLines(Path.of("/proc/self/net/snmp")).stream()
              .filter(line -> line.startsWith("Tcp:"))
              .map(line -> line.split(" "))
              .toList();
      return Long.parseLong(tcp.get(1)[List.of(tcp.get(0)).indexOf("ActiveOpens")]);
    }

    private static Object meet(int rank) {
      JobSettings settings = JobSettings.of(rank, 2, URI.create("tcp://127.0.0.1:" + PORT));
      try (Rendezvous place =
          ServiceLoader.load(RendezvousProvider.class).stream()
              .map(provider -> provider.get().open(settings))
              .flatMap(Optional::stream)
              .findFirst()
              .orElseThrow()) {
        return place.meet(
            new Rendezvous.Announcement(
                "job", rank, 2, Rendezvous.PROTOCOL_VERSION, "tcp", "a" + rank, "here"),
            Duration.ofSeconds(20));
      }
    }
  }

  @AfterEach
  void stopAll() {
    processes.forEach(Process::destroyForcibly);
  }

  @Test
  void aRankThatConnectsToItselfKeepsNobodyFromListeningThere() throws Exception {
    Path output = directory.resolve("output.txt");
    ProcessBuilder builder = JavaProcess.of(output, Program.class);
    List<String> command = new ArrayList<>(List.of("unshare", "--net", "sh", "-c"));
    command.add(
        "ip link set lo up && echo \"40000 40001\" > /proc/sys/net/ipv4/ip_local_port_range"
            + " && echo ready && exec \"$0\" \"$@\"");
    command.addAll(builder.command());
    try {
      processes.add(builder.command(command).start());
    } catch (IOException e) {
      skip(e.getMessage());
    }
    assertTrue(processes.get(0).waitFor(50, TimeUnit.SECONDS), "it does not end");
    String said = Files.readString(output).strip();
    if (!said.startsWith("ready")) {
      skip(said);
    }
    assertEquals("ready\nconnects to itself\nmet", said);
  }

  private static void skip(String why) {
    System.err.println("skipped: a network of its own needs root, unshare and ip: " + why);
    Assumptions.abort("a network of its own needs root, unshare and ip: " + why);
  }
}
