package io.collectives.torus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.Mesh;
import io.collectives.plan.Effect;
import io.collectives.plan.InvalidPlanException;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanFigures;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.PlanVerifier;
import io.collectives.plan.Rounds;
import io.collectives.plan.Transfer;
import io.collectives.spi.Algorithms;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.IntConsumer;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every collective but the all-reduce and the barrier by every algorithm: proven and counted. */
@Tag("once")
class OtherCollectivesTest {
  private static final Algorithms ALGORITHMS = Algorithms.of(new TorusPlanProvider());
  private static final Set<Collective> DEALT_DIRECTLY =
      Set.of(Collective.GATHER, Collective.SCATTER, Collective.ALL_TO_ALL);

  private static final Set<Algorithm> TWO_RANGES =
      Set.of(
          Algorithm.halvingDoubling(),
          Algorithm.binomialTree(),
          Algorithm.recursiveDoubling(),
          Algorithm.doubleBinaryTree(),
          Algorithm.named("swing"));

  private static Plan plan(Algorithm algorithm, Collective collective, int ranks, int root) {
    return ALGORITHMS.plan(algorithm, new PlanRequest(collective, ranks, root));
  }

  private static Plan plan(Algorithm algorithm, Collective collective, int ranks) {
    return plan(algorithm, collective, ranks, 0);
  }

  /** Verifies a plan with one frame on a link in a round, or two where two are documented. */
  private static PlanFigures verify(Algorithm algorithm, Plan plan) {
    boolean twoRanges = TWO_RANGES.contains(algorithm);
    boolean bothWaysAreOneLink = algorithm.equals(Algorithm.shortestWayRing());
    return PlanVerifier.verify(
        plan, twoRanges || bothWaysAreOneLink && plan.ranks() == 2 ? 2 : 1, 0);
  }

  static Stream<Algorithm> flat() {
    return TorusPlanProviderTest.flat();
  }

  private static void forRoots(int ranks, Collective collective, IntConsumer test) {
    int roots = collective.rooted() ? ranks : 1;
    for (int root = 0; root < roots; root += ranks <= 16 ? 1 : ranks / 3) {
      test.accept(root);
    }
  }

  @ParameterizedTest
  @MethodSource("flat")
  void everyPlanIsRightForEveryRoot(Algorithm algorithm) {
    IntStream.concat(IntStream.rangeClosed(1, 17), IntStream.of(31, 32, 33, 63, 64, 65, 70, 100))
        .forEach(
            n -> {
              for (Collective collective : Collective.values()) {
                forRoots(
                    n,
                    collective,
                    root -> {
                      Plan plan = plan(algorithm, collective, n, root);
                      assertEquals(collective, plan.collective());
                      assertEquals(root, plan.root());
                      verify(algorithm, plan);
                    });
              }
            });
  }

  /** On its own links only, but what goes straight between any two ranks. */
  @Test
  void everyTorusIsRightForEveryRoot() {
    TorusPlanProviderTest.meshes()
        .filter(mesh -> mesh.ranks() <= 20 || mesh.x() == mesh.y())
        .forEach(
            mesh -> {
              Algorithm torus = Algorithm.torus(mesh);
              for (Collective collective : Collective.values()) {
                forRoots(
                    mesh.ranks(),
                    collective,
                    root -> {
                      Plan plan = plan(torus, collective, mesh.ranks(), root);
                      if (DEALT_DIRECTLY.contains(collective)) {
                        PlanVerifier.verify(plan, 1, 0);
                      } else {
                        PlanVerifier.verify(plan, mesh, 1, 0);
                      }
                    });
              }
            });
  }

