package io.collectives.torus;

import io.collectives.Collective;
import io.collectives.Mesh;
import io.collectives.plan.Plan;

/**
 * Rings along the columns and rows of a torus; two halves of the payload at once, one reduced along
 * the columns first, the other along the rows (Ying et al. 2018, section 3.3 and figure 4).
 *
 * <p>Shape: 2n chunks for n = XY ranks, 2 lanes. The first half, columns first, goes up; the second
 * half, rows first, goes down, so that the lanes share no link of a dimension of 3 places or more
 * even while, on a mesh that is not square, both are busy in the same dimension. The rank in column
 * c and row r owns chunk rX + c of the first half (its own number) and chunk cY + r of the second.
 *
 * <p>Along a dimension that does not wrap the ring is {@linkplain Ring#folded folded}: a rank sends
 * to places at most two away on its line, and none is sent from one end to the other. Each lane
 * then crosses every link of the line once each way in a round, so the two lanes share links while
 * both are busy in that dimension. The owners, the steps and the bytes that a rank sends are the
 * same.
 *
 * <p>Steps: 2(X-1) + 2(Y-1). Bytes: each rank sends M(Y-1)/Y + (M/X)(Y-1)/Y along its column and
 * M(X-1)/X + (M/Y)(X-1)/X along its row, 2M(n-1)/n in all; on a square torus half of that in each
 * dimension.
 */
final class TorusPlan {
  private TorusPlan() {}

  static Plan allReduce(Mesh mesh) {
    int ranks = mesh.ranks();
    Hierarchy.Dimension x = new Hierarchy.Dimension(mesh.x(), mesh.wrapX());
    Hierarchy.Dimension y = new Hierarchy.Dimension(mesh.y(), mesh.wrapY());
    Hierarchy columnsFirst = new Hierarchy(y, x, (row, column) -> mesh.rankAt(column, row), 0, 1);
    Hierarchy rowsFirst = new Hierarchy(x, y, mesh::rankAt, ranks, -1);
    return Plan.of(
        Collective.ALL_REDUCE, ranks, 2 * ranks, columnsFirst.allReduce(), rowsFirst.allReduce());
  }

  /** Refuses a mesh with other than one place for each rank. */
  static void requireFit(Mesh mesh, int ranks) {
    if (mesh.ranks() != ranks) {
      throw new IllegalArgumentException(
          "torus "
              + mesh
              + " has "
              + mesh.ranks()
              + " places, the group has "
              + ranks
              + " ranks: they must be as many, as on Mesh.torusOf("
              + ranks
              + "), "
              + Mesh.torusOf(ranks));
    }
  }
}
