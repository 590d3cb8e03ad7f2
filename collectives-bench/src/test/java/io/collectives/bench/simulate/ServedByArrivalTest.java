package io.collectives.bench.simulate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collective;
import io.collectives.Mesh;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.Rounds;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("once")
class ServedByArrivalTest {
  private static final Wire WIRE = new Wire(10, 2);

  /** Worked out by hand: what is last in the plan is there first, and need not wait. */
  @Test
  void whatComesFirstIsServedFirst() {
    Rounds late =
        Rounds.of(
            2,
            (round, sink) ->
                sink.transfer(round == 0 ? 2 : 0, round == 0 ? 0 : 1, 0, 1, Effect.REPLACE));
    Rounds early =
        Rounds.of(
            3,
            (round, sink) -> {
              if (round == 2) {
                sink.transfer(0, 1, 1, 1, Effect.REPLACE);
              }
            });
    Plan plan = Plan.of(Collective.ALL_REDUCE, 3, 2, late, early);
    Network network = Network.ofPairs(3, WIRE);
    // Two hops of 100 bytes; in the plan's order the other lane begins when the link is free.
    assertEquals(210 + 200 + 210, Simulation.run(plan, network, Costs.of(200)).nanos(), 1e-9);
    assertEquals(2 * 210, ServedByArrival.run(plan, network, Costs.of(200)).nanos(), 1e-9);
  }

  /** The order means nothing then; slabs of different rounds of a tree meet. */
  @ParameterizedTest
  @CsvSource({"ring, 3", "direct, 3", "exchange, 3", "halving-doubling, 1", "binomial-tree, 1"})
  void isAsInThePlansOrderWhereNothingMeets(String algorithm, int most) {
    for (int ranks = 1; ranks <= 9; ranks++) {
      for (int slabs = 1; slabs <= most; slabs++) {
        Plan plan = new PlanChoice(algorithm).plan(Size.of(ranks));
        Costs costs = new Costs(1000, slabs, 0);
        assertEquals(
            Simulation.run(plan, Network.ofPairs(ranks, WIRE), costs),
            ServedByArrival.run(plan, Network.ofPairs(ranks, WIRE), costs),
            algorithm + " of " + ranks + " in " + slabs + " slabs");
      }
    }
  }

  /** The figures of Ying et al. 2018 that wait in the plan's order, and those that do not. */
  @ParameterizedTest
  @CsvSource({"4x2, 1.24", "8x4, 1.17", "16x8, 1.24", "16x16, 0.88"})
  void oblongTori(String mesh, double millis) {
    Size size = Size.parse(mesh).get(0);
    Fabric fabric = new Fabric(new Wire(1000, 1 / 62.0), List.of(), Optional.empty(), Hosts.NONE);
    Scenario torus = Scenario.of(Scenario.Work.of("torus"), size, fabric);
    double nanos = torus.run(Costs.of(102_228_128), Service.ARRIVAL).nanos();
    assertEquals(millis, nanos / 1e6, 0.006);
  }

  /** All bytes cross their links, and no link carries two things at once. */
  @Test
  void linksCarryWhatTheyDoInThePlansOrder() {
    long seed = Long.getLong("collectives.seed", System.nanoTime());
    SplittableRandom random = new SplittableRandom(seed);
    for (int i = 0; i < 60; i++) {
      String[] names = {"ring", "torus", "weighted-torus", "hierarchical", "direct", "swing"};
      String algorithm = names[random.nextInt(names.length)];
      Mesh mesh =
          new Mesh(
              random.nextInt(1, 6),
              random.nextInt(1, 6),
              random.nextBoolean(),
              random.nextBoolean());
      Network network = Network.of(mesh, WIRE);
      network.withHosts(new Hosts(1, random.nextInt(3), 0, 1), mesh.ranks());
      Plan plan = new PlanChoice(algorithm).plan(new Size(mesh.ranks(), Optional.of(mesh)));
      Costs costs = new Costs(1200, random.nextInt(1, 4), random.nextDouble());
      Outcome inOrder = Simulation.run(plan, network, costs);
      Outcome byArrival = ServedByArrival.run(plan, network, costs);
      String what = algorithm + " on " + network + ", " + costs + ", seed " + seed;
      assertEquals(inOrder.transfers(), byArrival.transfers(), what);
      assertEquals(inOrder.rounds(), byArrival.rounds(), what);
      for (Map.Entry<LinkClass, Outcome.Traffic> each : inOrder.traffic().entrySet()) {
        Outcome.Traffic other = byArrival.traffic().get(each.getKey());
        assertEquals(each.getValue().bytes(), other.bytes(), 1e-6, what);
        assertEquals(each.getValue().links(), other.links(), what);
      }
      assertTrue(byArrival.busiestNanos() <= byArrival.nanos() * (1 + 1e-12), what);
    }
  }

  @Test
  void plansThatAreTooLongAreRefused() {
    Plan ring = new PlanChoice("ring").plan(Size.of(2100));
    Network network = Network.ofPairs(2100, WIRE);
    String message =
        assertThrows(
                IllegalArgumentException.class,
                () -> ServedByArrival.run(ring, network, Costs.of(1)))
            .getMessage();
    assertEquals(
        "more than 4194304 transfers of a slab are too many for links that serve by arrival; write"
            + " --serve plan",
        message);
    assertThrows(
        IllegalArgumentException.class,
        () -> ServedByArrival.run(ring, Network.ofPairs(3, WIRE), Costs.of(1)));
  }
}
