package io.collectives.ps;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.collectives.Algorithm;
import java.util.List;
import org.junit.jupiter.api.Test;

class RolesTest {

  /** Servers among the workers first, dedicated ones last, as the plan wants them. */
  @Test
  void rolesAreInTheOrderOfThePlan() {
    Roles roles = new Roles(List.of(Role.SERVER, Role.WORKER, Role.BOTH, Role.SERVER, Role.WORKER));
    assertArrayEquals(new int[] {2, 1, 4, 0, 3}, roles.order());
    assertArrayEquals(new int[] {1, 2, 4}, roles.workerRanks());
    assertEquals(Algorithm.parameterServer(3, 2), roles.algorithm());
    assertEquals(3, roles.workers());
    assertEquals(3, roles.servers());
    assertEquals("3 workers, 1 of which serve, and 2 dedicated servers", roles.toString());
    assertEquals("2 workers and 1 dedicated server", Roles.dedicated(3, 1).toString());
    assertEquals("3 workers, 2 of which serve", Roles.shared(3, 2).toString());
    assertEquals(Algorithm.parameterServer(2), Roles.shared(3, 2).algorithm());
  }

  /** Hosts are those of workers only; numbers are of the group, in the order of order. */
  @Test
  void ranksAreTogether() {
    Roles roles =
        Roles.dedicated(8, 2, 2).withHosts(List.of("a", "b", "a", "b", "a", "a", "b", "c"));
    assertEquals(List.of(0, 1, 0, 1, 4, 4, 6, 6), roles.together());
    assertEquals("4 workers on 2 hosts and 2 dedicated servers with 4 proxies", roles.toString());
    assertEquals(
        Algorithm.parameterServer(4, 4, List.of(0, 1, 0, 1, 2, 2, 3, 3)), roles.algorithm());
    assertEquals(2, roles.servers());
    assertEquals(2, roles.dedicated());
    assertEquals(2, roles.hosts());
    Roles mixed =
        new Roles(List.of(Role.SERVER, Role.WORKER, Role.BOTH, Role.SERVER, Role.WORKER))
            .withProxies(2)
            .withHosts(List.of("x", "y", "z", "x", "y"));
    assertEquals(List.of(0, 1, 2, 0, 1), mixed.together());
    assertEquals(Algorithm.parameterServer(3, 2, List.of(0, 1, 1, 2, 2)), mixed.algorithm());
    assertEquals(
        "3 workers on 2 hosts, 1 of which serve, and 1 dedicated server with 2 proxies",
        mixed.toString());
  }

  @Test
  void thoseWhoAreLeftStayTogether() {
    Roles roles = Roles.dedicated(8, 2, 2).withHosts(List.of("a", "a", "b", "b", "", "", "", ""));
    assertEquals(
        List.of(0, 0, 2, 2, 4, 4, 6), roles.of(new int[] {0, 1, 2, 3, 4, 5, 7}).together());
    assertEquals(
        List.of(0, 1, 1, 3, 3, 5, 5), roles.of(new int[] {1, 2, 3, 4, 5, 6, 7}).together());
    // One worker is left, too few for two proxies: they are servers of their own.
    Roles few = roles.of(new int[] {2, 4, 5, 6});
    assertEquals(List.of(0, 1, 2, 3), few.together());
    assertEquals(3, few.servers());
    assertEquals(Roles.shared(2, 2), roles.of(new int[] {1, 2}));
  }

  @Test
  void onlyEqualsAreTogether() {
    assertEquals(
        "3 proxies for each server, and 4 ranks that only serve: their number must be a multiple of"
            + " it, and not 0",
        assertThrows(IllegalArgumentException.class, () -> Roles.dedicated(8, 4).withProxies(3))
            .getMessage());
    assertThrows(IllegalArgumentException.class, () -> Roles.shared(3, 3).withProxies(1));
    assertEquals(
        "2 servers of 2 proxies in a job of 4 ranks: at least 1 of each is needed, and together at"
            + " most 3",
        assertThrows(IllegalArgumentException.class, () -> Roles.dedicated(4, 2, 2)).getMessage());
    assertThrows(
        IllegalArgumentException.class, () -> Roles.dedicated(4, 2).withHosts(List.of("a")));
    List<Role> two = List.of(Role.WORKER, Role.SERVER);
    for (List<Integer> wrong : List.of(List.of(0, 0), List.of(1, 1), List.of(0), List.of(0, 2))) {
      assertThrows(IllegalArgumentException.class, () -> new Roles(two, wrong), "" + wrong);
    }
  }

  @Test
  void somebodyMustWorkAndSomebodyServe() {
    assertEquals(
        "roles [WORKER, WORKER]: at least one rank must be a worker and at least one a server",
        assertThrows(
                IllegalArgumentException.class, () -> new Roles(List.of(Role.WORKER, Role.WORKER)))
            .getMessage());
    assertThrows(IllegalArgumentException.class, () -> new Roles(List.of(Role.SERVER)));
    assertEquals(
        "3 servers in a job of 3 ranks: must be from 1 to 2",
        assertThrows(IllegalArgumentException.class, () -> Roles.dedicated(3, 3)).getMessage());
    assertThrows(IllegalArgumentException.class, () -> Roles.shared(3, 4));
  }

  @Test
  void buffersAreAsLongAsModelAndServersSay() {
    long bert = 336_226_108L * 4;
    assertEquals(84_056_528, ParameterServers.bufferLength(bert, 2).bytes());
    assertEquals(
        "1/16 of the model's 1344904432 bytes, in equal parts for 2 servers",
        ParameterServers.bufferLength(bert, 2).reason());
    // A share fills a frame.
    assertEquals(64 * (128 << 10), ParameterServers.bufferLength(100_000_000, 64).bytes());
    assertEquals(
        "131072 for each of 64 servers, more than 1/16 of the model's 100000000 bytes, in equal"
            + " parts for 64 servers",
        ParameterServers.bufferLength(100_000_000, 64).reason());
    assertEquals((1 << 30) + 8, ParameterServers.bufferLength(1L << 40, 3).bytes());
    assertEquals(128 << 10, ParameterServers.bufferLength(0, 1).bytes());
  }
}
