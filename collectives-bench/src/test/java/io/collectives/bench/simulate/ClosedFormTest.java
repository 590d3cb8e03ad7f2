package io.collectives.bench.simulate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.Mesh;
import io.collectives.spi.AlgorithmSpec;
import io.collectives.spi.Algorithms;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Simulator and formula say the same where there is a formula; and how often there is one. */
@Tag("once")
class ClosedFormTest {
  private static final Wire WIRE = new Wire(10, 2);
  private static final double[] ADD = {0, 0.5, 7};

  /** Up to 16 ranks, three paces of adding, with or without NICs, which are slower than links. */
  @ParameterizedTest
  @CsvSource({
    "ring, all-reduce, 96",
    "ring, reduce-scatter, 96",
    "ring, all-gather, 96",
    "ring, reduce-scatter+all-gather, 96",
    "ring, broadcast, 96",
    "ring, reduce, 96",
    "ring, gather, 96",
    "ring, scatter, 96",
    "ring, all-to-all, 96",
    "ring, barrier, 96",
    "bidirectional-ring, all-reduce, 48",
    "bidirectional-ring, broadcast, 48",
    "bidirectional-ring, reduce, 48",
    "direct, all-reduce, 96",
    "direct, reduce-scatter, 96",
    "direct, all-gather, 96",
    "direct, broadcast, 48",
    "direct, reduce, 48",
    "exchange, all-reduce, 96",
    "exchange, reduce-scatter, 96",
    "exchange, barrier, 96",
    "binomial-tree, all-reduce, 18",
    "binomial-tree, broadcast, 18",
    "binomial-tree, reduce-scatter, 30",
    "binomial-tree, barrier, 96",
    "recursive-doubling, all-reduce, 30",
    "recursive-doubling, reduce, 18",
    "halving-doubling, all-reduce, 30",
    "halving-doubling, reduce-scatter, 30",
    "halving-doubling, all-gather, 30",
    "halving-doubling, broadcast, 18",
    "halving-doubling, reduce, 18",
    "double-binary-tree, reduce-scatter, 30",
    "parameter-server, all-reduce, 51",
    "parameter-server, reduce, 48",
    "dedicated-servers, all-reduce, 80",
    "dedicated-servers:3, all-reduce, 50",
    "shortest-way-ring, all-reduce, 6",
  })
  void pairsOfRanks(String algorithm, String task, int known) {
    int compared = 0;
    for (int ranks = 1; ranks <= 16; ranks++) {
      for (double nic : new double[] {0, 6}) {
        for (double add : ADD) {
          compared += compare(algorithm, task, Size.of(ranks), fabric(nic), 1, add);
        }
      }
    }
    assertEquals(known, compared);
  }

