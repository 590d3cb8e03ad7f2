package io.collectives.bench.network;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.RankFailedException;
import io.collectives.ReduceOp;
import io.collectives.Survivors;
import io.collectives.bench.process.JavaCommand;
import java.io.BufferedReader;
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
 * Jobs over several hosts, which are network namespaces, that are given a secret and where rank 0
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

  /** The program of ranks that sum until one is lost. */
  static final class Summing {
    private Summing() {}

    public static void main(String[] args) {
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
        ranks.add(start(network, Program.class, rank, HOSTS, variables));
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
      String said = said(List.of(start(network, Program.class, 1, 2, variables))).get(0);
      assertTrue(said.contains("the job has no secret"), said);
      assertTrue(said.contains("set COLLECTIVES_SECRET_FILE"), said);
    }
  }

  /** Connections stay open in both directions, and nothing comes any more. */
  @Test
  void aRankBehindACutCableIsGivenUpAndStops() throws Exception {
    int cut = 2;
    try (Network network = new Network(HOSTS)) {
      List<Process> ranks = new ArrayList<>();
      List<BufferedReader> outputs = new ArrayList<>();
      try {
        for (int rank = 0; rank < HOSTS; rank++) {
          Map<String, String> variables = variables(network, rank);
          variables.put("COLLECTIVES_SILENCE_LIMIT", "2");
          variables.put("COLLECTIVES_CALL_TIMEOUT", "20");
          ranks.add(start(network, Summing.class, rank, HOSTS, variables));
          outputs.add(ranks.get(rank).inputReader());
        }
        for (BufferedReader output : outputs) {
          assertTrue(output.lines().anyMatch("summing"::equals));
        }
        network.isolate(cut);
        for (int rank = 0; rank < HOSTS; rank++) {
          String text = String.join("\n", outputs.get(rank).lines().toList());
          assertTrue(ranks.get(rank).waitFor(60, TimeUnit.SECONDS));
          assertTrue(text.contains(", UNRESPONSIVE"), text);
          if (rank == cut) {
            assertTrue(text.contains("stopped: only 1 of the ranks"), text);
          } else {
            assertTrue(text.contains("lost rank " + cut), text);
            assertTrue(text.contains("went on as 2 without [" + cut + "]"), text);
          }
        }
      } finally {
        ranks.forEach(Process::destroyForcibly);
      }
    }
  }

  private static Map<String, String> variables(Network network, int rank) {
    Map<String, String> variables = new HashMap<>(network.variables(rank));
    variables.remove("COLLECTIVES_LISTEN");
    variables.put("COLLECTIVES_TRANSPORT", "tcp");
    return variables;
  }

  private static Process start(
      Network network, Class<?> program, int rank, int size, Map<String, String> variables)
      throws Exception {
    ProcessBuilder builder =
        new ProcessBuilder(network.on(rank, JavaCommand.of(program, List.of(), List.of())))
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