  /** So that a user may use the two halves, and change the own part between them. */
  @Test
  void aReduceScatterAndAnAllGatherMakeAnAllReduce() {
    for (int n = 1; n <= 20; n++) {
      int ranks = n;
      Stream.concat(
              flat(),
              Stream.of(
                  Algorithm.torus(Mesh.torusOf(n)),
                  Algorithm.torus(new Mesh(Mesh.torusOf(n).x(), Mesh.torusOf(n).y(), false, true))))
          .forEach(
              algorithm -> {
                Plan first = plan(algorithm, Collective.REDUCE_SCATTER, ranks);
                Plan second = plan(algorithm, Collective.ALL_GATHER, ranks);
                assertEquals(first.chunks(), second.chunks());
                assertEquals(first.lanes(), second.lanes());
                Rounds[] lanes =
                    IntStream.range(0, first.lanes())
                        .mapToObj(lane -> rounds(first, lane).then(rounds(second, lane)))
                        .toArray(Rounds[]::new);
                verify(algorithm, Plan.of(Collective.ALL_REDUCE, ranks, first.chunks(), lanes));
              });
    }
  }

  private static Rounds rounds(Plan plan, int lane) {
    return Rounds.of(plan.rounds(lane), (round, sink) -> plan.transfers(lane, round, sink));
  }

  /** No plan does anything in vain, so that whatever is changed in one the verifier must find. */
  @Test
  void everyTransferIsNeededAsItIs() {
    for (int n : new int[] {2, 3, 4, 5, 6, 8}) {
      Mesh mesh = Mesh.torusOf(n);
      Algorithm lines = Algorithm.torus(new Mesh(mesh.x(), mesh.y(), false, false));
      Stream.concat(flat(), Stream.of(Algorithm.torus(mesh), lines))
          .forEach(
              algorithm -> {
                for (Collective collective : Collective.values()) {
                  // A barrier may hear of a rank more than once.
                  if (collective != Collective.BARRIER) {
                    forRoots(
                        n, collective, root -> assertNeeded(plan(algorithm, collective, n, root)));
                  }
                }
              });
    }
  }

  private static void assertNeeded(Plan plan) {
    int transfers = (int) PlanVerifier.verify(plan).transfers();
    UnaryOperator<Transfer> leftOut =
        t -> new Transfer(t.from(), t.from(), t.firstChunk(), t.chunkCount(), t.effect());
    UnaryOperator<Transfer> otherEffect =
        t ->
            new Transfer(
                t.from(),
                t.to(),
                t.firstChunk(),
                t.chunkCount(),
                t.effect() == Effect.REDUCE ? Effect.REPLACE : Effect.REDUCE);
    // A sum may take another way to its owner, so for a REDUCE this is the chunk after.
    UnaryOperator<Transfer> elsewhere =
        t ->
            t.effect() == Effect.REDUCE && plan.chunks() > 1
                ? new Transfer(
                    t.from(),
                    t.to(),
                    (t.firstChunk() + 1) % plan.chunks(),
                    t.chunkCount(),
                    t.effect())
                : new Transfer(
                    t.from(),
                    t.effect() == Effect.REDUCE ? t.from() : (t.to() + 1) % plan.ranks(),
                    t.firstChunk(),
                    t.chunkCount(),
                    t.effect());
    List<UnaryOperator<Transfer>> changes = List.of(leftOut, otherEffect, elsewhere);
    for (UnaryOperator<Transfer> change : changes) {
      for (int which = 0; which < transfers; which++) {
        Plan changed = changed(plan, which, change);
        int number = which;
        assertThrows(
            InvalidPlanException.class,
            () -> PlanVerifier.verify(changed),
            () -> "transfer " + number + " of " + plan + " as any other is accepted");
      }
    }
  }

  /** With one transfer changed, or left out if it becomes one to the sender. */
  private static Plan changed(Plan plan, int which, UnaryOperator<Transfer> change) {
    int[] next = new int[1];
    Rounds[] lanes =
        IntStream.range(0, plan.lanes())
            .mapToObj(
                lane -> {
                  List<List<Transfer>> rounds = new ArrayList<>();
                  for (int round = 0; round < plan.rounds(lane); round++) {
                    List<Transfer> kept = new ArrayList<>();
                    for (Transfer t : plan.transfers(lane, round)) {
                      Transfer now = next[0]++ == which ? change.apply(t) : t;
                      if (now.from() != now.to()) {
                        kept.add(now);
                      }
                    }
                    rounds.add(kept);
                  }
                  return Rounds.of(
                      rounds.size(),
                      (round, sink) -> {
                        for (Transfer t : rounds.get(round)) {
                          sink.transfer(
                              t.from(), t.to(), t.firstChunk(), t.chunkCount(), t.effect());
                        }
                      });
                })
            .toArray(Rounds[]::new);
    return Plan.of(
        new PlanRequest(plan.collective(), plan.ranks(), plan.root()), plan.chunks(), lanes);
  }

