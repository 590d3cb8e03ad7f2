package io.collectives.bench.network;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.collectives.Collectives;
import io.collectives.Communicator;
import io.collectives.ReduceOp;
import io.collectives.bench.process.JavaCommand;
import io.collectives.bench.process.RankEnvironment;
import java.io.BufferedReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Processes with two TCP paths between hosts with two links; needs root. */
@Tag("process")
@Tag("once")
@Tag("long")
class PathLinksTest {
  private static final int CALLS = 30;
  private static final int CUT_AFTER = 10;

  /** Averages, and says of each whether it is right. */
  static final class Program {
    private Program() {}

    public static void main(String[] args) {
      try (Communicator world = Collectives.join()) {
        float[] data = new float[128 << 10];
        for (int call = 0; call < CALLS; call++) {
          Arrays.fill(data, call + 2 * world.rank());
          world.allReduce(data, ReduceOp.AVERAGE);
          float wanted = call + 1;
          boolean isRight = Arrays.equals(data, filled(data.length, wanted));
          System.out.println(call + (isRight ? " right" : " wrong"));
        }
      }
    }

    private static float[] filled(int length, float value) {
      float[] all = new float[length];
      Arrays.fill(all, value);
      return all;
    }
  }

  @BeforeEach
  void needsRoot() {
    Optional<String> whyNot = Network.whyNoRates();
    whyNot.ifPresent(why -> System.err.println("SKIPPED: PathLinksTest: " + why));
    assumeTrue(whyNot.isEmpty(), () -> "no slow links here: " + whyNot.orElseThrow());
  }

  @Test
  @Timeout(120)
  void aPathThatStallsForGoodHoldsUpNobody() throws Exception {
    LinkRate rate = LinkRate.parse("20Mbit/s");
    List<Process> ranks = new ArrayList<>();
    List<String> said = new ArrayList<>();
    try (PathLinks hosts = new PathLinks(2, List.of(rate, rate))) {
      for (int rank = 0; rank < 2; rank++) {
        List<String> command = JavaCommand.of(Program.class, List.of("-Xmx128m"), List.of());
        ProcessBuilder builder = new ProcessBuilder(hosts.on(rank, command));
        builder.environment().putAll(new RankEnvironment(rank, 2, 0).variables("tcp"));
        builder.environment().putAll(hosts.variables(rank));
        ranks.add(builder.redirectError(ProcessBuilder.Redirect.INHERIT).start());
      }
      BufferedReader lines = ranks.get(0).inputReader();
      for (String line; (line = lines.readLine()) != null; ) {
        said.add(line);
        if (said.size() == CUT_AFTER) {
          hosts.cut(1, 1);
        }
      }
      assertEquals(CALLS, said.size(), said::toString);
      assertTrue(said.stream().allMatch(line -> line.endsWith(" right")), said::toString);
      for (Process rank : ranks) {
        assertTrue(rank.waitFor(30, TimeUnit.SECONDS));
        assertEquals(0, rank.exitValue());
      }
    } finally {
      ranks.forEach(Process::destroyForcibly);
    }
  }
}
