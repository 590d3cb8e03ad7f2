package io.collectives.torus;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.Mesh;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanFigures;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.PlanVerifier;
import io.collectives.plan.Rounds;
import io.collectives.spi.Algorithms;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Hierarchies and weighted tori of random meshes; a failure prints its seed. */
@Tag("once")
class HierarchicalPlanTest {
  private static final Algorithms ALGORITHMS = Algorithms.of(new TorusPlanProvider());
  private static final int MESHES = 150;
  private static final int MOST_RANKS = 120;

  private final long seed = Long.getLong("collectives.seed", System.nanoTime());
  private final SplittableRandom random = new SplittableRandom(seed);

  private Mesh mesh() {
    int x = random.nextInt(1, 14);
    int y = random.nextInt(1, 1 + Math.min(13, MOST_RANKS / x));
    return new Mesh(x, y, random.nextBoolean(), random.nextBoolean());
  }

  private static Plan plan(String text, Collective collective, int ranks) {
    return ALGORITHMS.plan(ALGORITHMS.parse(text), collective, ranks);
  }

  private PlanFigures verify(Mesh mesh, Plan plan, String what) {
    try {
      return PlanVerifier.verify(plan, mesh, 1, seed);
    } catch (RuntimeException e) {
      throw new AssertionError(what + ", seed " + seed, e);
    }
  }

  @Test
  void everyHierarchyKeepsToItsLinksAndSendsTheLeastToTheFarDimension() {
    for (int i = 0; i < MESHES; i++) {
      Mesh mesh = mesh();
      int n = mesh.ranks();
      String text = "hierarchical:" + mesh;
      boolean closedX = mesh.wrapX() && mesh.x() > 2;
      boolean closedY = mesh.wrapY() && mesh.y() > 2;
      boolean columnsAreNear = mesh.x() == 1 || mesh.wrapY() && !mesh.wrapX();
      Collective[] all = {Collective.ALL_REDUCE, Collective.REDUCE_SCATTER, Collective.ALL_GATHER};
      for (Collective collective : all) {
        Plan plan = plan(text, collective, n);
        String what = collective + " by " + text;
        PlanFigures figures = verify(mesh, plan, what);
        int phases = collective == Collective.ALL_REDUCE ? 2 : 1;
        assertEquals(phases * (mesh.x() - 1 + mesh.y() - 1), figures.rounds(), what);
        assertEquals(
            closedX || closedY ? 2 * n : n, figures.chunks(), what + ": one each way, or one");
        long far = 0;
        Sent sent = Sent.of(plan);
        for (int from = 0; from < n; from++) {
          for (int to = 0; to < n; to++) {
            boolean inRow = from / mesh.x() == to / mesh.x();
            far += inRow == columnsAreNear ? sent.chunks(from, to) : 0;
          }
        }
        int near = columnsAreNear ? mesh.y() : mesh.x();
        long share = (long) figures.chunks() / near;
        assertEquals(
            phases * share * (n / near - 1) * near,
            far,
            what + ", seed " + seed + ": (M/X)(Y-1)/Y of each of n ranks");
      }
    }
  }

  /** An update of each part may come between them. */
  @Test
  void aReduceScatterAndAnAllGatherMakeAnAllReduce() {
    for (int i = 0; i < MESHES; i++) {
      Mesh mesh = mesh();
      String text = "hierarchical:" + mesh;
      Plan first = plan(text, Collective.REDUCE_SCATTER, mesh.ranks());
      Plan second = plan(text, Collective.ALL_GATHER, mesh.ranks());
      Rounds[] lanes =
          IntStream.range(0, first.lanes())
              .mapToObj(lane -> rounds(first, lane).then(rounds(second, lane)))
              .toArray(Rounds[]::new);
      verify(mesh, Plan.of(Collective.ALL_REDUCE, mesh.ranks(), first.chunks(), lanes), text);
    }
  }

  private static Rounds rounds(Plan plan, int lane) {
    return Rounds.of(plan.rounds(lane), (round, sink) -> plan.transfers(lane, round, sink));
  }

  @Test
  void everyHierarchyOfTreesTakesTheDocumentedStepsAndBytes() {
    for (int i = 0; i < MESHES; i++) {
      Mesh shape = mesh();
      Mesh mesh = Mesh.torus(shape.x(), shape.y());
      String text = "hierarchical-tree:" + mesh;
      Plan plan = plan(text, Collective.ALL_REDUCE, mesh.ranks());
      PlanFigures figures = PlanVerifier.verify(plan, 1, seed);
      int levels = Integer.numberOfTrailingZeros(Integer.highestOneBit(mesh.y()));
      assertEquals(2 * (mesh.x() - 1) + 2 * levels, figures.rounds(), text);
      long far = 0;
      Sent sent = Sent.of(plan);
      for (int from = 0; from < mesh.ranks(); from++) {
        for (int to = 0; to < mesh.ranks(); to++) {
          far += from / mesh.x() == to / mesh.x() ? 0 : sent.chunks(from, to);
        }
      }
      assertEquals(2L * plan.chunks() * (mesh.y() - 1), far, text + ": 2M(Y-1) of all hosts");
    }
  }

