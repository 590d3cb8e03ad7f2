package io.collectives.bench.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Real network namespaces; needs root. */
@Tag("process")
class NetworkTest {
  private static final String PATIENT = "20";
  private static final String SHORT = "0.5";

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

  /** Whether a host refuses another's connection to a port where nobody listens, within seconds. */
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
