package io.collectives.bench.simulate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collective;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.Rounds;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ClocksTest {

  /** Whatever is written in part or whole, they say what an array would. */
  @ParameterizedTest
  @CsvSource({"4, 24, 6", "4, 24, 1", "3, 9, 9", "4, 16, 4", "5, 25, 5"})
  void theySayWhatAnArrayWould(int ranks, int chunks, int width) {
    for (Collective collective : new Collective[] {Collective.ALL_REDUCE, Collective.ALL_TO_ALL}) {
      Rounds one =
          Rounds.of(1, (round, sink) -> sink.transfer(0, 1, width % chunks, width, Effect.REPLACE));
      Plan plan = Plan.of(PlanRequest.of(collective, ranks), chunks, one);
      int slabs = 2;
      Clocks clocks = new Clocks(plan, slabs);
      double[][][] array = new double[ranks][chunks][slabs];
      Random random = new Random(7);
      for (int i = 0; i < 5000; i++) {
        int rank = random.nextInt(ranks);
        boolean whole = random.nextBoolean();
        int first = whole ? random.nextInt(chunks / width) * width : random.nextInt(chunks);
        int count = whole ? width : 1 + random.nextInt(chunks - first);
        int slab = random.nextInt(slabs);
        if (random.nextInt(3) > 0) {
          double nanos = random.nextInt(1000);
          clocks.set(rank, first, count, slab, nanos);
          for (int chunk = first; chunk < first + count; chunk++) {
            array[rank][chunk][slab] = nanos;
          }
        }
        double latest = 0;
        for (int chunk = first; chunk < first + count; chunk++) {
          latest = Math.max(latest, array[rank][chunk][slab]);
        }
        assertEquals(
            latest, clocks.latest(rank, first, count, slab), collective + ", seed 7, " + i);
      }
    }
  }

  @Test
  void whatMovesTogetherAgainIsKeptTogetherAgain() {
    Rounds whole = Rounds.of(1, (round, sink) -> sink.transfer(0, 1, 8, 8, Effect.REPLACE));
    Clocks clocks = new Clocks(Plan.of(PlanRequest.of(Collective.ALL_REDUCE, 2), 16, whole), 1);
    assertEquals(4, clocks.kept());
    for (int i = 1; i <= 10; i++) {
      clocks.set(1, 9, 2, 0, i);
      clocks.set(0, 7, 2, 0, i);
      assertEquals(4 + 3 * 8, clocks.kept());
      clocks.set(1, 8, 8, 0, i);
      clocks.set(0, 0, 16, 0, i);
      assertEquals(i, clocks.latest(1, 8, 8, 0));
    }
  }

  /** A clock for each chunk of each rank would be at least four times as many. */
  @ParameterizedTest
  @ValueSource(strings = {"all-reduce", "reduce-scatter+all-gather", "all-gather", "all-to-all"})
  void manyRanksNeedFewClocks(String task) {
    int x = 32;
    int y = 16;
    Fabric fabric = new Fabric(new Wire(1, 1), List.of(), Optional.empty(), Hosts.NONE);
    Scenario.Work work = new Scenario.Work("torus", Task.parse(task), 0, 1, false);
    Plan plan = Scenario.of(work, Size.of(x, y), fabric).plan();
    Clocks clocks = new Clocks(plan, 1);
    for (int round = 0; round < plan.rounds(0); round++) {
      for (int lane = 0; lane < plan.lanes(); lane++) {
        plan.transfers(
            lane, round, (from, to, first, count, effect) -> clocks.set(to, first, count, 0, 1));
      }
    }
    long naive = (long) plan.ranks() * plan.chunks();
    assertTrue(clocks.kept() <= naive / 4, clocks.kept() + " of " + naive);
  }
}
