package io.collectives.bench.simulate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collective;
import io.collectives.Mesh;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.Rounds;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("once")
class SimulationTest {
  private static final Wire WIRE = new Wire(10, 2);

  /** Worked out by hand, so that formula and simulator cannot be wrong in the same way. */
  @Test
  void fourRanks() {
    Network pairs = Network.ofPairs(4, WIRE);
    // 6 rounds of 100 bytes, 3 of them added.
    assertEquals(6 * (10 + 200) + 3 * 50, run("ring", pairs, new Costs(400, 1, 0.5)), 1e-9);
    // 2 rounds of 100 bytes; 3 times 100 bytes are added.
    assertEquals(2 * (10 + 200) + 3 * 50, run("direct", pairs, new Costs(400, 1, 0.5)), 1e-9);
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
    Costs costs = new Costs(100, 1, 0.5);
    Plan oneLane =
        Plan.of(Collective.ALL_REDUCE, 3, 2, Rounds.sideBySide(2, i -> i == 0 ? first : second));
    Plan twoLanes = Plan.of(Collective.ALL_REDUCE, 3, 2, first, second);
    assertEquals(10 + 100 + 25 + 25, Simulation.run(oneLane, network, costs).nanos(), 1e-9);
    assertEquals(10 + 100 + 25, Simulation.run(twoLanes, network, costs).nanos(), 1e-9);
  }

  @Test
  void aMeshThatDoesNotWrapIsSlower() {
    Size open = Size.of(4, 4).wrapped(false, false);
    Plan lines = new PlanChoice("torus").plan(open);
    Network mesh = Network.of(new Mesh(4, 4, false, false), WIRE);
    double nanos = Simulation.run(lines, mesh, Costs.of(3200)).nanos();
    assertTrue(nanos > run("torus", Network.of(Mesh.torus(4, 4), WIRE), Costs.of(3200)));

    Network atOnce = Network.of(new Mesh(4, 4, false, false), new Wire(0, 2));
    assertEquals(
        run("torus", atOnce, Costs.of(3200)),
        Simulation.run(lines, atOnce, Costs.of(3200)).nanos(),
        1e-9,
        "a closed ring takes half each way, and a line as much as its busiest links");
  }

