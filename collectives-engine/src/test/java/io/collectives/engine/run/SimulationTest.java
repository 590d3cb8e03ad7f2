package io.collectives.engine.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Thousands of schedules with faults; see {@link Simulation}. More of them, and from another seed
 * on: {@code -Dcollectives.simulations=1000000 -Dcollectives.firstSimulation=10000}.
 */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
class SimulationTest {
  private static final long SEEDS = Long.getLong("collectives.simulations", 10_000);
  private static final long FIRST_SEED = Long.getLong("collectives.firstSimulation", 0);

  @Test
  void noScheduleHangsOrSumsWrong() {
    Map<Simulation.Fault, Integer> runs = new EnumMap<>(Simulation.Fault.class);
    for (long seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      Simulation simulation = Simulation.of(seed);
      simulation.run();
      runs.merge(simulation.fault, 1, Integer::sum);
    }
    assertTrue(SEEDS < 1000 || runs.size() == Simulation.Fault.values().length, runs.toString());
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3, 4})
  void aDeathAtAnyEventIsSurvived(int size) {
    for (long seed = 0; seed < 3; seed++) {
      Simulation whole = Simulation.ofKill(seed, size, 0, Integer.MAX_VALUE);
      whole.run();
      for (int victim = 0; victim < size; victim++) {
        for (int event = 0; event < whole.events(); event++) {
          Simulation.ofKill(seed, size, victim, event).run();
        }
      }
    }
  }

  @Test
  void aSeedTellsTheSameStoryAgain() {
    for (long seed = 0; seed < 50; seed++) {
      assertEquals(Simulation.of(seed).run(), Simulation.of(seed).run(), "seed " + seed);
    }
  }
}
