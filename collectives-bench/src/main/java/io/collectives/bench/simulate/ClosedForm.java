package io.collectives.bench.simulate;

import io.collectives.Algorithm;
import io.collectives.Mesh;
import java.util.OptionalDouble;

/**
 * What a plan takes by a formula, where there is one: of one slab, on links that are alike within
 * each class, each used by one transfer at a time.
 *
 * <p>With M bytes, n ranks, α seconds a hop, β a byte on a link and γ a byte added:
 *
 * <ul>
 *   <li>ring: 2(n-1) rounds of M/n bytes, the first half of which are added: 2(n-1)(α +
 *       M/n(β+γ/2));
 *   <li>bidirectional ring: half of the payload in each direction at once: M/2n for M/n;
 *   <li>direct: two rounds of M/n bytes on every link at once; the owner of a chunk adds n-1 parts
 *       one after the other: 2(α + βM/n) + γ(n-1)M/n;
 *   <li>parameter server of S: the same with S for n in M/n: 2(α + βM/S) + γ(n-1)M/S;
 *   <li>halving and doubling of 2^k ranks: M/2, M/4, … bytes in k rounds, and back: 2kα +
 *       (2β+γ)M(n-1)/n;
 *   <li>torus: the later of two halves. Columns first: rings of Y with M/2Y each, then rings of X
 *       with M/2XY: 2(Y-1)(α + M/2Y(β+γ/2)) + 2(X-1)(α + M/2XY(β+γ/2)), with α and β of the
 *       dimension; rows first the other way round.
 * </ul>
 *
 * <p>Two ranks have one link each way, which both halves of a bidirectional ring, or of a torus
 * with a dimension of two places, share; along a dimension that does not wrap links are shared,
 * too. There is no formula for these.
 */
public final class ClosedForm {
  private ClosedForm() {}

  /** The time in nanoseconds, if there is a formula for it. */
  public static OptionalDouble nanos(Algorithm algorithm, Network network, Costs costs) {
    int n = network.ranks();
    if (n == 1) {
      return OptionalDouble.of(0);
    }
    if (costs.slabs() != 1 || costs.hostNanosPerByte() != 0 || network.hasSingleLinks()) {
      return OptionalDouble.empty();
    }
    double bytes = costs.bytes();
    double add = costs.addNanosPerByte();
    if (algorithm instanceof Algorithm.Torus torus) {
      return torus(torus.mesh(), network, costs);
    }
    Mesh line = network.mesh().orElse(Mesh.torus(n, 1));
    boolean ring =
        line.y() == 1 && (line.wrapX() || line.x() == 2)
            || line.x() == 1 && (line.wrapY() || line.y() == 2);
    Wire wire =
        network.wire(
            network.mesh().isEmpty() ? LinkClass.OTHER : line.y() == 1 ? LinkClass.X : LinkClass.Y);
    if (algorithm instanceof Algorithm.Ring && ring) {
      return OptionalDouble.of(ringNanos(n, bytes / n, wire, add));
    }
    if (algorithm instanceof Algorithm.BidirectionalRing && ring && n > 2) {
      return OptionalDouble.of(ringNanos(n, bytes / n / 2, wire, add));
    }
    if (network.mesh().isPresent()) {
      return OptionalDouble.empty();
    }
    if (algorithm instanceof Algorithm.Direct) {
      return OptionalDouble.of(served(n, n, bytes, wire, add));
    }
    if (algorithm instanceof Algorithm.HalvingDoubling && Integer.bitCount(n) == 1) {
      return OptionalDouble.of(
          2 * Integer.numberOfTrailingZeros(n) * wire.alphaNanos()
              + (2 * wire.nanosPerByte() + add) * bytes * (n - 1) / n);
    }
    if (algorithm instanceof Algorithm.ParameterServer servers) {
      return OptionalDouble.of(served(n, servers.servers(), bytes, wire, add));
    }
    return OptionalDouble.empty();
  }

  private static OptionalDouble torus(Mesh torus, Network network, Costs costs) {
    int x = torus.x();
    int y = torus.y();
    boolean wraps = (x == 1 || torus.wrapX()) && (y == 1 || torus.wrapY());
    if (x == 2 || y == 2 || !wraps || !network.mesh().map(torus::equals).orElse(false)) {
      return OptionalDouble.empty();
    }
    Wire wx = network.wire(LinkClass.X);
    Wire wy = network.wire(LinkClass.Y);
    double half = costs.bytes() / 2;
    double add = costs.addNanosPerByte();
    double columnsFirst = ringNanos(y, half / y, wy, add) + ringNanos(x, half / y / x, wx, add);
    double rowsFirst = ringNanos(x, half / x, wx, add) + ringNanos(y, half / x / y, wy, add);
    return OptionalDouble.of(Math.max(columnsFirst, rowsFirst));
  }

  private static double ringNanos(int places, double share, Wire wire, double add) {
    return 2 * (places - 1) * (wire.alphaNanos() + share * (wire.nanosPerByte() + add / 2));
  }

  private static double served(int ranks, int servers, double bytes, Wire wire, double add) {
    double share = bytes / servers;
    return 2 * (wire.alphaNanos() + share * wire.nanosPerByte()) + (ranks - 1) * share * add;
  }
}
