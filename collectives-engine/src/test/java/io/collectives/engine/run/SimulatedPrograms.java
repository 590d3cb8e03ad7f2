package io.collectives.engine.run;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.Mesh;
import io.collectives.plan.PlanRequest;
import io.collectives.spi.Algorithms;
import java.util.HashMap;
import java.util.Map;

/**
 * Programs of all plans that the tests of the engine know, compiled once for all simulations of a
 * thread.
 */
final class SimulatedPrograms {
  /** The number of algorithms. */
  static final int ALGORITHMS = 10;

  /** This algorithm and the next one can take sums in the order of ranks. */
  static final int DIRECT = 1;

  static final int EXCHANGE = 4;

  private final Algorithms plans = Algorithms.onClassPath();

  private final Map<Integer, Program> programs = new HashMap<>();

  static Algorithm algorithm(int number, int members) {
    return switch (number) {
      case 0 -> Algorithm.ring();
      case DIRECT -> Algorithm.direct();
      case 2 -> Algorithm.bidirectionalRing();
      case 3 -> Algorithm.torus(Mesh.torusOf(members));
      case EXCHANGE -> Algorithm.exchange();
      case 5 -> Algorithm.recursiveDoubling();
      case 6 -> Algorithm.binomialTree();
      case 7 -> Algorithm.halvingDoubling();
      case 8 -> Algorithm.doubleBinaryTree();
      default -> Algorithm.shortestWayRing();
    };
  }

  Program of(
      int algorithm, Collective collective, int members, int rank, int root, AddOrder order) {
    int key = algorithm;
    key = key * Collective.values().length + collective.ordinal();
    key = key * 8 + members;
    key = key * 8 + rank;
    key = key * 8 + root;
    key = key * AddOrder.values().length + order.ordinal();
    return programs.computeIfAbsent(
        key,
        wanted -> {
          Algorithm route = algorithm(algorithm, members);
          PlanRequest request = new PlanRequest(collective, members, root);
          return ProgramCompiler.compile(route, plans.plan(route, request), rank, order);
        });
  }

  /** An all-to-all in which each pair of ranks has counts of its own. */
  Program pairwise(int members, int rank) {
    return programs.computeIfAbsent(
        -1 - (members * 8 + rank),
        key -> ProgramCompiler.pairwise(Algorithm.direct(), members, rank));
  }
}
