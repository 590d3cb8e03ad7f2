package io.collectives.ps;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.plan.DirectPlans;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanFigures;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.PlanVerifier;
import io.collectives.plan.Transfer;
import io.collectives.spi.PlanProvider;
import java.util.EnumSet;
import java.util.ServiceLoader;
import org.junit.jupiter.api.Test;

class ParameterServerPlanProviderTest {
  private static final PlanProvider PROVIDER = new ParameterServerPlanProvider();

  private static Plan plan(Collective collective, int ranks, int servers) {
    return PROVIDER.plan(Algorithm.parameterServer(servers), collective, ranks).orElseThrow();
  }

  @Test
  void everyPlanIsRightAndCostsWhatItSays() {
    for (int n = 1; n <= 64; n++) {
      for (int s = 1; s <= n; s++) {
        PlanFigures figures = PlanVerifier.verify(plan(Collective.ALL_REDUCE, n, s), 1, 0);
        long server = s - 1 + n - 1;
        assertEquals(n == 1 ? 0 : 2, figures.rounds());
        assertEquals(s, figures.chunks());
        assertEquals(n == 1 ? 0 : server, figures.mostChunksSent(), "in Sths of M");
        assertEquals(n == 1 ? 0 : server, figures.mostChunksReceived());
        assertEquals(s == n ? server : s, figures.leastChunksSent(), "a worker sends M");
        assertEquals(n - 1, figures.mostPeers());
      }
    }
  }

  @Test
  void everyBarrierIsRight() {
    for (int n = 1; n <= 70; n++) {
      PlanFigures figures = PlanVerifier.verify(plan(Collective.BARRIER, n, 1), 1, 0);
      assertEquals(Integer.SIZE - Integer.numberOfLeadingZeros(n - 1), figures.rounds());
    }
  }

  /** Servers are there to reduce for all: everything else goes directly. */
  @Test
  void everyOtherCollectiveIsDirectForEveryRoot() {
    for (Collective collective : EnumSet.complementOf(EnumSet.of(Collective.ALL_REDUCE))) {
      for (int n = 1; n <= 9; n++) {
        for (int root = 0; root < (collective.rooted() ? n : 1); root++) {
          PlanRequest request = new PlanRequest(collective, n, root);
          Plan plan = PROVIDER.plan(Algorithm.parameterServer(1), request).orElseThrow();
          assertEquals(root, plan.root());
          assertEquals(
              PlanVerifier.verify(DirectPlans.of(request), 1, 0), PlanVerifier.verify(plan, 1, 0));
        }
      }
    }
  }

  @Test
  void workersPushAndThenServersAnswer() {
    Plan plan = plan(Collective.ALL_REDUCE, 5, 2);
    for (Transfer push : plan.transfers(0, 0)) {
      assertEquals(new Transfer(push.from(), push.to(), push.to(), 1, Effect.REDUCE), push);
      assertTrue(push.to() < 2);
    }
    for (Transfer answer : plan.transfers(0, 1)) {
      assertEquals(
          new Transfer(answer.from(), answer.to(), answer.from(), 1, Effect.REPLACE), answer);
      assertTrue(answer.from() < 2);
    }
  }

  @Test
  void moreServersThanRanksAreRefused() {
    for (Collective collective : Collective.values()) {
      assertEquals(
          "parameter server with 5 servers in a group of 3 ranks: the servers are ranks of the group,"
              + " so 1 to 3 can serve",
          assertThrows(IllegalArgumentException.class, () -> plan(collective, 3, 5)).getMessage());
    }
  }

  @Test
  void otherAlgorithmsAreNotItsOwn() {
    assertTrue(PROVIDER.plan(Algorithm.ring(), Collective.ALL_REDUCE, 4).isEmpty());
    assertTrue(PROVIDER.plan(Algorithm.named("mine"), Collective.BARRIER, 4).isEmpty());
  }

  @Test
  void isFoundOnTheClassPath() {
    PlanProvider found = ServiceLoader.load(PlanProvider.class).findFirst().orElseThrow();
    assertInstanceOf(ParameterServerPlanProvider.class, found);
  }
}
