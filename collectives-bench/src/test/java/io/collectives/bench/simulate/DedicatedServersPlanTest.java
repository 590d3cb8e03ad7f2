package io.collectives.bench.simulate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.Transfer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DedicatedServersPlanTest {

  /** Moves sets of contributors: the verifier cannot, because servers bring nothing. */
  @ParameterizedTest
  @CsvSource({
    "1, 1, 1", "4, 1, 4", "5, 1, 2", "6, 2, 3", "8, 4, 2", "8, 4, 5", "8, 8, 1", "3, 1, 7"
  })
  void everyWorkerEndsWithTheSumOfAllWorkers(int workers, int perHost, int servers) {
    Plan plan = DedicatedServersPlan.of(workers, perHost, servers);
    List<List<Map<Integer, Integer>>> held = new ArrayList<>();
    for (int rank = 0; rank < plan.ranks(); rank++) {
      List<Map<Integer, Integer>> chunks = new ArrayList<>();
      for (int chunk = 0; chunk < plan.chunks(); chunk++) {
        chunks.add(rank < workers ? Map.of(rank, 1) : Map.of());
      }
      held.add(chunks);
    }
    for (int round = 0; round < plan.rounds(0); round++) {
      List<List<Map<Integer, Integer>>> before =
          held.stream().map(chunks -> List.copyOf(chunks)).toList();
      for (Transfer transfer : plan.transfers(0, round)) {
        for (int i = 0; i < transfer.chunkCount(); i++) {
          int chunk = transfer.firstChunk() + i;
          Map<Integer, Integer> sent = before.get(transfer.from()).get(chunk);
          Map<Integer, Integer> sum =
              new HashMap<>(
                  transfer.effect() == Effect.REPLACE
                      ? Map.of()
                      : held.get(transfer.to()).get(chunk));
          sent.forEach((rank, times) -> sum.merge(rank, times, Integer::sum));
          held.get(transfer.to()).set(chunk, sum);
        }
      }
    }
    Map<Integer, Integer> all = new HashMap<>();
    for (int rank = 0; rank < workers; rank++) {
      all.put(rank, 1);
    }
    for (int rank = 0; rank < workers; rank++) {
      for (int chunk = 0; chunk < plan.chunks(); chunk++) {
        assertEquals(all, held.get(rank).get(chunk), "rank " + rank + ", chunk " + chunk);
      }
    }
    assertEquals(perHost == 1 ? 2 : 4, plan.rounds(0));
  }

  @Test
  void aHostSendsThePayloadOnceAndAServerItsShareForEachHost() {
    // 3 hosts of 2 and 3 servers, 600 bytes: 600 out of and into each host and each server.
    Network network = Network.ofPairs(9, new Wire(0, 1)).withHosts(new Hosts(2, 1, 0, 1), 6);
    Outcome outcome = Simulation.run(DedicatedServersPlan.of(6, 2, 3), network, Costs.of(600));
    Outcome.Traffic nics = outcome.traffic().get(LinkClass.NIC);
    assertEquals(12, nics.links());
    assertEquals(600, nics.mostBytes(), 1e-9);
    assertEquals(12 * 600, nics.bytes(), 1e-9);
    assertEquals(6 * 600, outcome.traffic().get(LinkClass.OTHER).bytes(), 1e-9);
    assertEquals(6 * 2 * 300, outcome.traffic().get(LinkClass.HOST).bytes(), 1e-9);
  }

  @Test
  void hostsMustBeFull() {
    assertThrows(IllegalArgumentException.class, () -> DedicatedServersPlan.of(5, 2, 1));
    assertThrows(IllegalArgumentException.class, () -> DedicatedServersPlan.of(4, 2, 0));
  }
}
