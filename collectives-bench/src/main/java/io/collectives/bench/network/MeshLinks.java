package io.collectives.bench.network;

import io.collectives.Mesh;

/**
 * The directed links of a mesh, and the ways along them. A rank has a link to each neighbor, and
 * what goes further goes along its row first, then along the column, the shorter way round where a
 * dimension wraps (up if both are equally long). Two ranks have one link each way at most: a
 * dimension of two places has no second one for its wrap.
 *
 * <p>Links have numbers: direction times ranks plus the rank that sends. Directions are 0 to 3 for
 * +x, -x, +y and -y; a link and the one back differ in the last bit of theirs.
 *
 * <p>Whoever passes on what goes further needs to know only by which link it leaves for each rank:
 * from there on its way is that of the next rank.
 *
 * @param mesh the arrangement of the ranks
 */
public record MeshLinks(Mesh mesh) {
  /** The number of directions. */
  public static final int DIRECTIONS = 4;

  /** The length of the longest way, at least 1. */
  public int longestPath() {
    return Math.max(1, mesh.x() + mesh.y());
  }

  /** Writes the links from one rank to another in order; returns how many there are. */
  public int path(int from, int to, int[] links) {
    int ranks = mesh.ranks();
    int column = from % mesh.x();
    int row = from / mesh.x();
    int hops = 0;
    for (int left = steps(column, to % mesh.x(), mesh.x(), mesh.wrapX()); left != 0; ) {
      int step = left > 0 ? 1 : -1;
      links[hops++] = (left > 0 ? 0 : 1) * ranks + row * mesh.x() + column;
      column = Math.floorMod(column + step, mesh.x());
      left -= step;
    }
    for (int left = steps(row, to / mesh.x(), mesh.y(), mesh.wrapY()); left != 0; ) {
      int step = left > 0 ? 1 : -1;
      links[hops++] = (left > 0 ? 2 : 3) * ranks + row * mesh.x() + column;
      row = Math.floorMod(row + step, mesh.y());
      left -= step;
    }
    return hops;
  }

  /** Returns how many places up, or down if negative, the way leads along a dimension. */
  private static int steps(int from, int to, int places, boolean wraps) {
    int plain = to - from;
    if (!wraps || places == 2) {
      return plain;
    }
    int up = Math.floorMod(plain, places);
    return 2 * up <= places ? up : up - places;
  }

  /** Returns whether there is a link of a number. */
  public boolean has(int link) {
    int from = link % mesh.ranks();
    int direction = link / mesh.ranks();
    boolean alongX = direction < 2;
    int place = alongX ? from % mesh.x() : from / mesh.x();
    int places = alongX ? mesh.x() : mesh.y();
    int next = place + (direction % 2 == 0 ? 1 : -1);
    boolean wraps = (alongX ? mesh.wrapX() : mesh.wrapY()) && places > 2;
    return next >= 0 && next < places || wraps;
  }

  /** Returns the rank to which a link leads. */
  public int end(int link) {
    int from = link % mesh.ranks();
    int direction = link / mesh.ranks();
    int step = direction % 2 == 0 ? 1 : -1;
    return direction < 2
        ? mesh.rankAt(Math.floorMod(from % mesh.x() + step, mesh.x()), from / mesh.x())
        : mesh.rankAt(from % mesh.x(), Math.floorMod(from / mesh.x() + step, mesh.y()));
  }
}
