package io.collectives.bench.simulate;

import io.collectives.Mesh;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Ranks and the directed links between them: a mesh, or a link for each pair of ranks.
 *
 * <p>On a mesh a rank has a link to each neighbour, and what goes further goes along its row first,
 * then along the column, the shorter way round where a dimension wraps (up if both are equally
 * long). Two ranks have one link each way at most: a dimension of two places has no second one for
 * its wrap.
 *
 * <p>Links have numbers: page times ranks plus the rank that sends. Pages are directions on a mesh
 * (+x, -x, +y, -y), and distances from the sender otherwise; so few are used by most plans.
 */
public final class Network {
  private final int ranks;
  private final Optional<Mesh> mesh;
  private final EnumMap<LinkClass, Wire> wires = new EnumMap<>(LinkClass.class);
  private final Map<Integer, Wire> single = new HashMap<>();

  private Network(int ranks, Optional<Mesh> mesh, Wire wire) {
    if (ranks < 1 || ranks > 32_768) {
      throw new IllegalArgumentException(ranks + " ranks: from 1 to 32768 can be simulated");
    }
    this.ranks = ranks;
    this.mesh = mesh;
    for (LinkClass each : LinkClass.values()) {
      wires.put(each, wire);
    }
  }

  /** Every pair of ranks has a link of its own each way. */
  public static Network ofPairs(int ranks, Wire wire) {
    return new Network(ranks, Optional.empty(), wire);
  }

  /** A mesh with its wraps. */
  public static Network of(Mesh mesh, Wire wire) {
    return new Network(mesh.ranks(), Optional.of(mesh), wire);
  }

  /** Makes all links of a class different. */
  public Network with(LinkClass links, Wire wire) {
    wires.put(links, wire);
    return this;
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

  int ranks() {
    return ranks;
  }

  Optional<Mesh> mesh() {
    return mesh;
  }

  /** Whether a single link differs from its class. */
  boolean hasSingleLinks() {
    return !single.isEmpty();
  }

  Wire wire(LinkClass links) {
    return wires.getOrDefault(links, new Wire(0, 0));
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
    return mesh.isPresent() ? 4 : ranks;
  }

  LinkClass linkClass(int link) {
    if (mesh.isEmpty()) {
      return LinkClass.OTHER;
    }
    return link / ranks < 2 ? LinkClass.X : LinkClass.Y;
  }

  int longestPath() {
    return mesh.map(m -> Math.max(1, m.x() + m.y())).orElse(1);
  }

  /** Writes the links from one rank to another in order; returns how many there are. */
  int path(int from, int to, int[] links) {
    if (mesh.isEmpty()) {
      int distance = to >= from ? to - from : to - from + ranks;
      links[0] = distance * ranks + from;
      return 1;
    }
    Mesh m = mesh.get();
    int column = from % m.x();
    int row = from / m.x();
    int hops = 0;
    for (int left = steps(column, to % m.x(), m.x(), m.wrapX()); left != 0; ) {
      int step = left > 0 ? 1 : -1;
      links[hops++] = (left > 0 ? 0 : 1) * ranks + row * m.x() + column;
      column = Math.floorMod(column + step, m.x());
      left -= step;
    }
    for (int left = steps(row, to / m.x(), m.y(), m.wrapY()); left != 0; ) {
      int step = left > 0 ? 1 : -1;
      links[hops++] = (left > 0 ? 2 : 3) * ranks + row * m.x() + column;
      row = Math.floorMod(row + step, m.y());
      left -= step;
    }
    return hops;
  }

  /** How many places up, or down if negative, the way leads along a dimension. */
  private static int steps(int from, int to, int places, boolean wraps) {
    int plain = to - from;
    if (!wraps || places == 2) {
      return plain;
    }
    int up = Math.floorMod(plain, places);
    return 2 * up <= places ? up : up - places;
  }

  /** A link as {@code 3->4}. */
  String name(int link) {
    int from = link % ranks;
    int page = link / ranks;
    int to;
    if (mesh.isEmpty()) {
      to = (from + page) % ranks;
    } else {
      Mesh m = mesh.get();
      int step = page % 2 == 0 ? 1 : -1;
      to =
          page < 2
              ? m.rankAt(Math.floorMod(from % m.x() + step, m.x()), from / m.x())
              : m.rankAt(from % m.x(), Math.floorMod(from / m.x() + step, m.y()));
    }
    return from + "->" + to;
  }

  /** As {@code 128x32 wrap=y}, or {@code pairs}. */
  @Override
  public String toString() {
    return mesh.map(Mesh::toString).orElse("pairs");
  }
}