  /** In chunks, which are nths of M or halves of these. */
  @Test
  void aReduceScatterAndAnAllGatherSendNoMoreThanTheyMust() {
    for (int n = 2; n <= 32; n++) {
      for (Collective half : List.of(Collective.REDUCE_SCATTER, Collective.ALL_GATHER)) {
        assertHalf(Algorithm.ring(), half, n, n - 1, n);
        assertHalf(Algorithm.bidirectionalRing(), half, n, n - 1, 2 * n);
        assertHalf(Algorithm.shortestWayRing(), half, n, n / 2, 2 * n);
        assertHalf(Algorithm.direct(), half, n, 1, n);
        if (Integer.bitCount(n) == 1) {
          int log = Integer.numberOfTrailingZeros(n);
          assertHalf(Algorithm.halvingDoubling(), half, n, log, n);
          assertHalf(Algorithm.doubleBinaryTree(), half, n, log, n);
        }
      }
    }
  }

  private static void assertHalf(
      Algorithm algorithm, Collective half, int ranks, int rounds, int chunks) {
    Plan plan = plan(algorithm, half, ranks);
    PlanFigures figures = verify(algorithm, plan);
    assertEquals(rounds, figures.rounds(), plan::toString);
    assertEquals(chunks, figures.chunks(), plan::toString);
    long sent = (long) chunks / ranks * (ranks - 1);
    assertEquals(sent, figures.load().mostSent(), "M(n-1)/n");
    assertEquals(sent, figures.load().leastSent());
    assertEquals(sent, figures.load().mostReceived());
  }

  @Test
  void ringsSendHalfEachWay() {
    for (int n = 3; n <= 16; n++) {
      for (Collective half : List.of(Collective.REDUCE_SCATTER, Collective.ALL_GATHER)) {
        for (Algorithm ring : List.of(Algorithm.bidirectionalRing(), Algorithm.shortestWayRing())) {
          Sent sent = Sent.of(plan(ring, half, n));
          for (int rank = 0; rank < n; rank++) {
            assertEquals(n - 1, sent.chunks(rank, (rank + 1) % n), "half of 2(n-1)");
            assertEquals(n - 1, sent.chunks(rank, (rank + n - 1) % n));
          }
        }
      }
    }
  }

  /**
   * The shares that a place sends: in an all-gather along a line to each side those of all places
   * on the other one, and its own.
   */
  private static int shares(int places, boolean wraps, int place, boolean gathers) {
    if (!gathers || !TorusPlanProviderTest.isLine(places, wraps)) {
      return places - 1;
    }
    return (place < places - 1 ? place + 1 : 0) + (place > 0 ? places - place : 0);
  }

  @Test
  void aTorusSendsLessAlongItsRows() {
    TorusPlanProviderTest.meshes()
        .forEach(
            mesh -> {
              int n = mesh.ranks();
              for (Collective half : List.of(Collective.REDUCE_SCATTER, Collective.ALL_GATHER)) {
                Plan plan = plan(Algorithm.torus(mesh), half, n);
                PlanFigures figures = PlanVerifier.verify(plan, mesh, 1, 0);
                assertEquals(mesh.x() - 1 + mesh.y() - 1, figures.rounds());
                boolean alongX = mesh.wrapX() && mesh.x() > 2;
                boolean alongY = mesh.wrapY() && mesh.y() > 2;
                int parts = alongX || alongY ? 2 : 1;
                assertEquals(parts * n, figures.chunks());
                assertEquals(alongY || mesh.y() == 1 && alongX ? 2 : 1, figures.lanes());
                Sent sent = Sent.of(plan);
                for (int rank = 0; rank < n; rank++) {
                  long alongRow = 0;
                  for (int other = 0; other < n; other++) {
                    alongRow += other / mesh.x() == rank / mesh.x() ? sent.chunks(rank, other) : 0;
                  }
                  boolean gathers = half == Collective.ALL_GATHER;
                  int inRow = rank % mesh.x();
                  int inColumn = rank / mesh.x();
                  assertEquals(
                      parts * shares(mesh.x(), mesh.wrapX(), inRow, gathers),
                      alongRow,
                      "(M/Y)(X-1)/X, if it is no line");
                  assertEquals(
                      parts * mesh.x() * shares(mesh.y(), mesh.wrapY(), inColumn, gathers),
                      sent.chunks(rank) - alongRow,
                      "M(Y-1)/Y, if it is no line");
                }
              }
            });
  }

