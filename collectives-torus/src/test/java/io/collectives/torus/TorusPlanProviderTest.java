package io.collectives.torus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.Mesh;
import io.collectives.UnavailableException;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanFigures;
import io.collectives.plan.PlanVerifier;
import io.collectives.plan.Transfer;
import io.collectives.spi.AlgorithmSpec;
import io.collectives.spi.Algorithms;
import java.util.HashSet;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every algorithm of this module: proven, counted, and found. */
@Tag("once")
class TorusPlanProviderTest {
  private static final Algorithms ALGORITHMS = Algorithms.of(new TorusPlanProvider());

  private static Plan allReduce(Algorithm algorithm, int ranks) {
    return ALGORITHMS.plan(algorithm, Collective.ALL_REDUCE, ranks);
  }

  private static PlanFigures verify(Algorithm algorithm, int ranks) {
    boolean bothWaysAreOneLink = algorithm.equals(Algorithm.shortestWayRing()) && ranks == 2;
    return PlanVerifier.verify(allReduce(algorithm, ranks), bothWaysAreOneLink ? 2 : 1, 0);
  }

  /** Returns the algorithms that know no mesh. */
  static Stream<Algorithm> flat() {
    return ALGORITHMS.all().stream()
        .filter(spec -> !spec.parameters().form().contains("XxY"))
        .map(spec -> Algorithm.named(spec.name()));
  }

  static Stream<Mesh> meshes() {
    return IntStream.rangeClosed(1, 64)
        .boxed()
        .flatMap(x -> IntStream.rangeClosed(1, 64 / x).boxed().flatMap(y -> meshes(x, y)));
  }

  private static Stream<Mesh> meshes(int x, int y) {
    return Stream.of(
        Mesh.torus(x, y),
        new Mesh(x, y, true, false),
        new Mesh(x, y, false, true),
        new Mesh(x, y, false, false));
  }

  @ParameterizedTest
  @MethodSource("flat")
  void everyPlanIsRight(Algorithm algorithm) {
    IntStream.rangeClosed(1, 64).forEach(n -> verify(algorithm, n));
  }

  @ParameterizedTest
  @MethodSource("flat")
  void everyBarrierIsRight(Algorithm algorithm) {
    for (int n = 1; n <= 70; n++) {
      Plan barrier = ALGORITHMS.plan(algorithm, Collective.BARRIER, n);
      int doublings = Integer.SIZE - Integer.numberOfLeadingZeros(n - 1);
      int rounds = algorithm.equals(Algorithm.exchange()) ? Math.min(1, doublings) : doublings;
      boolean back = algorithm.equals(Algorithm.binomialTree());
      assertEquals(back ? 2 * rounds : rounds, PlanVerifier.verify(barrier).rounds());
    }
  }

  /** In units of a chunk: M has as many as the plan. */
  @Test
  void aHierarchySendsOnlyTheSharesOfItsPlacesFromHostToHost() {
    for (int x = 1; x <= 12; x++) {
      for (int y = 1; y <= 64 / x; y++) {
        int n = x * y;
        int perHost = x;
        Plan plan = allReduce(Algorithm.parse("hierarchical:" + x + "x" + y), n);
        PlanFigures figures = PlanVerifier.verify(plan);
        assertEquals(2 * (x - 1) + 2 * (y - 1), figures.rounds());
        long[] between = new long[n];
        for (int lane = 0; lane < plan.lanes(); lane++) {
          for (int round = 0; round < plan.rounds(lane); round++) {
            plan.transfers(
                lane,
                round,
                (from, to, first, count, effect) ->
                    between[from] += from / perHost != to / perHost ? count : 0);
          }
        }
        for (long sent : between) {
          assertEquals(2L * (plan.chunks() / n) * (y - 1), sent, "2(M/X)(Y-1)/Y");
        }
        assertEquals(2L * (plan.chunks() / n) * (n - 1), figures.load().mostSent(), "2M(n-1)/n");
      }
    }
  }

  @Test
  void everyTorusHasABarrierBetweenNeighbours() {
    meshes()
        .forEach(
            mesh -> {
              Plan barrier =
                  ALGORITHMS.plan(Algorithm.torus(mesh), Collective.BARRIER, mesh.ranks());
              int alongX = mesh.wrapX() ? mesh.x() / 2 : mesh.x() - 1;
              int alongY = mesh.wrapY() ? mesh.y() / 2 : mesh.y() - 1;
              PlanFigures figures = PlanVerifier.verify(barrier, mesh, 1, 0);
              assertEquals(alongX + alongY, figures.rounds());
              assertTrue(figures.links().mostPeers() <= 4);
            });
  }

