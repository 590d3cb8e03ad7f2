package io.collectives.bench.simulate;

import io.collectives.Mesh;
import io.collectives.bench.network.MeshLinks;
import java.util.OptionalDouble;

/**
 * A time that no all-reduce can go below on a network, whatever its plan: what must cross, over
 * what can carry it. Latencies and additions take no time here.
 *
 * <p>Each of n contributors of M bytes must send M, as it is or as part of a sum, and receive M;
 * and all together need 2M(n-1) from one to another: n-1 of every element to be summed, and n-1 to
 * be told. On a mesh both have to pass the links; where hosts have NICs, those of hosts, which sum
 * up what their ranks have, have to pass NICs, those of servers among them.
 */
final class LeastTime {
  private LeastTime() {}

  /** Returns the time in nanoseconds, if the network limits it. */
  static OptionalDouble nanos(Scenario scenario, double bytes) {
    if (!scenario.work().task().sums() || scenario.members() < 2 || scenario.work().ways() > 1) {
      return OptionalDouble.empty();
    }
    Network network = scenario.network();
    if (network.mesh().isPresent()) {
      return OptionalDouble.of(onMesh(network, network.mesh().get(), bytes));
    }
    double nic = network.hosts().nicNanosPerByte();
    int hosts = network.hostCount();
    int servers = scenario.servers();
    int contributing = hosts - servers;
    if (nic == 0 || contributing < 2) {
      return OptionalDouble.empty();
    }
    return OptionalDouble.of(bytes * nic * Math.max(1, 2.0 * (contributing - 1) / hosts));
  }

  private static double onMesh(Network network, Mesh mesh, double bytes) {
    MeshLinks links = new MeshLinks(mesh);
    double all = 0;
    double slowest = Double.POSITIVE_INFINITY;
    for (int rank = 0; rank < mesh.ranks(); rank++) {
      double own = 0;
      for (int direction = 0; direction < MeshLinks.DIRECTIONS; direction++) {
        int link = direction * mesh.ranks() + rank;
        own += links.has(link) ? 1 / network.wire(link).nanosPerByte() : 0;
      }
      all += own;
      slowest = Math.min(slowest, own);
    }
    return Math.max(2 * bytes * (mesh.ranks() - 1) / all, bytes / slowest);
  }
}
