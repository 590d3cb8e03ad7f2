package io.collectives.torus;

import io.collectives.Mesh;
import io.collectives.plan.DirectPlans;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.Rounds;
import java.util.function.IntUnaryOperator;

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
 *
 * <p>The parts of ranks are rows of the mesh, one after the other, so a plan that deals the payload
 * to ranks goes one way: columns first in a reduce-scatter, rows first in an all-gather (Kumar et
 * al. 2021, section 3.3). Shape: n chunks, 1 lane; rank r owns chunk r. Steps: (X-1) + (Y-1).
 * Bytes: each rank sends M(Y-1)/Y along its column and (M/Y)(X-1)/X along its row, M(n-1)/n in all.
 *
 * <p>A broadcast goes both ways along the root's row, then both ways along all columns; a second
 * half of the payload goes along the root's column first. A reduction goes the same ways back.
 * Shape: 2 chunks, 2 lanes, between neighbours only. Steps: those along X, floor(X/2) if it wraps
 * and from the root to the farther end if not, and those along Y. Bytes: the root of a broadcast
 * sends at most 4M, M on each of its links; in a reduction each rank sends at most M.
 *
 * <p>For a barrier all tell both neighbours in their row what they know, until the row knows of all
 * of itself, then in their column. Steps: floor(X/2) or X-1, and floor(Y/2) or Y-1.
 *
 * <p>A gather, a scatter and an all-to-all go straight between any two ranks, whatever lies between
 * them: these three only may use links that the mesh lacks.
 */
final class TorusPlan {
  private TorusPlan() {}

  static Plan of(Mesh mesh, PlanRequest request) {
    requireFit(mesh, request.ranks());
    int ranks = mesh.ranks();
    Hierarchy.Dimension x = new Hierarchy.Dimension(mesh.x(), mesh.wrapX());
    Hierarchy.Dimension y = new Hierarchy.Dimension(mesh.y(), mesh.wrapY());
    Hierarchy columnsFirst = new Hierarchy(y, x, (row, column) -> mesh.rankAt(column, row), 0, 1);
    Hierarchy rowsFirst = new Hierarchy(x, y, mesh::rankAt, ranks, -1);
    Spread rowFirst = Spread.of(mesh, request.root(), 0);
    Spread columnFirst = rowFirst.transposed(1);
    return switch (request.collective()) {
      case ALL_REDUCE ->
          Plan.of(request, 2 * ranks, columnsFirst.allReduce(), rowsFirst.allReduce());
      case REDUCE_SCATTER -> Plan.of(request, ranks, columnsFirst.reduceScatter());
      case ALL_GATHER -> Plan.of(request, ranks, columnsFirst.allGather());
      case BROADCAST -> Plan.of(request, 2, rowFirst.broadcast(), columnFirst.broadcast());
      case REDUCE -> Plan.of(request, 2, rowFirst.reduce(), columnFirst.reduce());
      case BARRIER -> Plan.of(request, 1, barrier(mesh));
      case GATHER, SCATTER, ALL_TO_ALL -> DirectPlans.of(request);
    };
  }

  private static Rounds barrier(Mesh mesh) {
    Rounds rows =
        Rounds.sideBySide(
            mesh.y(), row -> flood(mesh.x(), mesh.wrapX(), column -> mesh.rankAt(column, row)));
    Rounds columns =
        Rounds.sideBySide(
            mesh.x(), column -> flood(mesh.y(), mesh.wrapY(), row -> mesh.rankAt(column, row)));
    return rows.then(columns);
  }

  /** Each tells its neighbours what it knows, as often as the farthest two are apart. */
  private static Rounds flood(int places, boolean wraps, IntUnaryOperator rankAt) {
    // The first and the last of two places are neighbours anyway.
    int links = wraps && places > 2 ? places : places - 1;
    return Rounds.of(
        wraps ? places / 2 : places - 1,
        (round, sink) -> {
          for (int place = 0; place < links; place++) {
            int rank = rankAt.applyAsInt(place);
            int next = rankAt.applyAsInt((place + 1) % places);
            sink.transfer(rank, next, 0, 1, Effect.REDUCE);
            sink.transfer(next, rank, 0, 1, Effect.REDUCE);
          }
        });
  }

  /** Refuses a mesh with other than one place for each rank. */
  private static void requireFit(Mesh mesh, int ranks) {
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