  /** In units of the payload M over its chunks, so that fractions are whole numbers. */
  @Test
  void stepsAndBytesAreThoseOfTheDocumentation() {
    for (int n : IntStream.concat(IntStream.rangeClosed(2, 33), IntStream.of(64)).toArray()) {
      PlanFigures ring = verify(Algorithm.ring(), n);
      assertEquals(
          new PlanFigures(
              n,
              n,
              1,
              2 * (n - 1),
              ring.transfers(),
              new PlanFigures.Load(2L * (n - 1), 2L * (n - 1), 2L * (n - 1)),
              new PlanFigures.Links(n, 1, n == 2 ? 1 : 2)),
          ring);

      PlanFigures two = verify(Algorithm.bidirectionalRing(), n);
      assertEquals(
          new PlanFigures(
              n,
              2 * n,
              2,
              2 * (n - 1),
              two.transfers(),
              new PlanFigures.Load(4L * (n - 1), 4L * (n - 1), 4L * (n - 1)),
              new PlanFigures.Links(n == 2 ? 2 : 2 * n, 1, n == 2 ? 1 : 2)),
          two);

      PlanFigures direct = verify(Algorithm.direct(), n);
      assertEquals(
          new PlanFigures(
              n,
              n,
              1,
              2,
              2L * n * (n - 1),
              new PlanFigures.Load(2L * (n - 1), 2L * (n - 1), 2L * (n - 1)),
              new PlanFigures.Links(n * (n - 1), 1, n - 1)),
          direct);
    }
    meshes()
        .forEach(
            mesh -> {
              int n = mesh.ranks();
              PlanFigures torus = verify(Algorithm.torus(mesh), n);
              assertEquals(2 * (mesh.x() - 1) + 2 * (mesh.y() - 1), torus.rounds());
              boolean closed = mesh.wrapX() && mesh.x() > 2 || mesh.wrapY() && mesh.y() > 2;
              int flows = mesh.x() > 1 && mesh.y() > 1 && closed ? 4 : 2;
              assertEquals(flows, torus.lanes(), mesh::toString);
              assertEquals(flows * n, torus.chunks());
              Sent sent = Sent.of(allReduce(Algorithm.torus(mesh), n));
              LongSummaryStatistics of =
                  IntStream.range(0, n).mapToLong(sent::chunks).summaryStatistics();
              assertEquals(2L * flows * (n - 1), of.getAverage(), 1e-9, "2M(n-1)/n");
              boolean lines = isLine(mesh.x(), mesh.wrapX()) || isLine(mesh.y(), mesh.wrapY());
              assertEquals(lines, of.getMax() > of.getMin(), mesh::toString);
              assertTrue(torus.links().mostPeers() <= 4);
            });
  }

  /** Along a line places between others send more in an all-gather than those at its ends. */
  static boolean isLine(int places, boolean wraps) {
    return places > 2 && !wraps;
  }

  @Test
  void aShortestWayRingTakesHalfTheStepsAndSendsHalfEachWay() {
    for (int n = 2; n <= 64; n++) {
      PlanFigures figures = verify(Algorithm.shortestWayRing(), n);
      assertEquals(2 * (n / 2), figures.rounds());
      assertEquals(4L * (n - 1), figures.load().mostSent(), "2M(n-1)/n in 2n chunks");
      assertEquals(4L * (n - 1), figures.load().leastSent());
      assertEquals(4L * (n - 1), figures.load().mostReceived());
      assertEquals(n == 2 ? 1 : 2, figures.links().mostPeers());
      assertEquals(n == 2 ? 2 : 2 * n, figures.links().count());
      if (n > 2) {
        Sent sent = Sent.of(allReduce(Algorithm.shortestWayRing(), n));
        for (int rank = 0; rank < n; rank++) {
          assertEquals(2L * (n - 1), sent.chunks(rank, (rank + 1) % n));
          assertEquals(2L * (n - 1), sent.chunks(rank, (rank + n - 1) % n));
        }
      }
    }
  }

