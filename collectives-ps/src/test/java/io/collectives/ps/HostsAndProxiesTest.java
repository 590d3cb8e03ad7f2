package io.collectives.ps;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.Algorithm.ParameterServer;
import io.collectives.Collective;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanFigures;
import io.collectives.plan.PlanVerifier;
import io.collectives.plan.Transfer;
import io.collectives.spi.Algorithms;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Plans of parameter servers whose workers share hosts, and whose servers have proxies. */
@Tag("once")
class HostsAndProxiesTest {
  private static final long SEED = Long.getLong("collectives.seed", 20_261_122L);

  private static Plan plan(int ranks, ParameterServer algorithm) {
    return Algorithms.of(new ParameterServerPlanProvider())
        .plan(algorithm, Collective.ALL_REDUCE, ranks);
  }

  /** Of S servers of P proxies for W workers on hosts of g. */
  private static Plan plan(int workers, int perHost, int servers, int proxies) {
    int dedicated = servers * proxies;
    List<Integer> hosts = ParameterServer.hosts(workers, perHost, dedicated, proxies);
    return plan(workers + dedicated, new ParameterServer(dedicated, dedicated, hosts));
  }

  /** By pairs of ranks; who speaks both ways is one. */
  private static boolean[][] links(Plan plan) {
    boolean[][] links = new boolean[plan.ranks()][plan.ranks()];
    for (int lane = 0; lane < plan.lanes(); lane++) {
      for (int round = 0; round < plan.rounds(lane); round++) {
        plan.transfers(
            lane,
            round,
            new Transfer.Sink() {
              @Override
              public void transfer(int from, int to, int first, int count, Effect effect) {
                links[from][to] = true;
                links[to][from] = true;
              }

              @Override
              public void relayed(int from, int by, int to, int first, int count, Effect effect) {
                transfer(from, by, first, count, effect);
                transfer(by, to, first, count, effect);
              }
            });
      }
    }
    return links;
  }

  private static int count(boolean[] links, int from, int to) {
    return (int) IntStream.range(from, to).filter(rank -> links[rank]).count();
  }

  @Test
  void everyPlanOfProxiesIsRightAndHasNoMoreConnectionsToWorkers() {
    for (int workers = 1; workers <= 16; workers++) {
      for (int servers = 1; servers <= 5; servers++) {
        for (int proxies = 1; proxies <= Math.min(workers, 6); proxies++) {
          Plan plan = plan(workers, 1, servers, proxies);
          PlanFigures figures = PlanVerifier.verify(plan, 1, SEED);
          String what = workers + " workers, " + servers + " servers of " + proxies;
          assertEquals(proxies == 1 ? 2 : 2 + proxies, figures.rounds(), what);
          assertEquals(servers * proxies, figures.chunks(), what);
          assertEquals(1, figures.lanes(), what);
          boolean[][] links = links(plan);
          for (int server = 0; server < servers; server++) {
            int all = 0;
            for (int proxy = 0; proxy < proxies; proxy++) {
              int rank = workers + server * proxies + proxy;
              int served = count(links[rank], 0, workers);
              all += served;
              assertTrue(
                  served == workers / proxies || served == (workers + proxies - 1) / proxies, what);
              assertEquals(proxies - 1, count(links[rank], workers, plan.ranks()), what);
            }
            assertEquals(workers, all, what);
          }
          assertEquals(servers, count(links[0], 0, plan.ranks()), what);
        }
      }
    }
  }

  @Test
  void oneProxyIsNone() {
    Plan one = plan(5, 1, 3, 1);
    Plan none = plan(8, new ParameterServer(3, 3));
    for (int round = 0; round < 2; round++) {
      assertEquals(none.transfers(0, round), one.transfers(0, round));
    }
    assertEquals(
        "parameter-server:0+3", new ParameterServer(3, 3, List.of(7, 6, 5, 4, 3, 2, 1, 0)).name());
  }

