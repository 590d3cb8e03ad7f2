package io.collectives.bench.simulate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.collectives.Collective;
import io.collectives.Mesh;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class LinkLoadTest {
  private static final double BYTES = 1_048_576;

  private static Scenario of(String algorithm, String mesh, int ways, boolean circuit) {
    Mesh shape = Mesh.parse(mesh);
    Fabric links = new Fabric(new Wire(0, 1), List.of(), Optional.empty(), Hosts.NONE);
    return Scenario.of(
        new Scenario.Work(algorithm, Task.of(Collective.ALL_REDUCE), 0, ways, circuit),
        new Size(shape.ranks(), Optional.of(shape)),
        links);
  }

  @Test
  void loadsAreWhatTheSimulationMoves() {
    for (Scenario each :
        List.of(
            of("ring", "4x4", 1, true),
            of("ring", "3x1 wrap=none", 1, false),
            of("torus", "4x2 wrap=none", 1, false),
            of("hierarchical", "4x4 wrap=y", 2, false))) {
      Outcome outcome = each.run(each.costs(BYTES, 1, 0));
      List<LinkLoad> loads = each.loads(BYTES);
      for (LinkClass links : List.of(LinkClass.X, LinkClass.Y)) {
        Outcome.Traffic traffic = outcome.traffic().get(links);
        double bytes =
            loads.stream().filter(load -> load.links() == links).mapToDouble(LinkLoad::bytes).sum();
        assertEquals(traffic == null ? 0 : traffic.bytes(), bytes, 1, each.label() + " " + links);
      }
    }
  }

  /**
   * Kumar et al. 2021, section 3.3: the payload along X is Y times smaller than that along Y; a
   * place of a square sends as many times less.
   */
  @Test
  void theHierarchySendsLessAlongX() {
    List<LinkLoad> loads = of("hierarchical", "4x4 wrap=y", 1, false).loads(BYTES);
    double[] bytes = new double[2];
    loads.forEach(load -> bytes[load.links() == LinkClass.X ? 0 : 1] += load.bytes());
    assertEquals(4, bytes[1] / bytes[0], 1e-9);
  }

  @Test
  void groupsAreInTheOrderOfThePlan() {
    assertEquals(List.of(List.of(0, 1, 3, 2)), of("ring", "2x2", 1, true).groups());
    assertEquals(List.of(List.of(0, 1, 2, 3)), of("torus", "2x2", 1, true).groups());
    assertEquals(
        List.of(List.of(0, 2, 6, 4), List.of(1, 3, 7, 5)), of("ring", "4x2", 2, true).groups());
  }

  /** Frames of 100 bytes, and payloads of 8 chunks of which a transfer has one. */
  @Test
  void slabsAreThoseThatFitAFrame() {
    Scenario ring = of("ring", "8x1", 1, false);
    assertEquals(1, ring.slabs(800, 100));
    assertEquals(2, ring.slabs(808, 100));
    assertThrows(IllegalArgumentException.class, () -> of("ring", "3x3 wrap=none", 1, true));
  }
}