  /** The formulas in the list of algorithms tell the costs of the plans. */
  @Test
  void costsOfTheListAreThoseOfThePlans() {
    Algorithms algorithms = Algorithms.onClassPath();
    for (AlgorithmSpec spec : algorithms.all()) {
      for (int ranks = 2; ranks <= 16; ranks++) {
        if (spec.suits(ranks)) {
          Algorithm algorithm = algorithms.forRanks(Algorithm.named(spec.name()), ranks);
          Optional<AlgorithmSpec.Cost> cost = spec.cost(algorithm, ranks);
          for (double add : cost.isPresent() ? ADD : new double[0]) {
            assertEquals(1, compare(spec.name(), "all-reduce", Size.of(ranks), fabric(0), 1, add));
            boolean known =
                compare(spec.name(), "all-reduce", Size.of(ranks), fabric(6), 1, add) == 1;
            assertTrue(known || !cost.get().oneAtATime(), spec.name() + " through NICs");
          }
        }
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
    "ring, broadcast, 5",
    "ring, reduce, 5",
    "bidirectional-ring, broadcast, 0",
    "dedicated-servers, all-reduce, 5",
    "dedicated-servers:3, all-reduce, 5",
  })
  void slabsThatFollowEachOther(String algorithm, String task, int nic) {
    for (int slabs = 2; slabs <= 9; slabs++) {
      for (int ranks = 3; ranks <= 6; ranks++) {
        for (double add : ADD) {
          int known = compare(algorithm, task, Size.of(ranks), fabric(0), slabs, add);
          assertEquals(1, known, algorithm + " " + task + " " + slabs + " " + ranks);
          if (nic > 0) {
            compare(algorithm, task, Size.of(ranks), fabric(nic), slabs, add);
          }
        }
      }
    }
  }

  /** 8 by 8 sizes, with time for adding and without. */
  @ParameterizedTest
  @CsvSource({
    // Single rows and columns, but of two ranks; the two orders of others meet on unlike links.
    "all-reduce, 26, 2",
    // With time for adding: rows of one or two ranks, and single rows, which are reduced first. On
    // a line something to add comes from both sides.
    "reduce-scatter, 86, 68",
    "all-gather, 128, 128",
    "reduce-scatter+all-gather, 86, 68",
    "barrier, 128, 128",
    "broadcast, 2, 2",
  })
  void toriWithUnlikeDimensions(String task, int wrapped, int open) {
    List<Fabric.Other> unlike =
        List.of(Fabric.Other.parse("x=3ns,0.2GB/s"), Fabric.Other.parse("y=40ns,4GB/s"));
    Fabric fabric = new Fabric(WIRE, unlike, Optional.empty(), Hosts.NONE);
    int[] compared = new int[4];
    for (int x = 1; x <= 8; x++) {
      for (int y = 1; y <= 8; y++) {
        for (int wraps = 0; wraps < 4; wraps++) {
          Size size = Size.of(x, y).wrapped(wraps % 2 == 1, wraps > 1);
          compared[wraps] += compare("torus", task, size, fabric, 1, 0);
          compared[wraps] += compare("torus", task, size, fabric, 1, 0.75);
        }
      }
    }
    assertEquals(open, compared[0], "no wrap");
    assertEquals(wrapped, compared[3], "both wrap");
    assertTrue(compared[1] >= Math.min(open, wrapped) && compared[2] >= Math.min(open, wrapped));
  }

  /** On links that are alike, its two orders use all links of a square at once, and never meet. */
  @Test
  void squareTori() {
    for (int side = 3; side <= 9; side++) {
      for (double add : ADD) {
        Size square = Size.of(side, side);
        assertEquals(1, compare("torus", "all-reduce", square, fabric(0), 1, add), "" + side);
      }
      Size mesh = Size.of(side, side).wrapped(true, false);
      assertEquals(0, compare("torus", "all-reduce", mesh, fabric(0), 1, 0), "a line");
      Size oblong = Size.of(side, side + 1);
      assertEquals(0, compare("torus", "all-reduce", oblong, fabric(0), 1, 0), "orders that meet");
    }
  }

  @ParameterizedTest
  @CsvSource({"ring, 0", "ring, 0.5", "bidirectional-ring, 0.5"})
  void ringsAlongACircuit(String algorithm, double add) {
    for (int[] sides : new int[][] {{2, 2}, {4, 3}, {3, 4}, {6, 5}, {2, 7}, {8, 8}}) {
      for (String task : new String[] {"all-reduce", "reduce-scatter", "broadcast"}) {
        Scenario.Work work = new Scenario.Work(algorithm, Task.parse(task), 0, 1, true);
        Size size = Size.of(sides[0], sides[1]).wrapped(false, false);
        assertEquals(1, compare(Scenario.of(work, size, fabric(0)), 1, add), task + " " + size);
      }
    }
  }

  @Test
  void ringsThatHopOverOthers() {
    int compared = 0;
    for (int ways = 2; ways <= 5; ways++) {
      for (int members = 2; members <= 6; members++) {
        for (double alpha : new double[] {0, 1, 10, 1000}) {
          for (double add : ADD) {
            for (String task : new String[] {"all-reduce", "reduce-scatter", "all-gather"}) {
              Scenario.Work work = new Scenario.Work("ring", Task.parse(task), 0, ways, false);
              Fabric fabric =
                  new Fabric(new Wire(alpha, 2), List.of(), Optional.empty(), Hosts.NONE);
              Size size = Size.of(ways * members, 1);
              compared += compare(Scenario.of(work, size, fabric), 1, add);
            }
          }
        }
      }
    }
    assertEquals((4 * 2 + 1) * 5 * 4 * 3, compared);
  }

  @Test
  void thereIsNoFormulaForWhatIsUnlikeOrShared() {
    Fabric pods =
        new Fabric(
            WIRE,
            List.of(Fabric.Other.parse("pods=1us,1GB/s")),
            Optional.of(Mesh.torus(4, 4)),
            Hosts.NONE);
    Scenario.Work torus = Scenario.Work.of("torus");
    assertFalse(known(Scenario.of(torus, Size.of(8, 4), pods)));
    assertTrue(known(Scenario.of(torus, Size.of(4, 4), pods)), "one pod");
    Fabric hosts = new Fabric(WIRE, List.of(), Optional.empty(), new Hosts(2, 1, 0, 1));
    assertFalse(known(Scenario.of(Scenario.Work.of("ring"), Size.of(4), hosts)));
    Fabric link =
        new Fabric(
            WIRE, List.of(Fabric.Other.parse("0-1=1us,1GB/s")), Optional.empty(), Hosts.NONE);
    assertFalse(known(Scenario.of(Scenario.Work.of("ring"), Size.of(4), link)));
  }

  private static boolean known(Scenario scenario) {
    return scenario.closedForm(Costs.of(1)).isPresent();
  }

  private static Fabric fabric(double nic) {
    return new Fabric(WIRE, List.of(), Optional.empty(), new Hosts(1, nic, 0, 1));
  }

  private static int compare(
      String algorithm, String task, Size size, Fabric fabric, int slabs, double add) {
    Scenario.Work work = new Scenario.Work(algorithm, Task.parse(task), 0, 1, false);
    return compare(Scenario.of(work, size, fabric), slabs, add);
  }

  private static int compare(Scenario scenario, int slabs, double add) {
    Costs costs = scenario.costs(1000, slabs, add);
    OptionalDouble closed = scenario.closedForm(costs);
    if (closed.isEmpty()) {
      return 0;
    }
    assertEquals(
        closed.getAsDouble(),
        scenario.run(costs).nanos(),
        1e-10 * closed.getAsDouble(),
        scenario.work() + " of " + scenario.members() + " on " + scenario.network() + ", " + costs);
    return 1;
  }
}