  @Test
  void halvingOfAnyNumberOfRanksTakesTheDocumentedStepsAndBytes() {
    for (int n = 3; n <= 64; n++) {
      int core = Integer.highestOneBit(n);
      int extras = n - core;
      if (extras == 0) {
        continue;
      }
      int rounds = Integer.numberOfTrailingZeros(core) + 2;
      Plan scatter = plan(Algorithm.halvingDoubling(), Collective.REDUCE_SCATTER, n);
      Plan gather = plan(Algorithm.halvingDoubling(), Collective.ALL_GATHER, n);
      assertEquals(rounds, verify(Algorithm.halvingDoubling(), scatter).rounds());
      assertEquals(rounds, verify(Algorithm.halvingDoubling(), gather).rounds());
      Sent scattered = Sent.of(scatter);
      Sent gathered = Sent.of(gather);
      for (int rank = 0; rank < n; rank++) {
        boolean extra = rank >= core;
        assertEquals(extra ? n : n - 1, scattered.chunks(rank), "rank " + rank + " of " + n);
        long blocks = 0;
        for (int block = 1; block < core; block *= 2) {
          for (int one = rank / block * block; one < rank / block * block + block; one++) {
            blocks += one < extras ? 2 : 1;
          }
        }
        assertTrue(2 * gathered.chunks(rank) < 5 * n, "less than 2.5M");
        assertEquals(
            extra ? 1 : blocks + (rank < extras ? n - 1 : 0),
            gathered.chunks(rank),
            "rank " + rank + " of " + n);
      }
    }
  }

  @Test
  void chainsTakeTheDocumentedStepsAndBytes() {
    for (int n = 2; n <= 16; n++) {
      for (int root = 0; root < n; root++) {
        for (Collective collective : List.of(Collective.BROADCAST, Collective.REDUCE)) {
          boolean reduces = collective == Collective.REDUCE;
          int before = (root + n - 1) % n;
          int after = (root + 1) % n;

          Plan one = plan(Algorithm.ring(), collective, n, root);
          Plan two = plan(Algorithm.bidirectionalRing(), collective, n, root);
          Plan half = plan(Algorithm.shortestWayRing(), collective, n, root);
          assertEquals(List.of(1, 2, 1), List.of(one.chunks(), two.chunks(), half.chunks()));
          assertEquals(n - 1, verify(Algorithm.ring(), one).rounds());
          assertEquals(n - 1, verify(Algorithm.bidirectionalRing(), two).rounds());
          PlanFigures figures = verify(Algorithm.shortestWayRing(), half);
          assertEquals(n / 2, figures.rounds());
          assertEquals(reduces ? 1 : Math.min(2, n - 1), figures.load().mostSent());

          Sent sent = Sent.of(one);
          Sent halves = Sent.of(two);
          for (int rank = 0; rank < n; rank++) {
            int end = reduces ? root : before;
            assertEquals(rank == end ? 0 : 1, sent.chunks(rank), "M to the next");
            assertEquals(rank == end ? 0 : 1, sent.chunks(rank, (rank + 1) % n));
            int ends = reduces ? root : after;
            long fewer = (rank == end ? 1 : 0) + (rank == ends ? 1 : 0);
            assertEquals(2 - fewer, halves.chunks(rank), "M, or M/2 at an end");
          }
        }
      }
    }
  }

