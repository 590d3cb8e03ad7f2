package io.collectives.ps;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.UnavailableException;
import io.collectives.plan.DirectPlans;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanFigures;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.PlanVerifier;
import io.collectives.plan.Transfer;
import io.collectives.spi.Algorithms;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("once")
class ParameterServerPlanProviderTest {
  private static final Algorithms ALGORITHMS = Algorithms.of(new ParameterServerPlanProvider());

  private static Plan plan(Collective collective, int ranks, int servers) {
    return ALGORITHMS.plan(Algorithm.parameterServer(servers), collective, ranks);
  }

  @Test
  void everyPlanIsRightAndCostsWhatItSays() {
    for (int n = 1; n <= 64; n++) {
      for (int s = 1; s <= n; s++) {
        PlanFigures figures = PlanVerifier.verify(plan(Collective.ALL_REDUCE, n, s), 1, 0);
        long server = s - 1 + n - 1;
        assertEquals(n == 1 ? 0 : 2, figures.rounds());
        assertEquals(s, figures.chunks());
        assertEquals(n == 1 ? 0 : server, figures.load().mostSent(), "in Sths of M");
        assertEquals(n == 1 ? 0 : server, figures.load().mostReceived());
        assertEquals(s == n ? server : s, figures.load().leastSent(), "a worker sends M");
        assertEquals(n - 1, figures.links().mostPeers());
      }
    }
  }

  /** A dedicated server sends and receives W Sths of M; a worker that does not serve M. */
  @Test
  void everyPlanWithDedicatedServersIsRightAndCostsWhatItSays() {
    for (int n = 2; n <= 24; n++) {
      for (int dedicated = 1; dedicated < n; dedicated++) {
        int workers = n - dedicated;
        for (int shared = 0; shared <= workers; shared++) {
          int servers = shared + dedicated;
          Algorithm algorithm = Algorithm.parameterServer(servers, dedicated);
          Plan plan = ALGORITHMS.plan(algorithm, Collective.ALL_REDUCE, n);
          String what = algorithm.name() + " of " + n;
          PlanFigures figures = PlanVerifier.verify(plan, 1, 0);
          assertEquals(workers, plan.contributors(), what);
          assertEquals(2, figures.rounds(), what);
          assertEquals(servers, figures.chunks(), what);
          int both = shared > 0 ? servers - 1 + workers - 1 : 0;
          int most = Math.max(both, Math.max(workers, shared < workers ? servers : 0));
          assertEquals(most, figures.load().mostSent(), what + ", in Sths of M");
          assertEquals(most, figures.load().mostReceived(), what);
        }
      }
    }
  }

  /** Which is why bits do not depend on it. */
  @Test
  void dedicatedServersAddInTheOrderOfServersAmongTheWorkers() {
    for (int workers = 1; workers <= 6; workers++) {
      for (int servers = 1; servers <= workers; servers++) {
        Plan apart =
            ALGORITHMS.plan(
                Algorithm.parameterServer(servers, servers),
                Collective.ALL_REDUCE,
                workers + servers);
        Plan among = plan(Collective.ALL_REDUCE, workers, servers);
        for (int chunk = 0; chunk < servers; chunk++) {
          List<Integer> added = new ArrayList<>(List.of(chunk));
          added.addAll(addedTo(among, chunk));
          assertEquals(added, addedTo(apart, chunk), servers + " of " + workers);
        }
      }
    }
  }

  private static List<Integer> addedTo(Plan plan, int chunk) {
    if (plan.rounds(0) == 0) {
      return List.of();
    }
    return plan.transfers(0, 0).stream()
        .filter(transfer -> transfer.firstChunk() == chunk)
        .map(Transfer::from)
        .toList();
  }

  @Test
  void namesSayWhoServes() {
    assertEquals("parameter-server:3", Algorithm.parameterServer(3).name());
    assertEquals("parameter-server:0+3", Algorithm.parameterServer(3, 3).name());
    assertEquals("parameter-server:2+1", Algorithm.parameterServer(3, 1).name());
    assertThrows(IllegalArgumentException.class, () -> Algorithm.parameterServer(3, 4));
    assertThrows(IllegalArgumentException.class, () -> Algorithm.parameterServer(3, -1));
    assertTrue(Algorithm.parameterServer(3, 3).fits(4));
    assertFalse(Algorithm.parameterServer(3, 3).fits(3));
  }

  @Test
  void dedicatedServersWithoutWorkersAreRefused() {
    Algorithm algorithm = Algorithm.parameterServer(3, 3);
    assertEquals(
        "parameter server with 3 dedicated servers in a group of 3 ranks: at least 1 must be a"
            + " worker",
        assertThrows(
                IllegalArgumentException.class,
                () -> ALGORITHMS.plan(algorithm, Collective.ALL_REDUCE, 3))
            .getMessage());
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
          Plan plan = ALGORITHMS.plan(Algorithm.parameterServer(1), request);
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
          "parameter server with 5 servers in a group of 3 ranks: the servers are ranks of the"
              + " group, so 1 to 3 can serve",
          assertThrows(IllegalArgumentException.class, () -> plan(collective, 3, 5)).getMessage());
    }
  }

  @Test
  void otherAlgorithmsAreNotItsOwn() {
    for (Algorithm other : List.of(Algorithm.ring(), Algorithm.named("mine"))) {
      String message =
          assertThrows(
                  UnavailableException.class,
                  () -> ALGORITHMS.plan(other, Collective.ALL_REDUCE, 4))
              .getMessage();
      assertTrue(message.contains("there are parameter-server["), message);
    }
  }

  @Test
  void isFoundOnTheClassPath() {
    assertEquals(ALGORITHMS.forms(), Algorithms.onClassPath().forms());
  }
}