  @Test
  void halvingDoublingTakesTheDocumentedStepsAndBytes() {
    for (int n = 2; n <= 64; n++) {
      PlanFigures figures = verify(Algorithm.halvingDoubling(), n);
      int p = Integer.highestOneBit(n);
      int log = Integer.numberOfTrailingZeros(p);
      boolean power = p == n;
      assertEquals(p, figures.chunks());
      assertEquals(2 * log + (power ? 0 : 2), figures.rounds());
      assertEquals(2L * (p - 1) + (power ? 0 : p), figures.load().mostSent());
      assertEquals(power ? 2L * (p - 1) : p, figures.load().leastSent());
      assertEquals(log + (power ? 0 : 1), figures.links().mostPeers());
      assertEquals(p * log + 2 * (n - p), figures.links().count());
      Sent sent = Sent.of(allReduce(Algorithm.halvingDoubling(), n));
      for (int rank = 0; rank < n; rank++) {
        long expected = rank >= p ? p : 2L * (p - 1) + (rank < n - p ? p : 0);
        assertEquals(expected, sent.chunks(rank), "rank " + rank + " of " + n);
      }
    }
  }

  @Test
  void recursiveDoublingTakesTheDocumentedStepsAndBytes() {
    for (int n = 2; n <= 64; n++) {
      PlanFigures figures = verify(Algorithm.recursiveDoubling(), n);
      int p = Integer.highestOneBit(n);
      int log = Integer.numberOfTrailingZeros(p);
      boolean power = p == n;
      assertEquals(1, figures.chunks());
      assertEquals(log + (power ? 0 : 2), figures.rounds());
      assertEquals((long) p * log + 2 * (n - p), figures.transfers());
      assertEquals(log + (power ? 0 : 1), figures.links().mostPeers());
      Sent sent = Sent.of(allReduce(Algorithm.recursiveDoubling(), n));
      for (int rank = 0; rank < n; rank++) {
        boolean paired = rank < 2 * (n - p);
        long expected = paired ? rank % 2 == 0 ? log + 1 : 1 : log;
        assertEquals(expected, sent.chunks(rank), "rank " + rank + " of " + n);
      }
    }
  }

  /** Distances are those that the paper names. */
  @Test
  void swingExchangesWithNearPartnersAndSendsOneRange() {
    int[] distances = {1, -1, 3, -5, 11, -21};
    for (int n = 2; n <= 64; n++) {
      Plan plan = allReduce(Algorithm.named("swing"), n);
      PlanFigures figures = verify(Algorithm.named("swing"), n);
      int p = Integer.highestOneBit(n);
      int log = Integer.numberOfTrailingZeros(p);
      assertEquals(2 * log + (p == n ? 0 : 2), figures.rounds());
      assertEquals(2L * p * log + 2L * (n - p), figures.transfers());
      for (int step = 0; p == n && step < log; step++) {
        for (int round : new int[] {step, 2 * log - 1 - step}) {
          for (Transfer t : plan.transfers(0, round)) {
            int way = t.from() % 2 == 0 ? distances[step] : -distances[step];
            assertEquals(Math.floorMod(t.from() + way, n), t.to(), t::toString);
            assertEquals(n >> (step + 1), t.chunkCount(), t::toString);
          }
        }
      }
      Sent sent = Sent.of(plan);
      for (int rank = 0; rank < n; rank++) {
        boolean paired = rank < 2 * (n - p);
        long expected = paired && rank % 2 == 1 ? p : 2L * (p - 1) + (paired ? p : 0);
        assertEquals(expected, sent.chunks(rank), "rank " + rank + " of " + n);
      }
    }
  }

  @Test
  void aBinomialTreeTakesTheDocumentedStepsAndBytes() {
    for (int n = 2; n <= 64; n++) {
      PlanFigures figures = verify(Algorithm.binomialTree(), n);
      int levels = Integer.SIZE - Integer.numberOfLeadingZeros(n - 1);
      assertEquals(1, figures.chunks());
      assertEquals(2 * levels, figures.rounds());
      assertEquals(2L * (n - 1), figures.transfers());
      assertEquals(levels, figures.links().mostPeers());
      Sent sent = Sent.of(allReduce(Algorithm.binomialTree(), n));
      assertEquals(levels, sent.chunks(0));
      for (int rank = 1; rank < n; rank += 2) {
        assertEquals(1, sent.chunks(rank), "rank " + rank + " of " + n);
      }
    }
  }

