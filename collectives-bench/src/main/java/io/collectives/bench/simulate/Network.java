package io.collectives.bench.simulate;

import io.collectives.Mesh;
import io.collectives.bench.network.MeshLinks;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Ranks and the directed links between them: a mesh, or a link for each pair of ranks; and what the
 * ranks of a host, and the hosts of a rack, {@linkplain Hosts share}.
 *
 * <p>On a mesh a rank has a link to each neighbour, and what goes further passes several of them,
 * as {@link MeshLinks} says. A mesh can be laid out in pods, all of one size; links from pod to
 * pod, also those of a wrap, are a class of their own.
 *
 * <p>Links have numbers: page times ranks plus the rank that sends. Pages are directions on a mesh,
 * and distances from the sender otherwise; so few are used by most plans.
 */
public final class Network {
  /** The most ranks on a mesh. */
  static final int MOST_RANKS = 65_536;

  private static final int MOST_PAIRED = 32_768;

  private final int ranks;
  private final Optional<Mesh> mesh;
  private final Optional<MeshLinks> meshLinks;
  private final Wire[] wires = new Wire[LinkClass.values().length];
  private final Map<Integer, Wire> single = new HashMap<>();
  private int podX;
  private int podY;
  private Hosts hosts = Hosts.NONE;
  private int firstAlone;

  private Network(int ranks, int most, Optional<Mesh> mesh, Wire wire) {
    if (ranks < 1 || ranks > most) {
      throw new IllegalArgumentException(
          ranks
              + (mesh.isPresent() ? " ranks on a mesh" : " ranks with a link for each pair")
              + ": from 1 to "
              + most
              + " can be simulated");
    }
    this.ranks = ranks;
    this.firstAlone = ranks;
    this.mesh = mesh;
    this.meshLinks = mesh.map(MeshLinks::new);
    LinkClass.between().forEach(each -> wires[each.ordinal()] = wire);
  }

  /** Every pair of ranks has a link of its own each way. */
  public static Network ofPairs(int ranks, Wire wire) {
    return new Network(ranks, MOST_PAIRED, Optional.empty(), wire);
  }

  /** A mesh with its wraps. */
  public static Network of(Mesh mesh, Wire wire) {
    return new Network(mesh.ranks(), MOST_RANKS, Optional.of(mesh), wire);
  }

  /**
   * Makes all links of a class different.
   *
   * @throws IllegalArgumentException if there are none of that class
   */
  public Network with(LinkClass links, Wire wire) {
    if (!has(links)) {
      throw new IllegalArgumentException(
          "there are no links of class " + links + " on the network " + this);
    }
    wires[links.ordinal()] = wire;
    return this;
  }

  boolean has(LinkClass links) {
    return switch (links) {
      case X, Y -> mesh.isPresent();
      case PODS -> podX > 0;
      case OTHER -> mesh.isEmpty();
      case HOST -> mesh.isEmpty() && hosts.ranksPerHost() > 1;
      case RACKS -> mesh.isEmpty() && hosts.racks();
      case NIC, UPLINK -> false;
    };
  }

  /**
   * Makes one directed link different.
   *
   * @throws IllegalArgumentException if there is no link between the two
   */
  public Network with(int from, int to, Wire wire) {
    int[] path = new int[longestPath()];
    if (from < 0
        || to < 0
        || from >= ranks
        || to >= ranks
        || from == to
        || path(from, to, path) != 1) {
      throw new IllegalArgumentException(
          "there is no link from rank " + from + " to rank " + to + " on the network " + this);
    }
    single.put(path[0], wire);
    return this;
  }

  /**
   * Lays the mesh out in pods of {@code x} by {@code y} places. A mesh that is smaller than a pod
   * in a dimension is a slice of pods there.
   *
   * @throws IllegalArgumentException if pods do not fill it, or there is no mesh
   */
  public Network withPods(int x, int y) {
    Mesh m =
        mesh.orElseThrow(
            () -> new IllegalArgumentException("pods of " + x + "x" + y + " without a mesh"));
    if (x < 1 || y < 1 || m.x() > x && m.x() % x != 0 || m.y() > y && m.y() % y != 0) {
      throw new IllegalArgumentException(
          "pods of "
              + x
              + "x"
              + y
              + " do not fill the mesh "
              + m
              + ": each dimension must be a multiple of the pod's, or smaller");
    }
    podX = x;
    podY = y;
    return this;
  }

  /**
   * Puts the ranks on hosts.
   *
   * @param firstAlone from this rank on each has a host of its own; those before fill theirs
   * @throws IllegalArgumentException if several ranks of a mesh are to share one
   */
  public Network withHosts(Hosts shared, int firstAlone) {
    if (mesh.isPresent() && (shared.ranksPerHost() > 1 || shared.racks())) {
      throw new IllegalArgumentException(
          shared + " on the mesh " + this + ": ranks of a mesh have links of their own");
    }
    this.hosts = shared;
    this.firstAlone = firstAlone;
    return this;
  }

