package io.collectives.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Collective;
import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class DirectPlansTest {
  private static final Set<Collective> REDUCING =
      EnumSet.of(Collective.ALL_REDUCE, Collective.REDUCE_SCATTER, Collective.REDUCE);

  private static Plan plan(Collective collective, int ranks, int root) {
    return DirectPlans.of(new PlanRequest(collective, ranks, root));
  }

  @ParameterizedTest
  @EnumSource
  void everyPlanIsRightForEveryRoot(Collective collective) {
    for (int n : new int[] {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 64, 65, 70}) {
      int roots = collective.rooted() ? n : 1;
      for (int root = 0; root < roots; root += n < 20 ? 1 : n / 3) {
        Plan plan = plan(collective, n, root);
        assertEquals(root, plan.root());
        assertEquals(collective, plan.collective());
        PlanVerifier.verify(plan, 1, n);
      }
    }
  }

  /** In chunks, which are nths of M; in an all-to-all of the M of each rank. */
  @Test
  void stepsAndBytesAreThoseOfTheDocumentation() {
    for (int n = 2; n <= 16; n++) {
      for (int root = 0; root < n; root++) {
        for (Collective collective : Collective.values()) {
          if (collective == Collective.BARRIER || root > 0 && !collective.rooted()) {
            continue;
          }
          Plan plan = plan(collective, n, root);
          PlanFigures figures = PlanVerifier.verify(plan, 1, 0);
          int rounds =
              switch (collective) {
                case ALL_REDUCE, BROADCAST, REDUCE -> 2;
                case ALL_TO_ALL -> n - 1;
                default -> 1;
              };
          assertEquals(rounds, figures.rounds(), plan::toString);
          assertEquals(collective == Collective.ALL_TO_ALL ? n * n : n, figures.chunks());
          for (int rank = 0; rank < n; rank++) {
            boolean isRoot = rank == root;
            long sent =
                switch (collective) {
                  case ALL_REDUCE -> 2L * (n - 1);
                  case REDUCE_SCATTER, ALL_GATHER, ALL_TO_ALL -> n - 1;
                  case BROADCAST -> isRoot ? 2L * (n - 1) : n - 2;
                  case REDUCE -> isRoot ? n - 1 : n;
                  case GATHER -> isRoot ? 0 : 1;
                  case SCATTER -> isRoot ? n - 1 : 0;
                  case BARRIER -> throw new AssertionError();
                };
            assertEquals(sent, sent(plan, rank), "rank " + rank + ", root " + root + ", " + plan);
          }
        }
      }
    }
  }

  /** So that an engine needs no memory for what only comes by. */
  @Test
  void aGatherAScatterAndAnAllToAllPassNothingOn() {
    for (Collective collective :
        EnumSet.of(Collective.GATHER, Collective.SCATTER, Collective.ALL_TO_ALL)) {
      for (int n = 1; n <= 9; n++) {
        int root = collective.rooted() ? n / 2 : 0;
        Plan plan = plan(collective, n, root);
        Ends ends = Ends.of(plan);
        for (int round = 0; round < plan.rounds(0); round++) {
          for (Transfer t : plan.transfers(0, round)) {
            assertTrue(ends.holds(t.from(), t.firstChunk()), t::toString);
            assertTrue(ends.needs(t.to(), t.firstChunk()), t::toString);
          }
        }
      }
    }
  }

  @Test
  void everyRankOfAnAllToAllSendsAndReceivesOnceInARound() {
    Plan plan = plan(Collective.ALL_TO_ALL, 5, 0);
    for (int round = 0; round < 4; round++) {
      for (Transfer t : plan.transfers(0, round)) {
        int distance = round + 1;
        assertEquals((t.from() + distance) % 5, t.to());
        assertEquals(5 * t.from() + t.to(), t.firstChunk());
      }
      assertEquals(5, plan.transfers(0, round).stream().map(Transfer::from).distinct().count());
    }
  }

  @Test
  void aPartIsReducedAtItsOwnRank() {
    for (Collective collective : REDUCING) {
      Plan plan = plan(collective, 7, 0);
      for (Transfer t : plan.transfers(0, 0)) {
        assertEquals(new Transfer(t.from(), t.to(), t.to(), 1, Effect.REDUCE), t);
      }
    }
  }

  private static long sent(Plan plan, int rank) {
    long[] sent = new long[1];
    for (int round = 0; round < plan.rounds(0); round++) {
      plan.transfers(
          0, round, (from, to, first, count, effect) -> sent[0] += from == rank ? count : 0);
    }
    return sent[0];
  }
}
