package io.collectives.bench.simulate;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.Mesh;
import io.collectives.bench.perf.KnownAlgorithms;
import io.collectives.spi.AlgorithmSpec;
import java.util.OptionalDouble;
import org.jspecify.annotations.Nullable;

/**
 * The time of a plan by a formula, where there is one: on links that are alike within each
 * dimension, each used by one transfer at a time.
 *
 * <p>With M bytes, n ranks, α seconds a hop, β a byte on a link and γ a byte added; where a rank
 * has one transfer each way at a time, a NIC that is slower than its links counts as their β. An
 * all-reduce, and a reduce-scatter followed by an all-gather:
 *
 * <ul>
 *   <li>ring: 2(n-1) rounds of M/n bytes, the first half of which are added: 2(n-1)(α +
 *       M/n(β+γ/2)). Also along a {@link Circuit} of a mesh;
 *   <li>bidirectional ring: half of the payload in each direction at once: M/2n for M/n;
 *   <li>direct: two rounds of M/n bytes on every link at once; the owner of a chunk adds n-1 parts
 *       one after the other: 2(α + βM/n) + γ(n-1)M/n. Through NICs with ν a byte the n-1 parts
 *       follow each other: 2α + M/n(2max(β,ν) + (n-2)(ν + max(ν,γ)) + γ);
 *   <li>exchange: one round of M bytes; every rank adds n-1: α + M(β + γ(n-1)), through NICs α +
 *       M(max(β,ν) + γ + (n-2)max(ν,γ));
 *   <li>another algorithm: the {@linkplain io.collectives.spi.AlgorithmSpec.Cost cost} that stands
 *       with it in the list of algorithms;
 *   <li>dedicated servers, S for n workers in s slabs: 2(α+βM/Ss) + γnM/Ss + (s-1)max(βM/Ss,
 *       γnM/Ss). Through NICs that are no faster than links and no slower than adding, with S = n:
 *       2α + νM(s+1)/s + γM/Ss;
 *   <li>torus of X = Y places, 3 or more, that wraps both ways, with links that are alike: four
 *       lanes with L = M/4 each, two in either order, which never meet. Rings of Y with L/Y each,
 *       then rings of X with L/XY: 2(Y-1)(α + L/Y(β+γ/2)) + 2(X-1)(α + L/XY(β+γ/2)). In a single
 *       row or column two lanes of L = M/2;
 *   <li>torus, a reduce-scatter and an all-gather, any X and Y and links: the same with α and β of
 *       the dimension, and M/2 for L where it wraps and has 3 places or more, M where not. Where a
 *       lane may get something to add from both sides, which are lines, and rings of X both ways,
 *       there is a formula if adding takes no time;
 *   <li>rings of k = n ranks each that hop over m places, m of them beside each other: every link
 *       carries m transfers in each round, one latency apart: 2(k-1)m(α + βM/k) + (m-1)α, if adding
 *       is done by the time that a link comes round: γ at most (m-1)β.
 * </ul>
 *
 * <p>A reduce-scatter and an all-gather by themselves are its two halves. Chains of s slabs: the
 * broadcast of a ring (n-1)(α+βM/s) + (s-1)βM/s, its reduction (n-1)(α+(β+γ)M/s) +
 * (s-1)max(β,γ)M/s. Trees of halving and doubling: log2 n (α+βM), with γ for a reduction. A
 * scatter, gather or all-to-all goes straight: α + βM/n, or α + M/n((n-2)ν+max(β,ν)) through NICs.
 * A barrier takes α for each of its rounds, that of a binomial tree for each level of it, up and
 * down.
 *
 * <p>Two ranks have one link each way, which both halves of a bidirectional ring, or of a torus
 * with a dimension of two places, share; along a dimension that does not wrap several lanes share
 * links, too; and where X is not Y, or their links are unlike, the two orders of a torus meet.
 * There is no formula for these, nor for pods with other links, hosts of several ranks and racks.
 */