  /** Its two chunks are halves of M. */
  @Test
  void aDoubleBinaryTreeTakesTheDocumentedStepsAndBytes() {
    for (int n = 2; n <= 64; n++) {
      PlanFigures figures = verify(Algorithm.doubleBinaryTree(), n);
      int log = 31 - Integer.numberOfLeadingZeros(n);
      assertEquals(2 * log, figures.rounds());
      assertEquals(4L * (n - 1), figures.transfers(), "2M(n-1) in halves of M");
      assertEquals(Math.min(n, 4), figures.load().mostSent());
      assertTrue(figures.load().leastSent() >= 2);
      assertTrue(figures.links().mostPeers() <= 4);
    }
  }

  @Test
  void plansWithoutContributorSetsAreRight() {
    for (int n : new int[] {65, 100, 127, 128, 129, 1000, 1024}) {
      verify(Algorithm.named("swing"), n);
      verify(Algorithm.shortestWayRing(), n);
      verify(Algorithm.halvingDoubling(), n);
      verify(Algorithm.binomialTree(), n);
      verify(Algorithm.recursiveDoubling(), n);
      verify(Algorithm.doubleBinaryTree(), n);
    }
  }

  @Test
  void oneRankHasNothingToDo() {
    Stream.concat(flat(), Stream.of(Algorithm.torus(Mesh.torus(1, 1))))
        .forEach(
            algorithm -> {
              assertEquals(0, verify(algorithm, 1).rounds());
              assertEquals(
                  0,
                  PlanVerifier.verify(ALGORITHMS.plan(algorithm, Collective.BARRIER, 1)).rounds());
            });
  }

  @Test
  void meshMustHaveAsManyPlacesAsTheGroupHasRanks() {
    assertEquals(
        "torus:4x2 has 8 places, the group has 6 ranks: they must be as many, as on"
            + " Mesh.torusOf(6), 3x2",
        refusal(Mesh.torus(4, 2), 6));
  }

  @Test
  void otherAlgorithmsAreNotItsOwn() {
    for (Collective collective : Collective.values()) {
      for (Algorithm other : List.of(Algorithm.named("mine"), Algorithm.parameterServer(2))) {
        String message =
            assertThrows(UnavailableException.class, () -> ALGORITHMS.plan(other, collective, 4))
                .getMessage();
        assertTrue(message.contains("there are ring, bidirectional-ring, "), message);
      }
    }
  }

  @Test
  void isFoundOnTheClassPath() {
    assertEquals(ALGORITHMS.forms(), Algorithms.onClassPath().forms());
  }

  @Test
  void eachAlgorithmIsFoundByItsName() {
    TorusPlanProvider provider = new TorusPlanProvider();
    assertEquals(
        provider.names(), provider.algorithms().stream().map(AlgorithmSpec::name).toList());
    assertThrows(IllegalArgumentException.class, () -> provider.algorithm("no-such"));
  }

  @Test
  void textsAreRead() {
    assertEquals(Algorithm.ring(), Algorithm.parse("ring"));
    assertEquals(
        Algorithm.torus(Mesh.torus(4, 2)), ALGORITHMS.forRanks(Algorithm.parse("torus:4x2"), 8));
    assertEquals(
        Algorithm.torus(Mesh.torus(3, 2)), ALGORITHMS.forRanks(Algorithm.parse("torus"), 6));
    assertTrue(ALGORITHMS.suits(Algorithm.parse("torus"), 6));
    assertFalse(ALGORITHMS.suits(Algorithm.parse("torus:4x2"), 6));
    for (String none : List.of("", "tree", "Ring", "ring:", "ring:2", "torus:", "torus:4x")) {
      String message =
          assertThrows(IllegalArgumentException.class, () -> Algorithm.parse(none)).getMessage();
      assertTrue(
          message.startsWith(
              "'" + none + "' is no algorithm; there are auto, ring, bidirectional-ring"),
          message);
    }
  }

  private static String refusal(Mesh mesh, int ranks) {
    Set<String> messages = new HashSet<>();
    for (Collective collective : Collective.values()) {
      messages.add(
          assertThrows(
                  IllegalArgumentException.class,
                  () -> ALGORITHMS.plan(Algorithm.torus(mesh), collective, ranks))
              .getMessage());
    }
    assertEquals(1, messages.size(), messages::toString);
    return messages.iterator().next();
  }
}
