package io.collectives.bench.simulate;

import io.collectives.Mesh;

/**
 * A way round a mesh that comes by every place once, from neighbour to neighbour, and back to its
 * first: where a ring of all ranks would be laid.
 *
 * <pre>
 *   0  1  2  3         along the first row, up and down the others without their first place,
 *  11  6  5  4         and home along the first column
 *  10  7  8  9
 * </pre>
 *
 * <p>That needs an even number of rows; or else of columns, and the same turned over. Two rows, or
 * one dimension that wraps, are their own way round. Anything else has none here.
 */
final class Circuit {
  private Circuit() {}

  /**
   * The ranks in the order of the way.
   *
   * @throws IllegalArgumentException if there is none
   */
  static int[] of(Mesh mesh) {
    int x = mesh.x();
    int y = mesh.y();
    int[] way = new int[mesh.ranks()];
    boolean line = x == 1 || y == 1;
    if (line) {
      if (mesh.ranks() > 2 && !(y == 1 ? mesh.wrapX() : mesh.wrapY())) {
        throw none(mesh);
      }
      for (int i = 0; i < way.length; i++) {
        way[i] = i;
      }
      return way;
    }
    boolean turned = y % 2 != 0;
    if (turned && x % 2 != 0) {
      throw none(mesh);
    }
    int width = turned ? y : x;
    int height = turned ? x : y;
    int next = 0;
    for (int row = 0; row < height; row++) {
      for (int i = row == 0 ? 0 : 1; i < width; i++) {
        int column = row % 2 == 0 ? i : width - i;
        way[next++] = turned ? mesh.rankAt(row, column) : mesh.rankAt(column, row);
      }
    }
    for (int row = height - 1; row > 0; row--) {
      way[next++] = turned ? mesh.rankAt(row, 0) : mesh.rankAt(0, row);
    }
    return way;
  }

  private static IllegalArgumentException none(Mesh mesh) {
    return new IllegalArgumentException(
        "mesh "
            + mesh
            + " has no circuit from neighbour to neighbour: one needs an even number of rows or"
            + " columns, or one line that wraps");
  }
}
