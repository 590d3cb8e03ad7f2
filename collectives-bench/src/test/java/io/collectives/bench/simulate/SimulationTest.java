package io.collectives.bench.simulate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collective;
import io.collectives.Mesh;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.Rounds;
import java.time.Duration;
import java.util.OptionalDouble;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SimulationTest {
  private static final Wire WIRE = new Wire(10, 2);

  @ParameterizedTest
  @ValueSource(strings = {"ring", "bidirectional-ring", "direct", "parameter-server"})
  void closedFormsAreHit(String algorithm) {
    PlanChoice choice = new PlanChoice(algorithm);
    int compared = 0;
    for (int ranks = 1; ranks <= 24; ranks++) {
      Size size = Size.of(ranks);
      Network network = Network.ofPairs(ranks, WIRE);
      for (double add : new double[] {0, 0.5, 7}) {
        compared += compare(choice, size, network, new Costs(1000, 1, add, 0));
      }
    }
    assertTrue(compared >= 23 * 3, compared + " have a closed form");
  }

  @Test
  void closedFormsOfToriAreHitWithUnlikeDimensions() {
    int compared = 0;
    for (int x = 1; x <= 8; x++) {
      for (int y = 1; y <= 8; y++) {
        Network network =
            Network.of(Mesh.torus(x, y), WIRE)
                .with(LinkClass.X, new Wire(3, 5))
                .with(LinkClass.Y, new Wire(40, 0.25));
        Costs costs = new Costs(1e6, 1, 0.75, 0);
        compared += compare(new PlanChoice("torus"), Size.of(x, y), network, costs);
      }
    }
    assertEquals(7 * 7, compared);
  }

  private static int compare(PlanChoice choice, Size size, Network network, Costs costs) {
    OptionalDouble closed = ClosedForm.nanos(choice.algorithm(size), network, costs);
    if (closed.isEmpty()) {
      return 0;
    }
    double simulated = Simulation.run(choice.plan(size), network, costs).nanos();
    assertEquals(
        closed.getAsDouble(), simulated, 1e-10 * closed.getAsDouble(), choice + " " + size);
    return 1;
  }

  /** Worked out by hand, so that formula and simulator cannot be wrong in the same way. */
  @Test
  void fourRanks() {
    Network pairs = Network.ofPairs(4, WIRE);
    // 6 rounds of 100 bytes, 3 of them added.
    assertEquals(6 * (10 + 200) + 3 * 50, run("ring", pairs, new Costs(400, 1, 0.5, 0)), 1e-9);
    // 2 rounds of 100 bytes; 3 times 100 bytes are added.
    assertEquals(2 * (10 + 200) + 3 * 50, run("direct", pairs, new Costs(400, 1, 0.5, 0)), 1e-9);
    Outcome outcome = Simulation.run(plan("ring", 4), pairs, Costs.of(400));
    assertEquals(new Outcome.Traffic(4, 2400, 600, 4800), outcome.traffic().get(LinkClass.OTHER));
    assertEquals(6, outcome.rounds());
    assertEquals(24, outcome.transfers());
    assertEquals(1200 / 1260.0, outcome.busyShare(LinkClass.OTHER), 1e-12);
  }

  @Test
  void whatGoesFarTakesEachHop() {
    // A line: the last rank's transfers to the first go back over 3 links. A chunk that sets out
    // there passes that way twice among its 6.
    Network line = Network.of(new Mesh(4, 1, false, false), WIRE);
    Outcome outcome = Simulation.run(plan("ring", 4), line, Costs.of(400));
    assertEquals(6 * (10 + 200) + 2 * 2 * 10, outcome.nanos(), 1e-9);
    assertEquals(6 * 600, outcome.traffic().get(LinkClass.X).bytes(), 1e-9);
    // From the end of a row to the start of the next: along the row first, round where it wraps.
    int[] path = new int[9];
    assertEquals(3, Network.of(new Mesh(3, 3, false, false), WIRE).path(2, 3, path));
    Network wraps = Network.of(Mesh.torus(3, 3), WIRE);
    assertEquals(2, wraps.path(2, 3, path));
    assertEquals("2->0", wraps.name(path[0]));
    assertEquals("0->3", wraps.name(path[1]));
    assertEquals(LinkClass.Y, wraps.linkClass(path[1]));
    // Two places have one link each way.
    Network two = Network.of(Mesh.torus(2, 1), WIRE);
    two.path(0, 1, path);
    assertEquals("0->1", two.name(path[0]));
    two.path(1, 0, path);
    assertEquals("1->0", two.name(path[0]));
  }

  @Test
  void pathsLeadWhereTheyShould() {
    for (Mesh mesh :
        new Mesh[] {
          Mesh.torus(5, 4), Mesh.torus(2, 3), Mesh.torus(1, 6), new Mesh(4, 3, false, true)
        }) {
      Network network = Network.of(mesh, WIRE);
      int[] path = new int[network.longestPath()];
      for (int from = 0; from < mesh.ranks(); from++) {
        for (int to = 0; to < mesh.ranks(); to++) {
          int hops = network.path(from, to, path);
          int at = from;
          for (int hop = 0; hop < hops; hop++) {
            String[] ends = network.name(path[hop]).split("->");
            assertEquals(at, Integer.parseInt(ends[0]));
            at = Integer.parseInt(ends[1]);
          }
          assertEquals(to, at, mesh + ": " + from + " to " + to);
        }
      }
    }
  }

  @Test
  void eachLaneOfARankAddsOneThingAtATime() {
    Rounds first = Rounds.of(1, (round, sink) -> sink.transfer(1, 0, 0, 1, Effect.REDUCE));
    Rounds second = Rounds.of(1, (round, sink) -> sink.transfer(2, 0, 1, 1, Effect.REDUCE));
    Network network = Network.ofPairs(3, WIRE);
    Costs costs = new Costs(100, 1, 0.5, 0);
    Plan oneLane =
        Plan.of(Collective.ALL_REDUCE, 3, 2, Rounds.sideBySide(2, i -> i == 0 ? first : second));
    Plan twoLanes = Plan.of(Collective.ALL_REDUCE, 3, 2, first, second);
    assertEquals(10 + 100 + 25 + 25, Simulation.run(oneLane, network, costs).nanos(), 1e-9);
    assertEquals(10 + 100 + 25, Simulation.run(twoLanes, network, costs).nanos(), 1e-9);
  }

  @Test
  void halvingAndDoublingOfPowersOfTwo() {
    for (int ranks = 2; ranks <= 64; ranks *= 2) {
      Costs costs = new Costs(640, 1, 0.5, 0);
      Network network = Network.ofPairs(ranks, WIRE);
      assertEquals(1, compare(new PlanChoice("halving-doubling"), Size.of(ranks), network, costs));
    }
  }

  @Test
  void aMeshThatDoesNotWrapIsSlower() {
    Size open = Size.of(4, 4).wrapped(false, false);
    Plan folded = new PlanChoice("torus").plan(open);
    Network mesh = Network.of(new Mesh(4, 4, false, false), WIRE);
    double nanos = Simulation.run(folded, mesh, Costs.of(3200)).nanos();
    assertTrue(nanos > run("torus", Network.of(Mesh.torus(4, 4), WIRE), Costs.of(3200)));
    assertTrue(nanos <= run("torus", mesh, Costs.of(3200)), "folding gains nothing");
  }

  @Test
  void allSendWhatTheyHeldWhenTheRoundBegan() {
    Rounds swap =
        Rounds.of(
            1,
            (round, sink) -> {
              sink.transfer(0, 1, 0, 1, Effect.REDUCE);
              sink.transfer(1, 0, 0, 1, Effect.REDUCE);
            });
    Plan plan = Plan.of(Collective.ALL_REDUCE, 2, 1, swap);
    double nanos =
        Simulation.run(plan, Network.ofPairs(2, WIRE), new Costs(100, 1, 0.5, 0)).nanos();
    assertEquals(10 + 200 + 50, nanos, 1e-9);
  }

  @Test
  void aSlowLinkSlowsItsUsersOnly() {
    Wire slow = new Wire(10, 50);
    double even = run("ring", Network.ofPairs(8, WIRE), Costs.of(800));
    // A ring goes up: the link down is not used.
    assertEquals(even, run("ring", Network.ofPairs(8, WIRE).with(4, 3, slow), Costs.of(800)));
    Outcome slowed =
        Simulation.run(plan("ring", 8), Network.ofPairs(8, WIRE).with(3, 4, slow), Costs.of(800));
    assertEquals("3->4", slowed.busiestLink());
    assertEquals(14 * 100 * 50, slowed.busiestNanos(), 1e-9);
    assertTrue(slowed.nanos() >= slowed.busiestNanos());
    // Direct: rank 1 has rank 0's part late (10 + 5000), which delays what it tells the others (10
    // + 200); and the link is held twice.
    double direct = run("direct", Network.ofPairs(8, WIRE).with(0, 1, slow), Costs.of(800));
    assertEquals(Math.max(10 + 5000 + 10 + 200, 5000 + 5000 + 10), direct, 1e-9);
    // One row of a torus: the columns' links are held as long as before.
    Network torus = Network.of(Mesh.torus(4, 4), WIRE);
    Outcome before = Simulation.run(plan("torus", 16), torus, Costs.of(3200));
    Outcome after = Simulation.run(plan("torus", 16), torus.with(1, 2, slow), Costs.of(3200));
    assertEquals(before.traffic().get(LinkClass.Y), after.traffic().get(LinkClass.Y));
    assertTrue(after.nanos() > before.nanos());
  }

  @Test
  void linksThatAreMadeSlowerNeverHelp() {
    Random random = new Random(1);
    for (String algorithm : new String[] {"ring", "bidirectional-ring", "torus", "direct"}) {
      for (int i = 0; i < 60; i++) {
        Network network = Network.of(new Mesh(4, 3, i % 2 == 0, i % 3 == 0), WIRE);
        Costs costs = new Costs(1200, 1 + i % 4, random.nextDouble(), random.nextInt(3));
        Plan plan = new PlanChoice(algorithm).plan(Size.of(4, 3));
        double before = Simulation.run(plan, network, costs).nanos();
        int from = random.nextInt(3);
        network.with(from, from + 1, new Wire(10 + random.nextInt(100), 2 + random.nextInt(9)));
        double after = Simulation.run(plan, network, costs).nanos();
        assertTrue(after >= before * (1 - 1e-12), algorithm + " " + i);
      }
    }
  }

  @Test
  void slabsAreNeverSlower() {
    Random random = new Random(2);
    for (String algorithm :
        new String[] {"ring", "bidirectional-ring", "torus", "direct", "parameter-server:3"}) {
      for (int i = 0; i < 80; i++) {
        Mesh mesh = new Mesh(4, 3, i % 2 == 0, i % 3 == 0);
        Network network =
            Network.of(mesh, new Wire(random.nextInt(300), random.nextInt(5)))
                .with(LinkClass.Y, new Wire(random.nextInt(300), random.nextInt(5)))
                .with(1, 2, new Wire(random.nextInt(300), random.nextInt(50)));
        Plan plan = new PlanChoice(algorithm).plan(Size.of(4, 3));
        double add = random.nextDouble() * 4;
        double whole = Simulation.run(plan, network, new Costs(1200, 1, add, 0)).nanos();
        int slabs = 2 + random.nextInt(7);
        double cut = Simulation.run(plan, network, new Costs(1200, slabs, add, 0)).nanos();
        assertTrue(cut <= whole * (1 + 1e-12), algorithm + " " + i + ": " + cut + " > " + whole);
      }
    }
  }

  @Test
  void slabsHideLatency() {
    // 4 slabs of 50 ns: while the latency of one passes, others hold the link. Only the last one's
    // latency remains.
    Network network = Network.ofPairs(4, new Wire(100, 2));
    assertEquals(6 * 200 + 100, run("ring", network, new Costs(400, 4, 0, 0)), 1e-9);
    assertEquals(6 * (200 + 100), run("ring", network, Costs.of(400)), 1e-9);
  }

  @Test
  void aHostIsSharedByItsLinks() {
    Network pairs = Network.ofPairs(4, WIRE);
    double slower = run("ring", Network.ofPairs(4, new Wire(10, 6)), Costs.of(400));
    assertEquals(slower, run("ring", pairs, new Costs(400, 1, 0, 6)), 1e-9);
    // Each rank sends 3 times 100 bytes, one after the other, in both rounds.
    assertEquals(2 * (10 + 3 * 600), run("direct", pairs, new Costs(400, 1, 0, 6)), 1e-9);
  }

  @Test
  void aRingOf4096RanksTakesSeconds() {
    Network network = Network.ofPairs(4096, new Wire(1000, 1 / 70.0));
    Costs costs = Costs.of(102_400_000);
    Outcome outcome =
        assertTimeoutPreemptively(
            Duration.ofSeconds(10), () -> Simulation.run(plan("ring", 4096), network, costs));
    assertEquals(33_546_240, outcome.transfers());
    assertEquals(8190 * (1000 + 25_000 / 70.0), outcome.nanos(), 1);
  }

  @Test
  void aPodTakesSecondsAndNoMoreThanTheFormula() {
    Network network = Network.of(Mesh.torus(128, 32), new Wire(1000, 1 / 70.0));
    Size pod = Size.of(128, 32);
    int compared =
        assertTimeoutPreemptively(
            Duration.ofSeconds(10),
            () -> compare(new PlanChoice("torus"), pod, network, Costs.of(102_400_000)));
    assertEquals(1, compared);
  }

  @Test
  void whatCannotBeIsRefused() {
    Network three = Network.ofPairs(3, WIRE);
    Plan plan = plan("ring", 4);
    assertThrows(IllegalArgumentException.class, () -> Simulation.run(plan, three, Costs.of(1)));
    assertThrows(
        IllegalArgumentException.class,
        () -> Simulation.run(plan, Network.ofPairs(4, WIRE), new Costs(1, 1 << 30, 0, 0)));
    assertThrows(IllegalArgumentException.class, () -> three.with(0, 3, WIRE));
    assertThrows(
        IllegalArgumentException.class, () -> Network.of(Mesh.torus(4, 4), WIRE).with(0, 5, WIRE));
    assertFalse(
        ClosedForm.nanos(
                new PlanChoice("torus").algorithm(Size.of(2, 4)),
                Network.of(Mesh.torus(2, 4), WIRE),
                Costs.of(1))
            .isPresent());
  }

  private static double run(String algorithm, Network network, Costs costs) {
    return Simulation.run(plan(algorithm, network.ranks()), network, costs).nanos();
  }

  private static Plan plan(String algorithm, int ranks) {
    return new PlanChoice(algorithm).plan(Size.of(ranks));
  }
}