  int ranks() {
    return ranks;
  }

  Optional<Mesh> mesh() {
    return mesh;
  }

  Hosts hosts() {
    return hosts;
  }

  int host(int rank) {
    return rank < firstAlone
        ? rank / hosts.ranksPerHost()
        : hostsOf(firstAlone) + rank - firstAlone;
  }

  /** Returns how many hosts there are. */
  int hostCount() {
    return hostsOf(firstAlone) + ranks - firstAlone;
  }

  private int hostsOf(int sharing) {
    return (sharing + hosts.ranksPerHost() - 1) / hosts.ranksPerHost();
  }

  int rackCount() {
    return hosts.racks() ? (hostCount() + hosts.hostsPerRack() - 1) / hosts.hostsPerRack() : 1;
  }

  /** Which of {@link #rackCount} racks a host stands in. */
  int rack(int host) {
    return hosts.racks() ? host / hosts.hostsPerRack() : 0;
  }

  /** Returns whether a single link differs from its class. */
  boolean hasSingleLinks() {
    return !single.isEmpty();
  }

  /** Returns what links are like if all that a mesh has, or all pairs of ranks, are alike. */
  Optional<Wire> alike() {
    Wire wire = wire(mesh.isEmpty() ? LinkClass.OTHER : crossable(0) ? LinkClass.X : LinkClass.Y);
    boolean same = !hasSingleLinks();
    if (mesh.isPresent()) {
      same &= !crossable(0) || !crossable(1) || wire.equals(wire(LinkClass.Y));
      same &= !hasSeveralPods() || wire.equals(wire(LinkClass.PODS));
    } else {
      same &= hosts.ranksPerHost() == 1 || wire.equals(wire(LinkClass.HOST));
      same &= !hosts.racks() || wire.equals(wire(LinkClass.RACKS));
    }
    return same ? Optional.of(wire) : Optional.empty();
  }

  /** Returns whether some neighbours stand in different pods. */
  boolean hasSeveralPods() {
    return podX > 0 && mesh.map(m -> m.x() > podX || m.y() > podY).orElse(false);
  }

  private boolean crossable(int dimension) {
    return mesh.map(m -> (dimension == 0 ? m.x() : m.y()) > 1).orElse(false);
  }

  Wire wire(LinkClass links) {
    return wires[links.ordinal()];
  }

  Wire wire(int link) {
    if (!single.isEmpty()) {
      Wire special = single.get(link);
      if (special != null) {
        return special;
      }
    }
    return wire(linkClass(link));
  }

  int pages() {
    return mesh.isPresent() ? MeshLinks.DIRECTIONS : ranks;
  }

  LinkClass linkClass(int link) {
    int page = link / ranks;
    int from = link % ranks;
    if (mesh.isEmpty()) {
      if (!hosts.any()) {
        return LinkClass.OTHER;
      }
      int host = host(from);
      int other = host((from + page) % ranks);
      return host == other
          ? LinkClass.HOST
          : rack(host) == rack(other) ? LinkClass.OTHER : LinkClass.RACKS;
    }
    if (podX > 0) {
      Mesh m = mesh.get();
      boolean leaves =
          page < 2
              ? m.x() > podX && (from % m.x() + 1 - page) % podX == 0
              : m.y() > podY && (from / m.x() + 3 - page) % podY == 0;
      if (leaves) {
        return LinkClass.PODS;
      }
    }
    return page < 2 ? LinkClass.X : LinkClass.Y;
  }

  int longestPath() {
    return meshLinks.map(MeshLinks::longestPath).orElse(1);
  }

  /** Writes the links from one rank to another in order; returns how many there are. */
  int path(int from, int to, int[] links) {
    if (mesh.isEmpty()) {
      int distance = to >= from ? to - from : to - from + ranks;
      links[0] = distance * ranks + from;
      return 1;
    }
    return meshLinks.get().path(from, to, links);
  }

  /** A link as {@code 3->4}. */
  String name(int link) {
    int from = link % ranks;
    int to = meshLinks.map(of -> of.end(link)).orElse((from + link / ranks) % ranks);
    return from + "->" + to;
  }

  /**
   * Returns a text such as {@code 128x32 wrap=y} with its pods, or {@code pairs} with its hosts.
   */
  @Override
  public String toString() {
    return mesh.map(Mesh::toString)
            .orElse(hosts.ranksPerHost() > 1 || hosts.racks() ? hosts.toString() : "pairs")
        + (podX > 0 ? " pods=" + podX + "x" + podY : "");
  }
}