final class ClosedForm {
  private final Scenario scenario;
  private final Network network;
  private final Task task;
  private final int n;
  private final double bytes;
  private final int slabs;
  private final double add;
  private final double nic;

  private ClosedForm(Scenario scenario, Costs costs) {
    this.scenario = scenario;
    this.network = scenario.network();
    this.task = scenario.work().task();
    this.n = scenario.members();
    this.bytes = costs.bytes();
    this.slabs = costs.slabs();
    this.add = costs.addNanosPerByte();
    this.nic = network.hosts().nicNanosPerByte();
  }

  /** The time in nanoseconds, if there is a formula for it. */
  static OptionalDouble nanos(Scenario scenario, Costs costs) {
    double nanos = new ClosedForm(scenario, costs).nanos();
    return Double.isNaN(nanos) ? OptionalDouble.empty() : OptionalDouble.of(nanos);
  }

  /** Not a number if there is none. */
  private double nanos() {
    boolean sharing = network.hosts().ranksPerHost() > 1 || network.hosts().racks();
    if (network.hasSingleLinks() || sharing || scenario.atomic()) {
      return Double.NaN;
    }
    if (n == 1 && scenario.servers() == 0) {
      return 0;
    }
    boolean unlikePods =
        network.hasSeveralPods()
            && !(network.wire(LinkClass.PODS).equals(network.wire(LinkClass.X))
                && network.wire(LinkClass.PODS).equals(network.wire(LinkClass.Y)));
    Algorithm algorithm = scenario.algorithm().orElse(null);
    if (algorithm instanceof Algorithm.Torus torus && network.mesh().isPresent()) {
      return slabs > 1 || nic > 0 || unlikePods ? Double.NaN : torus(torus.mesh());
    }
    Wire wire = network.alike().orElse(null);
    if (wire == null) {
      return Double.NaN;
    }
    if (algorithm == null) {
      return dedicated(wire);
    }
    if (scenario.work().ways() > 1) {
      return strided(algorithm, wire);
    }
    if (network.mesh().isEmpty() || neighbours(network.mesh().get())) {
      double nanos = ring(algorithm, wire);
      if (!Double.isNaN(nanos)) {
        return nanos;
      }
    }
    if (slabs > 1) {
      return Double.NaN;
    }
    return network.mesh().isEmpty() ? pairs(algorithm, wire) : onItsMesh(algorithm, wire);
  }

  /** By the cost of an algorithm on the mesh that it is planned for, where links are alike. */
  private double onItsMesh(Algorithm algorithm, Wire wire) {
    boolean own = new PlanChoice(algorithm.name()).mesh(Size.of(n)).equals(network.mesh());
    return own && nic == 0 && task.is(Collective.ALL_REDUCE)
        ? KnownAlgorithms.onClassPath()
            .spec(algorithm)
            .cost(algorithm, n)
            .map(cost -> nanos(cost, wire.alphaNanos(), wire.nanosPerByte()))
            .orElse(Double.NaN)
        : Double.NaN;
  }

  private double nanos(AlgorithmSpec.Cost cost, double alpha, double pace) {
    return cost.hops() * alpha + bytes * (cost.moved() * pace + cost.added() * add);
  }

  /** Returns whether each rank's next is its neighbour. */
  private boolean neighbours(Mesh mesh) {
    boolean wraps = mesh.y() == 1 ? mesh.wrapX() : mesh.wrapY();
    return scenario.circuit() || (mesh.x() == 1 || mesh.y() == 1) && (wraps || n == 2);
  }

  private double ring(Algorithm algorithm, Wire wire) {
    boolean both = algorithm.equals(Algorithm.bidirectionalRing());
    if (!(both ? n > 2 && nic == 0 : algorithm.equals(Algorithm.ring()))) {
      return Double.NaN;
    }
    double payload = both ? bytes / 2 : bytes;
    double pace = Math.max(wire.nanosPerByte(), nic);
    if (task.is(Collective.BROADCAST) || task.is(Collective.REDUCE)) {
      double slab = payload / slabs;
      double adding = task.is(Collective.REDUCE) ? slab * add : 0;
      return (n - 1) * (wire.alphaNanos() + slab * pace + adding)
          + (slabs - 1) * Math.max(slab * pace, adding);
    }
    return slabs > 1
        ? Double.NaN
        : halves(
            (n - 1) * (wire.alphaNanos() + payload / n * (pace + add)),
            (n - 1) * (wire.alphaNanos() + payload / n * pace));
  }

