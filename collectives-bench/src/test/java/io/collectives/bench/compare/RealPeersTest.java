package io.collectives.bench.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.collectives.Collective;
import io.collectives.ElementType;
import io.collectives.ReduceOp;
import io.collectives.bench.perf.AlgorithmChoice;
import io.collectives.bench.perf.Memory;
import io.collectives.bench.perf.PerfCase;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Peers that are on this machine give right results; where there are none nothing is tested. */
@Tag("process")
@Tag("once")
class RealPeersTest {
  private static final int RANKS = 3;
  private static final Duration LIMIT = Duration.ofSeconds(50);

  @TempDir private static Path built;

  @ParameterizedTest
  @EnumSource(names = {"OPENMPI", "GLOO", "C_SHM"})
  void everyCollectiveIsRight(Peer peer) throws Exception {
    String searchPath = Optional.ofNullable(System.getenv("PATH")).orElse("");
    PeerBuild build = new PeerBuild(built, searchPath, false, text -> {});
    try {
      peer.prepare(build);
    } catch (MissingPeerException e) {
      Assumptions.abort(peer + ": " + e.getMessage());
    }
    Medium medium = peer == Peer.C_SHM ? Medium.MEMORY : Medium.TCP;
    int variants = peer == Peer.C_SHM ? 2 : 1; // Those of others are options of theirs.
    for (Collective collective : Collective.values()) {
      for (String variant : peer.variants(collective, medium).stream().limit(variants).toList()) {
        PeerJob job = new PeerJob(collective, variant, medium, RANKS);
        try (PeerRanks ranks = PeerRanks.start(peer, build, job, LIMIT)) {
          for (int count : new int[] {RANKS, 1000 * RANKS, 100_000 * RANKS}) {
            assertEquals(0, ranks.measure(work(collective, count)).wrong(), job + ", " + count);
          }
        }
      }
    }
  }

  private static PerfCase work(Collective collective, int count) {
    return new PerfCase(
        collective,
        RANKS,
        new AlgorithmChoice("auto"),
        new PerfCase.Operand(ElementType.FLOAT32, ReduceOp.SUM, count, 1, Optional.empty()),
        new PerfCase.Buffers(Memory.ARRAY, false),
        false,
        new PerfCase.Method(0, 1_000_000, true, false));
  }
}