  @Test
  void allSendWhatTheyHeldWhenTheRoundBegan() {
    Rounds exchange =
        Rounds.of(
            1,
            (round, sink) -> {
              sink.transfer(0, 1, 0, 1, Effect.REDUCE);
              sink.transfer(1, 0, 0, 1, Effect.REDUCE);
            });
    Plan plan = Plan.of(Collective.ALL_REDUCE, 2, 1, exchange);
    double nanos = Simulation.run(plan, Network.ofPairs(2, WIRE), new Costs(100, 1, 0.5)).nanos();
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
        network.withHosts(new Hosts(1, random.nextInt(3), 0, 1), 12);
        Costs costs = new Costs(1200, 1 + i % 4, random.nextDouble());
        Plan plan = new PlanChoice(algorithm).plan(Size.of(4, 3));
        double before = Simulation.run(plan, network, costs).nanos();
        int from = random.nextInt(3);
        network.with(from, from + 1, new Wire(10 + random.nextInt(100), 2 + random.nextInt(9)));
        double after = Simulation.run(plan, network, costs).nanos();
        assertTrue(after >= before * (1 - 1e-12), algorithm + " " + i);
      }
    }
  }

  /** Each link carries one transfer of a lane in a round, so slabs never take turns. */
  @ParameterizedTest
  @ValueSource(strings = {"ring", "bidirectional-ring", "torus", "direct", "halving-doubling"})
  void slabsAreNeverSlower(String algorithm) {
    Random random = new Random(2);
    for (int i = 0; i < 80; i++) {
      Mesh mesh = algorithm.equals("torus") ? Mesh.torus(4, 3) : Mesh.torus(12, 1);
      boolean pairs = algorithm.equals("direct") || algorithm.equals("halving-doubling");
      Network network = pairs ? Network.ofPairs(12, wire(random)) : Network.of(mesh, wire(random));
      network.with(1, 2, wire(random)).with(2, 3, wire(random));
      Size size = pairs ? Size.of(12) : Size.of(mesh.x(), mesh.y());
      Plan plan = new PlanChoice(algorithm).plan(size);
      double add = random.nextDouble() * 4;
      double whole = Simulation.run(plan, network, new Costs(1200, 1, add)).nanos();
      int slabs = 2 + random.nextInt(7);
      double cut = Simulation.run(plan, network, new Costs(1200, slabs, add)).nanos();
      assertTrue(cut <= whole * (1 + 1e-12), algorithm + " " + i + ": " + cut + " > " + whole);
    }
  }

  private static Wire wire(Random random) {
    return new Wire(random.nextInt(300), random.nextInt(5));
  }

  @Test
  void slabsHideLatency() {
    // 4 slabs of 50 ns: while the latency of one passes, others hold the link. Only the last one's
    // latency remains.
    Network network = Network.ofPairs(4, new Wire(100, 2));
    assertEquals(6 * 200 + 100, run("ring", network, new Costs(400, 4, 0)), 1e-9);
    assertEquals(6 * (200 + 100), run("ring", network, Costs.of(400)), 1e-9);
  }

  @Test
  void aHostIsSharedByItsLinks() {
    Network hosts = Network.ofPairs(4, WIRE).withHosts(new Hosts(1, 6, 0, 1), 4);
    double slower = run("ring", Network.ofPairs(4, new Wire(10, 6)), Costs.of(400));
    assertEquals(slower, run("ring", hosts, Costs.of(400)), 1e-9);
    // Each rank sends 3 times 100 bytes, one after the other, in both rounds.
    assertEquals(2 * (10 + 3 * 600), run("direct", hosts, Costs.of(400)), 1e-9);
  }

  @Test
  void twoFlowsOnOneNicTakeTwiceAsLong() {
    // Ranks 0 and 1 share a host and send to 2 and 3, which share another: 100 bytes at 6 ns/B.
    Plan both = transfers(4, 0, 2, 1, 3);
    Hosts two = new Hosts(2, 6, 0, 1);
    Outcome one = on(two, transfers(4, 0, 2));
    assertEquals(10 + 600, one.nanos(), 1e-9);
    Outcome shared = on(two, both);
    assertEquals(10 + 2 * 600, shared.nanos(), 1e-9);
    assertEquals(new Outcome.Traffic(2, 400, 200, 2400), shared.traffic().get(LinkClass.NIC));
    // On hosts of their own they do not meet, and what stays on a host does not pass its NIC.
    assertEquals(10 + 600, on(new Hosts(1, 6, 0, 1), both).nanos(), 1e-9);
    assertEquals(10 + 200, on(two, transfers(4, 0, 1, 2, 3)).nanos(), 1e-9);
    assertEquals(200, on(two, transfers(4, 0, 1)).traffic().get(LinkClass.HOST).busyNanos(), 1e-9);
    // In and out are apart: one comes in while the other goes out.
    assertEquals(10 + 600, on(two, transfers(4, 0, 2, 3, 1)).nanos(), 1e-9);
    // Two senders, one receiver: the second waits for the way in.
    assertEquals(10 + 2 * 600, on(new Hosts(1, 6, 0, 1), transfers(4, 0, 2, 1, 2)).nanos(), 1e-9);
  }

  @Test
  void whoWaitsForAReceiverDoesNotHoldUpItsSender() {
    // 0 and 1 send to 2, and 1 to 3: that need not wait until 2 is ready for what 1 sent before.
    Plan plan = transfers(4, 0, 2, 1, 2, 1, 3);
    Outcome outcome = on(new Hosts(1, 6, 0, 1), plan);
    assertEquals(10 + 2 * 600, outcome.nanos(), 1e-9);
  }

  @Test
  void uplinksCarryWhatOversubscriptionLeaves() {
    // Racks of 4 hosts; 4 flows of 100 bytes at 6 ns/B go from one to the other.
    Plan across = transfers(8, 0, 4, 1, 5, 2, 6, 3, 7);
    assertEquals(10 + 600, on(new Hosts(1, 6, 4, 1), across).nanos(), 1e-9);
    // 2:1 leaves 2 uplinks: two after two.
    assertEquals(10 + 2 * 600, on(new Hosts(1, 6, 4, 2), across).nanos(), 1e-9);
    // 4:1 leaves 1; and 8:1 half of one.
    assertEquals(10 + 4 * 600, on(new Hosts(1, 6, 4, 4), across).nanos(), 1e-9);
    assertEquals(10 + 4 * 1200, on(new Hosts(1, 6, 4, 8), across).nanos(), 1e-9);
    // 3:1 leaves 1 that carries 4/3: 450 ns each, and the last ends at the pace of its NIC.
    assertEquals(10 + 3 * 450 + 600, on(new Hosts(1, 6, 4, 3), across).nanos(), 1e-9);
    // Within a rack it does not count.
    Plan within = transfers(8, 0, 1, 1, 2, 2, 3, 3, 0);
    assertEquals(10 + 600, on(new Hosts(1, 6, 4, 8), within).nanos(), 1e-9);
    Outcome outcome = on(new Hosts(1, 6, 4, 2), across);
    assertEquals(new Outcome.Traffic(4, 800, 200, 4800), outcome.traffic().get(LinkClass.UPLINK));
    assertEquals(400, outcome.traffic().get(LinkClass.RACKS).bytes(), 1e-9);
  }

  @Test
  void hopsThatAreStridedShareEachLink() {
    // 4 groups of 4 on a ring of 16: without latency each of 6 rounds takes 4 times 100 bytes.
    Scenario.Work strided = new Scenario.Work("ring", Task.parse("all-reduce"), 0, 4, false);
    Fabric fabric = new Fabric(new Wire(0, 2), List.of(), Optional.empty(), Hosts.NONE);
    Outcome outcome = Scenario.of(strided, Size.of(16, 1), fabric).run(Costs.of(400));
    assertEquals(6 * 4 * 200, outcome.nanos(), 1e-9);
    // 2M(k-1)/k bytes of each of the 4 groups on each of 16 links.
    assertEquals(
        new Outcome.Traffic(16, 16 * 4 * 600, 4 * 600, 16 * 4 * 1200),
        outcome.traffic().get(LinkClass.X));
    // One group by itself has its links for itself: 6 rounds.
    Plan alone = new GroupsPlan(plan("ring", 4), 1, (group, member) -> 4 * member);
    Plan wide = Plan.of(PlanRequest.of(Collective.ALL_REDUCE, 16), 4, rounds(alone));
    Network row = Network.of(Mesh.torus(16, 1), new Wire(0, 2));
    assertEquals(6 * 200, Simulation.run(wide, row, Costs.of(400)).nanos(), 1e-9);
  }

  @Test
  void linksFromPodToPodAreTheirOwn() {
    // 8 columns in two pods; it wraps along X by links between pods, along Y within one.
    Network pods =
        Network.of(Mesh.torus(8, 2), WIRE).withPods(4, 4).with(LinkClass.PODS, new Wire(100, 20));
    int[] path = new int[pods.longestPath()];
    for (int[] pair : new int[][] {{3, 4}, {4, 3}, {7, 0}, {0, 7}, {11, 12}, {15, 8}}) {
      assertEquals(1, pods.path(pair[0], pair[1], path));
      assertEquals(LinkClass.PODS, pods.linkClass(path[0]), pair[0] + "->" + pair[1]);
    }
    for (int[] pair : new int[][] {{0, 1}, {2, 3}, {5, 4}, {6, 7}}) {
      pods.path(pair[0], pair[1], path);
      assertEquals(LinkClass.X, pods.linkClass(path[0]), pair[0] + "->" + pair[1]);
    }
    for (int[] pair : new int[][] {{0, 8}, {8, 0}, {12, 4}}) {
      pods.path(pair[0], pair[1], path);
      assertEquals(LinkClass.Y, pods.linkClass(path[0]), pair[0] + "->" + pair[1]);
    }
    // A wrap of one pod stays within it.
    Network one = Network.of(Mesh.torus(4, 4), WIRE).withPods(4, 4);
    one.path(3, 0, path);
    assertEquals(LinkClass.X, one.linkClass(path[0]));
    one.path(12, 0, path);
    assertEquals(LinkClass.Y, one.linkClass(path[0]));
    Plan across = transfers(16, 3, 4, 2, 3);
    assertEquals(100 + 2000, Simulation.run(across, pods, Costs.of(100)).nanos(), 1e-9);
    assertEquals(
        new Outcome.Traffic(1, 100, 100, 2000),
        Simulation.run(across, pods, Costs.of(100)).traffic().get(LinkClass.PODS));
    // What goes on from a slow link holds the next as long, but not the one before.
    Outcome through = Simulation.run(transfers(16, 2, 5), pods, Costs.of(100));
    assertEquals(10 + 100 + 10 + 2000, through.nanos(), 1e-9);
    assertEquals(200 + 2000, through.traffic().get(LinkClass.X).busyNanos(), 1e-9);
  }

  @Test
  void slowPodsCostTheHierarchyLittleAndTheRingMuch() {
    // 8 by 8 in pods of 4 by 8, links between them ten times slower. The hierarchy sends an eighth
    // over them, half of it each way: 2 (8-1) of 1/128 of 6,400 bytes a link.
    Fabric slow =
        new Fabric(
            new Wire(0, 1),
            List.of(Fabric.Other.parse("pods=0ns,0.1GB/s")),
            Optional.of(Mesh.torus(4, 8)),
            Hosts.NONE);
    Fabric even = new Fabric(new Wire(0, 1), List.of(), Optional.empty(), Hosts.NONE);
    Task inTwo = Task.parse("reduce-scatter+all-gather");
    Size size = Size.of(8, 8);
    Scenario.Work torus = new Scenario.Work("torus", inTwo, 0, 1, false);
    Scenario.Work ring = new Scenario.Work("ring", inTwo, 0, 1, true);
    Costs costs = Costs.of(6400);
    assertEquals(14 * 400 + 14 * 50, Scenario.of(torus, size, even).run(costs).nanos(), 1e-9);
    double torusSlow = Scenario.of(torus, size, slow).run(costs).nanos();
    assertTrue(torusSlow <= 14 * 400 + 14 * 500 && torusSlow > 14 * 400 + 7 * 500);
    assertEquals(126 * 100, Scenario.of(ring, size, even).run(costs).nanos(), 1e-9);
    assertTrue(Scenario.of(ring, size, slow).run(costs).nanos() >= 126 * 1000);
  }

  /** A plan of one round: each pair of numbers is a transfer of the only chunk. */
  private static Plan transfers(int ranks, int... ends) {
    return Plan.of(
        PlanRequest.of(Collective.ALL_REDUCE, ranks),
        1,
        Rounds.of(
            1,
            (round, sink) -> {
              for (int i = 0; i < ends.length; i += 2) {
                sink.transfer(ends[i], ends[i + 1], 0, 1, Effect.REPLACE);
              }
            }));
  }

  private static Rounds rounds(Plan plan) {
    return Rounds.of(plan.rounds(0), (round, sink) -> plan.transfers(0, round, sink));
  }

  private static Outcome on(Hosts hosts, Plan plan) {
    return Simulation.run(
        plan, Network.ofPairs(plan.ranks(), WIRE).withHosts(hosts, plan.ranks()), Costs.of(100));
  }

  @Test
  void aRingOf1024RanksTakesWhatTheFormulaSays() {
    Network network = Network.ofPairs(1024, new Wire(1000, 1 / 70.0));
    Costs costs = Costs.of(102_400_000);
    Outcome outcome = Simulation.run(plan("ring", 1024), network, costs);
    assertEquals(2_095_104, outcome.transfers());
    assertEquals(2046 * (1000 + 100_000 / 70.0), outcome.nanos(), 1);
  }

  /** A part of the ranks for which it is made, so that it takes seconds. */
  @ParameterizedTest
  @CsvSource({"all-reduce, 48, 48", "reduce-scatter+all-gather, 64, 32"})
  void aTorusOfThousandsOfRanksTakesWhatTheFormulaSays(String task, int x, int y) {
    Fabric fabric = new Fabric(new Wire(1000, 1 / 70.0), List.of(), Optional.empty(), Hosts.NONE);
    Scenario scenario =
        Scenario.of(
            new Scenario.Work("torus", Task.parse(task), 0, 1, false), Size.of(x, y), fabric);
    Costs costs = Costs.of(102_400_000);
    Outcome outcome = scenario.run(costs);
    double closed = scenario.closedForm(costs).orElseThrow();
    assertEquals(closed, outcome.nanos(), 1e-9 * closed);
    assertEquals(2 * (x - 1 + y - 1), outcome.rounds());
  }

  @Test
  void whatCannotBeIsRefused() {
    Network three = Network.ofPairs(3, WIRE);
    Plan plan = plan("ring", 4);
    assertThrows(IllegalArgumentException.class, () -> Simulation.run(plan, three, Costs.of(1)));
    assertThrows(
        IllegalArgumentException.class,
        () -> Simulation.run(plan, Network.ofPairs(4, WIRE), new Costs(1, 1 << 30, 0)));
    assertThrows(IllegalArgumentException.class, () -> three.with(0, 3, WIRE));
    assertThrows(
        IllegalArgumentException.class, () -> Network.of(Mesh.torus(4, 4), WIRE).with(0, 5, WIRE));
    assertThrows(IllegalArgumentException.class, () -> three.withPods(1, 1));
    assertThrows(IllegalArgumentException.class, () -> three.with(LinkClass.X, WIRE));
    assertThrows(
        IllegalArgumentException.class, () -> Network.of(Mesh.torus(8, 4), WIRE).withPods(3, 4));
    assertThrows(
        IllegalArgumentException.class,
        () -> Network.of(Mesh.torus(8, 4), WIRE).withHosts(new Hosts(2, 1, 0, 1), 32));
    assertThrows(IllegalArgumentException.class, () -> new Hosts(1, 0, 4, 1));
    assertThrows(IllegalArgumentException.class, () -> new Hosts(1, 1, 4, 0.5));
    assertThrows(IllegalArgumentException.class, () -> Network.ofPairs(65_536, WIRE));
  }

  private static double run(String algorithm, Network network, Costs costs) {
    return Simulation.run(plan(algorithm, network.ranks()), network, costs).nanos();
  }

  private static Plan plan(String algorithm, int ranks) {
    return new PlanChoice(algorithm).plan(Size.of(ranks));
  }
}
