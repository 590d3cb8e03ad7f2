package io.collectives.torus;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.collectives.Collective;
import io.collectives.Mesh;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanFigures;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.PlanVerifier;
import io.collectives.plan.Rounds;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The figures of the papers' pods: 128 by 32 chips, 32 by 32, and the 102.4 MB of ResNet-50's
 * gradients.
 */
@Tag("once")
class PodScaleTest {
  private static final double MB = 102.4;

  private static PlanRequest allReduce(int ranks) {
    return PlanRequest.of(Collective.ALL_REDUCE, ranks);
  }

  private static Plan torus(Mesh mesh) {
    return TorusPlan.of(mesh, allReduce(mesh.ranks()));
  }

  /** 33,546,240 transfers. */
  @Test
  @Tag("long")
  void ringOf4096IsRight() {
    PlanFigures figures = PlanVerifier.verify(RingPlan.of(allReduce(4096)));
    assertEquals(8190, figures.rounds());
    assertEquals(4096L * 8190, figures.transfers());
    assertEquals(2 * MB * 4095 / 4096, figures.mostBytesSent(MB), 1e-9);
  }

  @Test
  void torusOf32By32SendsHalfOfTheRingsBytesInEachDimension() {
    PlanFigures figures = PlanVerifier.verify(torus(Mesh.torus(32, 32)), 1, 0);
    assertEquals(4 * 31, figures.rounds());
    assertEquals(204.6, figures.mostBytesSent(MB), 0.05);
    assertEquals(figures.load().mostSent(), figures.load().leastSent());

    SentByOne sent = SentByOne.byOneRank(torus(Mesh.torus(32, 32)), 32);
    assertEquals(102.3, sent.megabytesAlongX(), 0.05);
    assertEquals(sent.alongX, sent.alongY);
    assertEquals(figures.load().mostSent(), sent.alongX + sent.alongY);
  }

  /** In halves of the chunks of an order, which are (2XY)ths of M. */
  @Test
  void everyTorusSendsInEachDimensionWhatItSays() {
    for (int x = 1; x <= 16; x++) {
      for (int y = 1; y <= 16; y++) {
        Plan plan = torus(Mesh.torus(x, y));
        int perChunk = plan.chunks() / (2 * x * y);
        SentByOne sent = SentByOne.byOneRank(plan, x);
        assertEquals(perChunk * (2L * x * (y - 1) + 2L * (y - 1)), sent.alongY);
        assertEquals(perChunk * (2L * y * (x - 1) + 2L * (x - 1)), sent.alongX);
      }
    }
  }

  @Test
  void torusOf128By32Takes316Steps() {
    Plan plan = torus(Mesh.torus(128, 32));
    assertEquals(4, plan.lanes());
    for (int lane = 0; lane < 4; lane++) {
      assertEquals(316, plan.rounds(lane));
    }
    SentByOne sent = SentByOne.byOneRank(plan, 128);
    assertEquals(MB * 31 / 32 + MB / 128 * 31 / 32, sent.megabytesAlongY(), 1e-9);
    assertEquals(MB * 127 / 128 + MB / 32 * 127 / 128, sent.megabytesAlongX(), 1e-9);
  }

  /** The pod as it is: 128 places in a line, 32 in a ring. */
  @Test
  @Tag("long")
  void torusOf128By32ThatWrapsInOneDimensionCostsTheSame() {
    Mesh pod = new Mesh(128, 32, false, true);
    PlanFigures figures = PlanVerifier.verify(torus(pod), pod, 1, 0);
    assertEquals(4 * 4096, figures.chunks());
    assertEquals(316, figures.rounds());
    double half = MB / 2;
    double alongY = half * (1 + 1 / 128.0) * 2 * 31 / 32;
    // A place between others sends two shares more than one of a ring, and one at an end 126 less.
    assertEquals(
        alongY + half * (1 + 1 / 32.0) * (127 + 129) / 128, figures.mostBytesSent(MB), 1e-9);
    assertEquals(
        alongY + half * (1 + 1 / 32.0) * (127 + 1) / 128,
        MB * figures.load().leastSent() / figures.chunks(),
        1e-9);
    assertEquals(4, figures.links().mostPeers());
  }

