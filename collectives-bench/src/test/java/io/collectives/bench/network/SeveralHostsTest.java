package io.collectives.bench.network;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ReduceOp;
import io.collectives.bench.process.JavaCommand;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A job over several hosts, which are network namespaces, that is given a secret and where rank 0
 * is; nobody tells a rank at which address to listen. Needs root.
 */
@Tag("process")
@Tag("once")
@Timeout(120)
class SeveralHostsTest {
  private static final int HOSTS = 3;

  /** The program of each rank. */
  static final class Program {
    private Program() {}

    public static void main(String[] args) {
      System.out.println("listens at " + Collectives.settings(System.getenv()).listen());
      try (Communicator world = Collectives.join()) {
        int[] sum = {1 << world.rank()};
        world.allReduce(sum, ReduceOp.SUM);
        System.out.println(sum[0] + " by " + world.explain(4).transports());
      } catch (RuntimeException e) {
        System.out.println(e.getMessage());
      }
    }
  }

  @BeforeEach
  void needsRoot() {
    Optional<String> whyNot = Network.whyNot();
    whyNot.ifPresent(why -> System.err.println("SKIPPED: SeveralHostsTest: " + why));
    assumeTrue(whyNot.isEmpty(), () -> "no network of namespaces here: " + whyNot.orElseThrow());
  }

  /** Rank 1 is told a port. */
  @Test
  void aSecretIsAllThatIsNeeded() throws Exception {
    try (Network network = new Network(HOSTS)) {
      List<Process> ranks = new ArrayList<>();
      for (int rank = 0; rank < HOSTS; rank++) {
        Map<String, String> variables = variables(network, rank);
        if (rank == 1) {
          variables.put("COLLECTIVES_LISTEN", "auto:29600");
        }
        ranks.add(start(network, rank, HOSTS, variables));
      }
      for (String said : said(ranks)) {
        // Between these lines a rank may warn of one that lags.
        assertTrue(said.lines().anyMatch("listens at auto"::equals), said);
        // Ranks of one kernel share memory; what they announce is what this is about.
        String last = said.lines().reduce("", (earlier, line) -> line);
        assertTrue(last.startsWith("7 by ") && last.contains("tcp"), said);
      }
    }
  }

  @Test
  void withoutASecretTheErrorSaysWhatToSet() throws Exception {
    try (Network network = new Network(2)) {
      Map<String, String> variables = variables(network, 1);
      variables.remove("COLLECTIVES_SECRET");
      String said = said(List.of(start(network, 1, 2, variables))).get(0);
      assertTrue(said.contains("the job has no secret"), said);
      assertTrue(said.contains("set COLLECTIVES_SECRET_FILE"), said);
    }
  }

  private static Map<String, String> variables(Network network, int rank) {
    Map<String, String> variables = new HashMap<>(network.variables(rank));
    variables.remove("COLLECTIVES_LISTEN");
    variables.put("COLLECTIVES_TRANSPORT", "tcp");
    return variables;
  }

  private static Process start(Network network, int rank, int size, Map<String, String> variables)
      throws Exception {
    ProcessBuilder builder =
        new ProcessBuilder(network.on(rank, JavaCommand.of(Program.class, List.of(), List.of())))
            .redirectErrorStream(true);
    builder.environment().putAll(variables);
    builder.environment().put("RANK", "" + rank);
    builder.environment().put("WORLD_SIZE", "" + size);
    return builder.start();
  }

  private static List<String> said(List<Process> ranks) throws Exception {
    List<String> said = new ArrayList<>();
    try {
      for (Process rank : ranks) {
        said.add(new String(rank.getInputStream().readAllBytes()));
        assertTrue(rank.waitFor(60, TimeUnit.SECONDS));
      }
    } finally {
      ranks.forEach(Process::destroyForcibly);
    }
    return said;
  }
}
