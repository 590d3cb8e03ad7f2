package io.collectives.bench.network;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.collectives.bench.process.Command;
import io.collectives.bench.process.JavaCommand;
import java.io.IOException;
import java.io.OutputStream;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Real network namespaces; needs root. */
@Tag("once")
@Tag("process")
class NetworkTest {
  private static final String PATIENT = "20";
  private static final String SHORT = "0.5";

  /** The bytes that may pass a link at once. */
  private static final int BURST = 80 << 10;

  @BeforeEach
  void needsRoot() {
    Optional<String> whyNot = Network.whyNot();
    whyNot.ifPresent(why -> System.err.println("SKIPPED: NetworkTest: " + why));
    assumeTrue(whyNot.isEmpty(), () -> "no network of namespaces here: " + whyNot.orElseThrow());
  }

  @Test
  void packetsVanishWhereTheyAreToldToOnly() throws IOException {
    try (Network network = new Network(3)) {
      network.cut(0, 1);
      for (int[] pair : new int[][] {{0, 2}, {2, 0}, {1, 2}, {2, 1}}) {
        assertTrue(answers(network, pair[0], pair[1], PATIENT), pair[0] + " to " + pair[1]);
      }
      assertEquals(
          List.of(false, false),
          List.of(answers(network, 0, 1, SHORT), answers(network, 1, 0, SHORT)));
    }
    try (Network network = new Network(3)) {
      assertTrue(answers(network, 0, 1, PATIENT));
      network.isolate(1);
      assertTrue(answers(network, 0, 2, PATIENT));
      for (int[] pair : new int[][] {{0, 1}, {1, 0}, {2, 1}}) {
        assertEquals(false, answers(network, pair[0], pair[1], SHORT), pair[0] + " to " + pair[1]);
      }
    }
  }

  /** Two hosts send to a third: what each may send, it may receive no more than. */
  @Test
  @Tag("long")
  void aLinkCarriesNoMoreThanItsRateEitherWay() throws Exception {
    int rate = 40_000_000;
    int each = 1_000_000;
    try (Network network = new Network(3, new LinkRate(rate))) {
      for (int sinks : new int[] {2, 1}) {
        // To one host from two, and to two hosts from one.
        int senders = 3 - sinks;
        List<Process> receivers = new ArrayList<>();
        for (int sink = 0; sink < sinks; sink++) {
          List<String> command =
              JavaCommand.of(Sink.class, List.of(), List.of(Integer.toString(senders)));
          receivers.add(
              new ProcessBuilder(network.on(senders + sink, command))
                  .redirectError(ProcessBuilder.Redirect.INHERIT)
                  .start());
        }
        long nanos = 0;
        try {
          for (Process receiver : receivers) {
            assertEquals("listening", receiver.inputReader().readLine());
          }
          List<Process> sending = new ArrayList<>();
          for (int i = 0; i < senders; i++) {
            StringBuilder script = new StringBuilder();
            for (int sink = 0; sink < sinks; sink++) {
              String there = network.variables(senders + sink).get("COLLECTIVES_LISTEN");
              script.append("head -c " + each + " /dev/zero > /dev/tcp/" + there + "/5000 & ");
            }
            sending.add(
                new ProcessBuilder(network.on(i, List.of("bash", "-c", script + "wait")))
                    .inheritIO()
                    .start());
          }
          for (Process receiver : receivers) {
            nanos = Math.max(nanos, Long.parseLong(receiver.inputReader().readLine()));
          }
          for (Process sender : sending) {
            assertEquals(0, sender.waitFor());
          }
        } finally {
          receivers.forEach(Process::destroyForcibly);
        }
        double least = (2.0 * each - BURST) * 8e9 / rate;
        assertTrue(nanos > least, nanos + " ns with " + sinks + " sinks: less than " + least);
      }
    }
  }

  /** Receives all that comes by some connections, and says how long that took. */
  static final class Sink {
    private Sink() {}

    public static void main(String[] args) throws IOException {
      try (ServerSocket server = new ServerSocket(5000)) {
        System.out.println("listening");
        long start = System.nanoTime();
        List<Socket> senders = new ArrayList<>();
        for (int i = 0; i < Integer.parseInt(args[0]); i++) {
          senders.add(server.accept());
        }
        for (Socket sender : senders) {
          sender.getInputStream().transferTo(OutputStream.nullOutputStream());
        }
        System.out.println(System.nanoTime() - start);
      }
    }
  }

  /**
   * Returns whether a host refuses another's connection to a port where nobody listens, within
   * seconds.
   */
  private static boolean answers(Network network, int from, int to, String seconds)
      throws IOException {
    String there = network.variables(to).get("COLLECTIVES_LISTEN");
    try {
      Command.run(
          network.on(
              from, List.of("timeout", seconds, "bash", "-c", "echo > /dev/tcp/" + there + "/9")));
      throw new AssertionError("somebody listens on port 9 of a host of this test's own");
    } catch (IOException e) {
      // timeout(1) says 124; a refusal is bash's own status.
      return String.valueOf(e.getMessage()).contains("status 1, ")
          && String.valueOf(e.getMessage()).contains("refused");
    }
  }
}