  /** Kumar et al. 2021, section 3.3: the payload along X is 32 times smaller. */
  @Test
  void hierarchyOf128By32Sends198MegabytesAlongYAndSixAlongX() {
    Mesh mesh = Mesh.torus(128, 32);
    Hierarchy columnsFirst =
        new Hierarchy(
            new Dimension(32, true), new Dimension(128, true), (r, c) -> mesh.rankAt(c, r), 0, 1);
    Rounds rounds = columnsFirst.allReduce(columnsFirst.whole(1));
    Plan plan = Plan.of(Collective.ALL_REDUCE, 4096, 4096, rounds);
    assertEquals(316, plan.rounds(0));
    SentByOne sent = SentByOne.byOneRank(plan, 128);
    assertEquals(198.4, sent.megabytesAlongY(), 0.05);
    assertEquals(6.35, sent.megabytesAlongX(), 0.005);
    assertEquals(31.24, (double) sent.alongY / sent.alongX, 0.005);
  }

  /** The two halves of it are those of Kumar et al., and rank i has part i between them. */
  @Test
  @Tag("long")
  void aReduceScatterAndAnAllGatherOf128By32SendHalfOfThatEach() {
    Mesh pod = new Mesh(128, 32, false, true);
    for (Collective half : List.of(Collective.REDUCE_SCATTER, Collective.ALL_GATHER)) {
      Plan plan = TorusPlan.of(pod, PlanRequest.of(half, 4096));
      PlanFigures figures = PlanVerifier.verify(plan, pod, 1, 0);
      assertEquals(158, figures.rounds());
      assertEquals(2 * 4096, figures.chunks());
      int more = half == Collective.ALL_GATHER ? 2 : 0;
      assertEquals(2 * (4095 + more), figures.load().mostSent(), "its own share goes both ways");
      assertEquals(2 * (4095 - 63 * more), figures.load().leastSent());
      SentByOne sent = SentByOne.onAverage(plan, 128);
      assertEquals(99.2, sent.megabytesAlongY(), 1e-9);
      assertEquals(3.175, sent.megabytesAlongX(), 1e-9);
      long[] up = Crossed.of(plan, pod).chunks(Crossed.Y_UP);
      assertEquals(49.6, MB * up[0] / plan.chunks(), 1e-9, "half of it each way");
      assertArrayEquals(up, Crossed.of(plan, pod).chunks(Crossed.Y_DOWN));
    }
  }

  /** The numbers of chunks that a rank sends in each dimension. */
  private record SentByOne(int chunks, long alongX, long alongY) {

    /** Returns those of rank 0, if it is like any other. */
    static SentByOne byOneRank(Plan plan, int x) {
      long[] sent = sent(plan, x, 0);
      return new SentByOne(plan.chunks(), sent[0], sent[1]);
    }

    static SentByOne onAverage(Plan plan, int x) {
      long[] sent = sent(plan, x, -1);
      assertEquals(0, sent[0] % plan.ranks() + sent[1] % plan.ranks());
      return new SentByOne(plan.chunks(), sent[0] / plan.ranks(), sent[1] / plan.ranks());
    }

    /** Counts what one rank sends, or all do. */
    private static long[] sent(Plan plan, int x, int rank) {
      long[] sent = new long[2];
      for (int lane = 0; lane < plan.lanes(); lane++) {
        for (int round = 0; round < plan.rounds(lane); round++) {
          plan.transfers(
              lane,
              round,
              (from, to, first, count, effect) -> {
                if (rank < 0 || from == rank) {
                  sent[to / x == from / x ? 0 : 1] += count;
                }
              });
        }
      }
      return sent;
    }

    double megabytesAlongX() {
      return MB * alongX / chunks;
    }

    double megabytesAlongY() {
      return MB * alongY / chunks;
    }
  }
}
