package io.collectives.bench.simulate;

import io.collectives.Mesh;

/**
 * A way round a mesh that comes by every place once, from neighbor to neighbor, and back to its
 * first: where a ring of all ranks would be laid.
 *
 * <pre>
 *   0  1  2  3         along the first row, up and down the others without their first place,
 *  11  6  5  4         and home along the first column
 *  10  7  8  9
 * </pre>
 *
 * <p>That needs an even number of rows; or else of columns, and the same turned over. Two rows, or
 * one dimension that wraps, are their own way round. Where both numbers are odd, both dimensions
 * have to wrap: the way then goes once round each row, forward in some and backward in others, and
 * so comes to the next one a column to the left or to the right; as many go forward as bring it
 * back to the first column in the end. Anything else has none here.
 */
public final class Circuit {
  private Circuit() {}

  /** Returns whether a mesh has one. */
  public static boolean exists(Mesh mesh) {
    if (mesh.x() == 1 || mesh.y() == 1) {
      return mesh.ranks() <= 2 || (mesh.y() == 1 ? mesh.wrapX() : mesh.wrapY());
    }
    return mesh.ranks() % 2 == 0 || mesh.wrapX() && mesh.wrapY();
  }

  /**
   * The ranks in the order of the way.
   *
   * @throws IllegalArgumentException if there is none
   */
  static int[] of(Mesh mesh) {
    if (!exists(mesh)) {
      throw new IllegalArgumentException(
          "mesh "
              + mesh
              + " has no circuit from neighbor to neighbor: one needs an even number of rows or"
              + " columns, wraps in both dimensions, or one line that wraps");
    }
    int x = mesh.x();
    int y = mesh.y();
    int[] way = new int[mesh.ranks()];
    if (x == 1 || y == 1) {
      for (int i = 0; i < way.length; i++) {
        way[i] = i;
      }
      return way;
    }
    boolean turned = y % 2 != 0;
    if (turned && x % 2 != 0) {
      return ofOdd(mesh);
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

  private static int[] ofOdd(Mesh mesh) {
    boolean turned = mesh.x() > mesh.y();
    int width = turned ? mesh.y() : mesh.x();
    int height = turned ? mesh.x() : mesh.y();
    int forward = 0;
    while ((height - 2 * forward) % width != 0) {
      forward++;
    }
    int[] way = new int[mesh.ranks()];
    int column = 0;
    int next = 0;
    for (int row = 0; row < height; row++) {
      int step = row < forward ? 1 : -1;
      for (int i = 0; i < width; i++) {
        way[next++] = turned ? mesh.rankAt(row, column) : mesh.rankAt(column, row);
        column = i == width - 1 ? column : Math.floorMod(column + step, width);
      }
    }
    return way;
  }
}