  /** The half that the task is, or both. */
  private double halves(double reduceScatter, double allGather) {
    if (task.sums()) {
      return reduceScatter + allGather;
    }
    return task.is(Collective.REDUCE_SCATTER)
        ? reduceScatter
        : task.is(Collective.ALL_GATHER) ? allGather : Double.NaN;
  }

  private double pairs(Algorithm algorithm, Wire wire) {
    double alpha = wire.alphaNanos();
    double beta = wire.nanosPerByte();
    double pace = Math.max(beta, nic);
    double share = bytes / n;
    if (task.is(Collective.BARRIER)) {
      if (algorithm.equals(Algorithm.binomialTree())) {
        int deepest = Integer.numberOfTrailingZeros(Integer.highestOneBit(n));
        return 2 * deepest * alpha;
      }
      int rounds = algorithm.equals(Algorithm.exchange()) ? Math.min(1, log(n)) : log(n);
      return algorithm instanceof Algorithm.Torus ? Double.NaN : rounds * alpha;
    }
    if (task.is(Collective.ALL_TO_ALL)) {
      return alpha + share / n * ((n - 2) * nic + pace);
    }
    if (task.is(Collective.SCATTER) || task.is(Collective.GATHER)) {
      return alpha + share * ((n - 2) * nic + pace);
    }
    AlgorithmSpec.@Nullable Cost cost =
        task.is(Collective.ALL_REDUCE)
            ? KnownAlgorithms.onClassPath().spec(algorithm).cost(algorithm, n).orElse(null)
            : null;
    if (cost != null && (nic == 0 || cost.oneAtATime())) {
      return nanos(cost, alpha, pace);
    }
    boolean exchange = algorithm.equals(Algorithm.exchange());
    if (exchange && task.is(Collective.ALL_REDUCE)) {
      return alpha + bytes * (pace + add + (n - 2) * Math.max(nic, add));
    }
    boolean serves = algorithm instanceof Algorithm.ParameterServer;
    boolean direct = algorithm.equals(Algorithm.direct());
    if (direct || (exchange || serves) && !task.is(Collective.ALL_REDUCE)) {
      double deal = alpha + share * (pace + add + (n - 2) * Math.max(nic, add));
      double tell = alpha + share * (pace + (n - 2) * nic);
      boolean rooted = task.is(Collective.BROADCAST) || task.is(Collective.REDUCE);
      if (rooted) {
        return nic > 0 || n == 2 ? Double.NaN : task.is(Collective.REDUCE) ? deal + tell : 2 * tell;
      }
      return halves(deal, tell);
    }
    boolean trees = algorithm.equals(Algorithm.doubleBinaryTree());
    boolean halving =
        trees
            || algorithm.equals(Algorithm.halvingDoubling())
            || algorithm.equals(Algorithm.recursiveDoubling())
            || algorithm.equals(Algorithm.binomialTree());
    if (!halving || task.is(Collective.ALL_REDUCE) || Integer.bitCount(n) != 1) {
      return Double.NaN;
    }
    if (task.is(Collective.BROADCAST) || task.is(Collective.REDUCE)) {
      double adding = task.is(Collective.REDUCE) ? add : 0;
      return trees || nic > 0 ? Double.NaN : log(n) * (alpha + bytes * (beta + adding));
    }
    return halves(
        log(n) * alpha + (pace + add) * share * (n - 1), log(n) * alpha + pace * share * (n - 1));
  }

  /** The logarithm to the base of 2, rounded up. */
  private static int log(int number) {
    return Integer.SIZE - Integer.numberOfLeadingZeros(number - 1);
  }