  /** A host of g workers sends its sum once, each of them a gth of it. */
  @Test
  void everyHierarchyIsRightAndCostsWhatItSays() {
    for (int perHost = 2; perHost <= 8; perHost++) {
      for (int hosts = 2; hosts <= 16 / perHost; hosts++) {
        int workers = hosts * perHost;
        int length = perHost;
        for (int servers = 1; servers <= 9; servers++) {
          for (int proxies = 1; proxies <= 4; proxies++) {
            String what =
                hosts + " hosts of " + perHost + ", " + servers + " servers of " + proxies;
            if (!fits(workers, perHost, servers, proxies)) {
              assertTrue(proxies > hosts, what);
              continue;
            }
            Plan plan = plan(workers, perHost, servers, proxies);
            PlanFigures figures = PlanVerifier.verify(plan, 1, SEED);
            int most = 4 + proxies;
            assertTrue(
                proxies == 1
                    ? figures.rounds() == 4
                    : 5 < figures.rounds() + 1 && figures.rounds() <= most,
                what);
            long payload = figures.chunks();
            long[] toServers = new long[plan.ranks()];
            long[] onHost = new long[plan.ranks()];
            each(
                plan,
                (from, to, count) -> {
                  if (from < workers && to < workers) {
                    assertEquals(from / length, to / length, what);
                    onHost[from] += count;
                  } else if (from < workers) {
                    toServers[from] += count;
                  } else if (to < workers) {
                    toServers[from] += count;
                  }
                });
            for (int rank = 0; rank < plan.ranks(); rank++) {
              if (rank < workers) {
                assertEquals(payload, toServers[rank] * perHost, what);
                assertEquals(2 * payload * (perHost - 1), onHost[rank] * perHost, what);
              }
            }
            for (int server = 0; server < servers; server++) {
              long sent = 0;
              for (int proxy = 0; proxy < proxies; proxy++) {
                sent += toServers[workers + server * proxies + proxy];
              }
              assertEquals(payload * hosts, sent * servers, what);
            }
          }
        }
      }
    }
  }

  private static boolean fits(int workers, int perHost, int servers, int proxies) {
    try {
      plan(workers, perHost, servers, proxies);
      return true;
    } catch (IllegalArgumentException e) {
      assertTrue(e.getMessage().contains("each proxy needs one; give the servers at most"));
      return false;
    }
  }

  private interface Sent {
    void chunks(int from, int to, int count);
  }

  private static void each(Plan plan, Sent sent) {
    for (int lane = 0; lane < plan.lanes(); lane++) {
      for (int round = 0; round < plan.rounds(lane); round++) {
        plan.transfers(
            lane, round, (from, to, first, count, effect) -> sent.chunks(from, to, count));
      }
    }
  }

  /** Hosts of different lengths, in any order; servers of different lengths, and among workers. */
  @Test
  void everyOtherShapeIsRight() {
    Random random = new Random(SEED);
    int refused = 0;
    for (int i = 0; i < 500; i++) {
      int workers = 1 + random.nextInt(16);
      int shared = random.nextInt(workers + 1);
      int dedicated = shared == 0 ? 1 + random.nextInt(8) : random.nextInt(8);
      List<Integer> hosts = new ArrayList<>();
      int kinds = 1 + random.nextInt(workers);
      for (int rank = 0; rank < workers; rank++) {
        hosts.add(random.nextInt(kinds));
      }
      int groups = 1 + random.nextInt(Math.max(1, dedicated));
      for (int rank = 0; rank < dedicated; rank++) {
        hosts.add(random.nextInt(groups));
      }
      ParameterServer algorithm = new ParameterServer(shared + dedicated, dedicated, hosts);
      Plan plan;
      try {
        plan = plan(workers + dedicated, algorithm);
      } catch (IllegalArgumentException e) {
        refused++;
        continue;
      }
      try {
        PlanVerifier.verify(plan);
      } catch (RuntimeException e) {
        throw new AssertionError("case " + i + ", seed " + SEED + ": " + algorithm, e);
      }
      boolean[][] links = links(plan);
      for (int rank = workers; rank < plan.ranks(); rank++) {
        assertTrue(count(links[rank], 0, workers) > 0, () -> algorithm + " has an idle proxy");
      }
    }
    assertTrue(refused < 250, refused + " refused");
  }