  @Test
  void everyWeightedTorusGivesItsOrdersTheirParts() {
    for (int i = 0; i < MESHES; i++) {
      Mesh mesh = mesh();
      int columns = random.nextInt(1, 10);
      int rows = random.nextInt(1, 11 - columns);
      boolean written = random.nextBoolean();
      String text = "weighted-torus:" + mesh + (written ? "/" + columns + ":" + rows : "");
      Plan plan = plan(text, Collective.ALL_REDUCE, mesh.ranks());
      PlanFigures figures = verify(mesh, plan, text);
      if (mesh.x() > 1 && mesh.y() > 1) {
        int longer = Math.max(mesh.x(), mesh.y());
        assertEquals(4 * (longer - 1), figures.rounds(), text);
        if (written) {
          int parts = figures.chunks() / mesh.ranks() / (columns + rows);
          long[] first = new long[2];
          for (int lane = 0; lane < plan.lanes(); lane++) {
            plan.transfers(
                lane,
                0,
                (from, to, chunk, count, effect) ->
                    first[from % mesh.x() == to % mesh.x() ? 0 : 1] = count);
          }
          assertEquals((long) columns * mesh.x(), first[0], text + ", seed " + seed);
          assertEquals((long) rows * mesh.y(), first[1], text + ", seed " + seed);
          assertTrue(parts == 1 || parts == 2, text);
        }
      }
    }
  }

  /** Both orders change from one dimension to the other in the same round. */
  @Test
  void ordersOfAWeightedTorusAreNeverInOneDimensionInARound() {
    for (int i = 0; i < MESHES; i++) {
      Mesh mesh = mesh();
      Plan plan = plan("weighted-torus:" + mesh, Collective.ALL_REDUCE, mesh.ranks());
      for (int round = 0; mesh.x() > 1 && mesh.y() > 1 && round < plan.rounds(0); round++) {
        int half = plan.lanes() / 2;
        for (int lane = 0; lane < half; lane++) {
          int first = dimension(plan, mesh, lane, round);
          int second = dimension(plan, mesh, lane + half, round);
          assertTrue(first != second || first < 0, mesh + ", seed " + seed + ", round " + round);
        }
      }
    }
  }

  /** Returns the dimension in which a lane sends; -1 if it is idle. */
  private static int dimension(Plan plan, Mesh mesh, int lane, int round) {
    return plan.transfers(lane, round).stream()
        .mapToInt(t -> t.from() / mesh.x() == t.to() / mesh.x() ? 0 : 1)
        .findFirst()
        .orElse(-1);
  }

  /** With 8x4, 7/8 of a payload take as long along X as 6/8 along Y: the parts are near 7 to 6. */
  @ParameterizedTest
  @CsvSource({
    "8x8, 64, 1:1",
    "8x4, 32, 5:4",
    "4x8, 32, 4:5",
    "32x8 wrap=y, 256, 7:3",
    "8x32 wrap=x, 256, 3:7",
    "128x32 wrap=y, 4096, 2:1",
  })
  void weightsSuitTheMesh(String mesh, int ranks, String weights) {
    String text = "weighted-torus:" + mesh;
    assertEquals(text + "/" + weights, ALGORITHMS.forRanks(Algorithm.named(text), ranks).name());
  }

  @Test
  void whatDoesNotFitIsRefused() {
    assertEquals(
        "weights 9:2 of the orders that reduce along the columns and along the rows first: each"
            + " must be at least 1, and both together at most 10",
        assertThrows(
                IllegalArgumentException.class,
                () -> plan("weighted-torus:4x2/9:2", Collective.ALL_REDUCE, 8))
            .getMessage());
    for (String text : List.of("hierarchical:4x3", "weighted-torus:4x3", "torus:4x3")) {
      String message =
          assertThrows(IllegalArgumentException.class, () -> plan(text, Collective.ALL_REDUCE, 8))
              .getMessage();
      assertTrue(message.startsWith(text + " has 12 places, the group has 8 ranks"), message);
    }
    for (String text :
        List.of(
            "hierarchical:4x2 wrap=xy",
            "hierarchical:4x2/1:1",
            "weighted-torus:4x2/1",
            "torus:4x2 x")) {
      assertThrows(IllegalArgumentException.class, () -> ALGORITHMS.parse(text), text);
    }
    Mesh mesh = new Mesh(4, 2, false, true);
    assertThrows(
        IllegalArgumentException.class,
        () -> HierarchicalPlan.of(mesh, PlanRequest.of(Collective.ALL_REDUCE, 9)));
  }
}
