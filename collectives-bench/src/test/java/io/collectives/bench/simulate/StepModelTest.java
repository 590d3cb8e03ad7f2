package io.collectives.bench.simulate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.bench.simulate.StepModel.Compute;
import io.collectives.bench.simulate.StepModel.Means;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class StepModelTest {
  private static final Means PLAIN = new Means(false, false, false);
  private static final Means OVERLAP = new Means(true, false, false);
  private static final Means SHARDING = new Means(true, true, false);
  private static final Means FUSION = new Means(true, true, true);

  private static StepModel model(int ranks, double alphaNanos, double updateNanos) {
    Compute compute =
        new Compute(new long[] {4000, 8000}, new double[] {600, 1000}, 1000, updateNanos, 1);
    Fabric fabric = new Fabric(new Wire(alphaNanos, 0), List.of(), Optional.empty(), Hosts.NONE);
    return new StepModel(compute, ranks, fabric);
  }

  @Test
  void oneRankOnlyComputes() {
    for (Means means : List.of(PLAIN, OVERLAP, SHARDING, FUSION)) {
      assertEquals(1500, model(1, 100, 500).nanos(means), 1e-9);
    }
  }

  /** With latencies only, a call of two ranks takes one for each half of an all-reduce. */
  @Test
  void eachMeansTakesFromTheStepWhatItShould() {
    double call = 2 * 100; // At most: a reduce-scatter and an all-gather.
    double plain = model(2, 100, 500).nanos(PLAIN);
    double least = plain - 1500;
    assertTrue(least > 0 && least <= 2 * call, "two calls take " + least);
    // The first call is done before the second tensor is ready.
    assertEquals(plain - least / 2, model(2, 100, 500).nanos(OVERLAP), 1e-9);
    // Half of the update, a small call for norms more, and weights are gathered.
    double sharding = model(2, 100, 500).nanos(SHARDING);
    assertEquals(1000 + 100 + least / 2 + 250 + 200, sharding, 1e-9);
    // One weight gathering less.
    assertEquals(sharding - 100, model(2, 100, 500).nanos(FUSION), 1e-9);
  }

  @Test
  void shardingPaysWhereTheUpdateIsLong() {
    assertTrue(model(64, 1, 1e6).nanos(SHARDING) < model(64, 1, 1e6).nanos(OVERLAP) / 10);
    assertTrue(model(64, 1000, 10).nanos(SHARDING) > model(64, 1000, 10).nanos(OVERLAP));
  }
}
