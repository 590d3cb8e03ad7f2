package io.collectives.bench.simulate;

import io.collectives.Mesh;
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
    int[] path = new int[network.longestPath()];
    double all = 0;
    double slowest = Double.POSITIVE_INFINITY;
    for (int rank = 0; rank < mesh.ranks(); rank++) {
      int column = rank % mesh.x();
      int row = rank / mesh.x();
      double own = 0;
      for (int step = -1; step <= 1; step += 2) {
        int across = neighbour(column, step, mesh.x(), mesh.wrapX());
        int down = neighbour(row, step, mesh.y(), mesh.wrapY());
        own += across < 0 ? 0 : rate(network, rank, mesh.rankAt(across, row), path);
        own += down < 0 ? 0 : rate(network, rank, mesh.rankAt(column, down), path);
      }
      all += own;
      slowest = Math.min(slowest, own);
    }
    return Math.max(2 * bytes * (mesh.ranks() - 1) / all, bytes / slowest);
  }

  /** The place that a link leads to; of two places, which share one, only one step does. */
  private static int neighbour(int place, int step, int places, boolean wraps) {
    int next = place + step;
    return next >= 0 && next < places
        ? next
        : wraps && places > 2 ? Math.floorMod(next, places) : -1;
  }

  private static double rate(Network network, int from, int to, int[] path) {
    network.path(from, to, path);
    return 1 / network.wire(path[0]).nanosPerByte();
  }
}