  private double dedicated(Wire wire) {
    int servers = scenario.servers();
    double piece = bytes / servers / slabs;
    double adding = piece * add;
    if (nic == 0) {
      double moving = piece * wire.nanosPerByte();
      return 2 * (wire.alphaNanos() + moving)
          + n * adding
          + (slabs - 1) * Math.max(moving, n * adding);
    }
    return servers != n || wire.nanosPerByte() > nic || add > nic
        ? Double.NaN
        : 2 * wire.alphaNanos() + n * piece * nic * (slabs + 1) + adding;
  }

  private double strided(Algorithm algorithm, Wire wire) {
    int ways = scenario.work().ways();
    boolean row = network.mesh().map(m -> m.y() == 1 && m.wrapX()).orElse(false);
    if (!row
        || !(algorithm.equals(Algorithm.ring()))
        || slabs > 1
        || nic > 0
        || add > (ways - 1) * wire.nanosPerByte()) {
      return Double.NaN;
    }
    double round = ways * (wire.alphaNanos() + bytes / n * wire.nanosPerByte());
    double last = (ways - 1) * wire.alphaNanos();
    return task.sums()
        ? 2 * (n - 1) * round + last
        : halves((n - 1) * round + last + bytes / n * add, (n - 1) * round + last);
  }

  private double torus(Mesh torus) {
    if (!network.mesh().map(torus::equals).orElse(false)) {
      return Double.NaN;
    }
    Line x = new Line(torus.x(), torus.wrapX(), network.wire(LinkClass.X), add);
    Line y = new Line(torus.y(), torus.wrapY(), network.wire(LinkClass.Y), add);
    if (task.is(Collective.BARRIER)) {
      return x.flood() + y.flood();
    }
    if (task.is(Collective.ALL_REDUCE)) {
      int lanes = scenario.plan().lanes();
      // Two lanes go in opposite directions; more of them meet unless both dimensions take as long.
      boolean apart = lanes == 2 || x.places == y.places && x.wire.equals(y.wire);
      double lane = bytes / lanes;
      return apart && x.parts() && y.parts()
          ? y.allReduce(lane / y.places) + x.allReduce(lane / n)
          : Double.NaN;
    }
    Line first = y.places == 1 ? x : y;
    Line second = y.places == 1 ? y : x;
    boolean bothSides = second.closed() || first.isLine() || second.isLine();
    if (bothSides && add > 0 && !task.is(Collective.ALL_GATHER)) {
      return Double.NaN;
    }
    double alongFirst = bytes / first.ways() / first.places;
    double alongSecond = bytes / second.ways() / n;
    return task.sums()
        ? first.allReduce(alongFirst) + second.allReduce(alongSecond)
        : halves(
            first.half(alongFirst, add) + second.half(alongSecond, add),
            first.half(alongFirst, 0) + second.half(alongSecond, 0));
  }

  /**
   * The rings of a dimension.
   *
   * @param places how many there are in each
   * @param wraps whether its links close a ring; if not, data move from both ends
   * @param wire of its links
   * @param add for a byte
   */
  private record Line(int places, boolean wraps, Wire wire, double add) {
    boolean closed() {
      return places > 2 && wraps;
    }

    boolean isLine() {
      return places > 2 && !wraps;
    }

    /** Returns whether two lanes of opposite directions share no link of it. */
    boolean parts() {
      return places == 1 || closed();
    }

    /** Into how many directions a payload that is dealt to ranks is divided. */
    int ways() {
      return closed() ? 2 : 1;
    }

    double allReduce(double share) {
      return 2 * (places - 1) * (wire.alphaNanos() + share * (wire.nanosPerByte() + add / 2));
    }

    double half(double share, double adding) {
      return (places - 1) * (wire.alphaNanos() + share * (wire.nanosPerByte() + adding));
    }

    double flood() {
      return (wraps ? places / 2 : places - 1) * wire.alphaNanos();
    }
  }
}