  @Test
  void treesTakeTheDocumentedStepsAndBytes() {
    for (int n = 2; n <= 64; n++) {
      int floor = 31 - Integer.numberOfLeadingZeros(n);
      int ceil = 32 - Integer.numberOfLeadingZeros(n - 1);
      for (int root = 0; root < n; root += n <= 16 ? 1 : n / 5) {
        Plan broadcast = plan(Algorithm.halvingDoubling(), Collective.BROADCAST, n, root);
        Plan reduce = plan(Algorithm.halvingDoubling(), Collective.REDUCE, n, root);
        assertEquals(ceil, PlanVerifier.verify(broadcast, 1, 0).rounds());
        assertEquals(ceil, PlanVerifier.verify(reduce, 1, 0).rounds());
        assertEquals(ceil, Sent.of(broadcast).chunks(root), "ceil(log2 n) M");
        assertEquals(ceil, PlanVerifier.verify(broadcast, 1, 0).load().mostSent());

        Plan two = plan(Algorithm.doubleBinaryTree(), Collective.BROADCAST, n, root);
        Plan back = plan(Algorithm.doubleBinaryTree(), Collective.REDUCE, n, root);
        assertEquals(1 + floor, PlanVerifier.verify(two, 1, 0).rounds());
        assertEquals(1 + floor, PlanVerifier.verify(back, 1, 0).rounds());
        Sent sent = Sent.of(two);
        assertEquals(Integer.bitCount(n) == 1 ? 2 : 3, sent.chunks(root), "M, or 3M/2");
        for (int rank = 0; rank < n; rank++) {
          assertTrue(rank == root || sent.chunks(rank) <= 2, "M");
          assertEquals(rank == root ? 0 : 2, Sent.of(back).chunks(rank), "M to two parents");
          assertEquals(rank == root ? 0 : 1, Sent.of(reduce).chunks(rank), "M to one parent");
        }
      }
    }
  }

  @Test
  void aTorusSpreadsFromTheRootBothWays() {
    TorusPlanProviderTest.meshes()
        .filter(mesh -> mesh.ranks() <= 24)
        .forEach(
            mesh -> {
              for (int root = 0; root < mesh.ranks(); root++) {
                Algorithm torus = Algorithm.torus(mesh);
                Plan out = plan(torus, Collective.BROADCAST, mesh.ranks(), root);
                Plan in = plan(torus, Collective.REDUCE, mesh.ranks(), root);
                int rounds =
                    farthest(mesh.x(), mesh.wrapX(), root % mesh.x())
                        + farthest(mesh.y(), mesh.wrapY(), root / mesh.x());
                assertEquals(rounds, PlanVerifier.verify(out, mesh, 1, 0).rounds());
                assertEquals(rounds, PlanVerifier.verify(in, mesh, 1, 0).rounds());
                assertNeighboursOnly(mesh, out);
                assertNeighboursOnly(mesh, in);
                Sent spread = Sent.of(out);
                Sent collected = Sent.of(in);
                for (int other = 0; other < mesh.ranks(); other++) {
                  assertTrue(spread.chunks(root, other) <= 2, "M on each of its links");
                  assertEquals(other == root ? 0 : 2, collected.chunks(other), "M");
                }
              }
            });
  }

  private static int farthest(int places, boolean wraps, int root) {
    return wraps ? places / 2 : Math.max(root, places - 1 - root);
  }

  private static void assertNeighboursOnly(Mesh mesh, Plan plan) {
    for (int lane = 0; lane < plan.lanes(); lane++) {
      for (int round = 0; round < plan.rounds(lane); round++) {
        for (Transfer t : plan.transfers(lane, round)) {
          int across = Math.abs(t.from() % mesh.x() - t.to() % mesh.x());
          int down = Math.abs(t.from() / mesh.x() - t.to() / mesh.x());
          assertTrue(
              across + down == 1
                  || mesh.wrapX() && down == 0 && across == mesh.x() - 1
                  || mesh.wrapY() && across == 0 && down == mesh.y() - 1,
              () -> t + " on " + mesh);
        }
      }
    }
  }
}
