package io.collectives.bench.simulate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;

/** Worked out by hand, of 100 bytes at 2 ns a byte on a link. */
class LeastTimeTest {
  private static final Wire WIRE = new Wire(10, 2);

  private static OptionalDouble least(String algorithm, Size size, Hosts hosts) {
    Fabric fabric = new Fabric(WIRE, List.of(), Optional.empty(), hosts);
    return LeastTime.nanos(Scenario.of(Scenario.Work.of(algorithm), size, fabric), 100);
  }

  @Test
  void onAMeshAllLinksCanCarryAllTransfers() {
    // 2M(n-1) over 4 links of each of 16 ranks.
    assertEquals(
        2 * 100 * 15 * 2 / 64.0, least("torus", Size.of(4, 4), Hosts.NONE).getAsDouble(), 1e-9);
    // A line of 3: 4 links carry 2M(n-1) together, and an end has one for its M.
    Size line = Size.of(3, 1).wrapped(false, false);
    assertEquals(100 * 2, least("torus", line, Hosts.NONE).getAsDouble(), 1e-9);
    // Two places have one link each way, whether they wrap or not.
    assertEquals(100 * 2, least("torus", Size.of(2, 1), Hosts.NONE).getAsDouble(), 1e-9);
  }

  @Test
  void hostsSumUpWhatTheirRanksHave() {
    Hosts two = new Hosts(2, 6, 0, 1);
    // 4 hosts: 2M(H-1)/H; with as many servers M, which goes once each way.
    assertEquals(2 * 100 * 6 * 3 / 4.0, least("ring", Size.of(8), two).getAsDouble(), 1e-9);
    assertEquals(100 * 6, least("dedicated-servers", Size.of(8), two).getAsDouble(), 1e-9);
  }

  @Test
  void thereIsNoneWhereNothingLimits() {
    assertTrue(least("ring", Size.of(8), Hosts.NONE).isEmpty());
    assertTrue(least("ring", Size.of(2), new Hosts(2, 6, 0, 1)).isEmpty());
  }
}
