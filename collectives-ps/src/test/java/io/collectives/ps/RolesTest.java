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
  void seatsAreInTheOrderOfThePlan() {
    Roles roles = new Roles(List.of(Role.SERVER, Role.WORKER, Role.BOTH, Role.SERVER, Role.WORKER));
    assertArrayEquals(new int[] {2, 1, 4, 0, 3}, roles.seats());
    assertArrayEquals(new int[] {1, 2, 4}, roles.workerRanks());
    assertEquals(Algorithm.parameterServer(3, 2), roles.algorithm());
    assertEquals(3, roles.workers());
    assertEquals(3, roles.servers());
    assertEquals("3 workers, 1 of which serve, and 2 dedicated servers", roles.toString());
    assertEquals("2 workers and 1 dedicated server", Roles.dedicated(3, 1).toString());
    assertEquals("3 workers, 2 of which serve", Roles.shared(3, 2).toString());
    assertEquals(Algorithm.parameterServer(2), Roles.shared(3, 2).algorithm());
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