  /** Beyond 120 chunks a part, shares differ by little, and the plan is still right. */
  @Test
  void awkwardNumbersAreRightToo() {
    List<Integer> hosts = new ArrayList<>();
    for (int host : new int[] {7, 11, 13, 17}) {
      IntStream.range(0, host).forEach(rank -> hosts.add(host));
    }
    IntStream.range(0, 9).forEach(rank -> hosts.add(rank / 3));
    Plan plan = plan(57, new ParameterServer(9, 9, hosts));
    assertEquals(3 * 120, PlanVerifier.verify(plan, 1, SEED).chunks());
  }

  /** A worker that serves adds its part for its own host; others send their host's sum once. */
  @Test
  void serversAmongTheWorkersServeTheirOwnHostDirectly() {
    List<Integer> hosts = ParameterServer.hosts(6, 2, 0, 1);
    Plan plan = plan(6, new ParameterServer(6, 0, hosts));
    PlanFigures figures = PlanVerifier.verify(plan, 1, SEED);
    assertEquals(6, figures.chunks());
    assertEquals(6, figures.lanes());
    long[] between = new long[6];
    each(
        plan,
        (from, to, count) -> {
          if (from / 2 != to / 2) {
            between[from] += count;
          }
        });
    // Two parts to servers elsewhere, and its own back to two hosts: 2 (H-1)/H of half of M.
    for (long chunks : between) {
      assertEquals(4, chunks);
    }
  }

  @Test
  void aSingleHostHasNothingToReduceFirst() {
    Plan plan = plan(4, 4, 2, 1);
    assertEquals(2, plan.rounds(0));
    assertEquals(1, plan.lanes());
  }

  @Test
  void namesTellHostsApart() {
    ParameterServer one = new ParameterServer(2, 2, List.of(0, 0, 1, 1, 8, 9));
    assertEquals(List.of(0, 0, 1, 1, 2, 3), one.hosts());
    assertEquals(one, new ParameterServer(2, 2, List.of(5, 5, 3, 3, 5, 3)));
    ParameterServer other = new ParameterServer(2, 2, List.of(0, 1, 0, 1, 8, 9));
    assertTrue(one.name().startsWith("servers 0+2 on "), one.name());
    assertTrue(one.name().length() <= 24, one.name());
    assertFalse(one.name().equals(other.name()));
    assertTrue(one.fits(6));
    assertFalse(one.fits(7));
  }

  @Test
  void whatCannotBeIsRefused() {
    assertEquals(
        "parameter server with 2 proxies, and 1 worker that speak with server 0: each proxy needs"
            + " one; give the servers at most 1 proxies",
        assertThrows(IllegalArgumentException.class, () -> plan(1, 1, 1, 2)).getMessage());
    assertEquals(
        "parameter server on hosts of 6 ranks in a group of 7: the host of each rank of the group"
            + " is needed",
        assertThrows(
                IllegalArgumentException.class,
                () -> plan(7, new ParameterServer(2, 2, List.of(0, 0, 1, 1, 2, 3))))
            .getMessage());
    assertThrows(IllegalArgumentException.class, () -> ParameterServer.hosts(4, 2, 3, 2));
    assertThrows(IllegalArgumentException.class, () -> ParameterServer.hosts(4, 0, 2, 1));
    assertThrows(
        IllegalArgumentException.class, () -> Algorithm.parameterServer(2, 2, List.of(0, 0)));
  }
}
