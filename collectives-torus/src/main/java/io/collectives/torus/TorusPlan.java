package io.collectives.torus;

import io.collectives.Mesh;
import io.collectives.plan.DirectPlans;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.Rounds;
import java.util.Arrays;
import java.util.function.BiFunction;
import java.util.function.IntUnaryOperator;

/**
 * A plan with rings along the columns and rows of a torus. Two halves of the payload move at once,
 * one reduced along the columns first, the other along the rows first, and each half in rings of
 * both directions: these are four flows, which use all four links of a rank (Ying et al. 2018,
 * section 3.3 and figure 4).
 *
 * <p>For n = XY ranks the plan has 4n chunks and 4 lanes of n chunks: columns first up, columns
 * first down, rows first up, rows first down. The rank in column c and row r owns the chunk rX + c
 * (its own number) of each of the first two lanes, and cY + r of each of the last two.
 *
 * <pre>
 *   n = XY       reduce-scatter          all-gather
 *   lanes 0, 1   Y-1 rounds on columns,  X-1 on rows,     X-1 on rows,     Y-1 on columns
 *   lanes 2, 3   X-1 rounds on rows,     Y-1 on columns,  Y-1 on columns,  X-1 on rows
 * </pre>
 *
 * <p>Lanes of opposite directions share no link of a dimension that is closed, which is one that
 * wraps and has 3 places or more. If X = Y, the two orders are in unlike dimensions at any time,
 * and all links carry something all the time; if not, they meet in the longer one.
 *
 * <p>Along a dimension that does not wrap data move from {@linkplain Line both ends of a line} at
 * once, between neighbours only. Each lane then uses every link of the line both ways; of a
 * dimension of 2 places both directions are one link anyway. So lanes of a second direction gain
 * nothing there, and where neither dimension is closed there are 2n chunks and 2 lanes, one for
 * each order. In a single row or column the two orders are the same: there, too, are 2 lanes, one
 * up and one down. Owners and steps are always the same.
 *
 * <p>Steps: 2(X-1) + 2(Y-1). Bytes: each rank sends M(Y-1)/Y + (M/X)(Y-1)/Y along its column and
 * M(X-1)/X + (M/Y)(X-1)/X along its row, 2M(n-1)/n in all; half of it each way in a closed
 * dimension; on a square torus half of it in each dimension. Along a line that is an average: a
 * place between others sends P+1 shares for P-1 in an all-gather, one at an end 1.
 *
 * <p>The parts of ranks are rows of the mesh, one after the other, so a plan that distributes the
 * payload over the ranks has one order: columns first in a reduce-scatter, rows first in an
 * all-gather (Kumar et al. 2021, section 3.3). Rings of closed dimensions are in both directions
 * here, too, each with half of the data that go along them ({@link Hierarchy} says how). The plan
 * has 2n chunks, of which rank r owns 2r and 2r+1, or n if no dimension is closed; 2 lanes if
 * columns (of a single row: the row) are closed, else 1. Steps: (X-1) + (Y-1). Bytes: each rank
 * sends M(Y-1)/Y along its column and (M/Y)(X-1)/X along its row, M(n-1)/n in all.
 *
 * <p>A broadcast goes both ways along the root's row, then both ways along all columns; a second
 * half of the payload goes along the root's column first. A reduction goes the same ways back. The
 * plan has 2 chunks and 2 lanes, between neighbours only. Steps: those along X, floor(X/2) if it
 * wraps and from the root to the farther end if not, and those along Y. Bytes: the root of a
 * broadcast sends at most 4M, M on each of its links; in a reduction each rank sends at most M.
 *
 * <p>In a barrier all ranks send to both neighbours in their row the set of ranks that they know to
 * have entered, until the whole row is known, and then do the same in their column. Steps:
 * floor(X/2) or X-1, and floor(Y/2) or Y-1.
 *
 * <p>A gather, a scatter and an all-to-all go straight between any two ranks, whatever lies between
 * them: only these three may use links that the mesh lacks.
 */
final class TorusPlan {
  private TorusPlan() {}

  static Plan of(Mesh mesh, PlanRequest request) {
    requireFit(mesh, request.ranks());
    Spread rowFirst = Spread.of(mesh, request.root(), 0);
    Spread columnFirst = rowFirst.transposed(1);
    return switch (request.collective()) {
      case ALL_REDUCE -> allReduce(mesh, request);
      case REDUCE_SCATTER -> dealt(mesh, request, Hierarchy::reduceScatter);
      case ALL_GATHER -> dealt(mesh, request, Hierarchy::allGather);
      case BROADCAST -> Plan.of(request, 2, rowFirst.broadcast(), columnFirst.broadcast());
      case REDUCE -> Plan.of(request, 2, rowFirst.reduce(), columnFirst.reduce());
      case BARRIER -> Plan.of(request, 1, barrier(mesh));
      case GATHER, SCATTER, ALL_TO_ALL -> DirectPlans.of(request);
    };
  }

  private static Plan allReduce(Mesh mesh, PlanRequest request) {
    int ranks = mesh.ranks();
    Hierarchy columnsFirst = columnsFirst(mesh, 0, 1);
    boolean flat = mesh.x() == 1 || mesh.y() == 1;
    if (flat || !anyClosed(mesh)) {
      Rounds up = columnsFirst.allReduce(columnsFirst.whole(1));
      Hierarchy rowsFirst = rowsFirst(mesh, ranks, 1);
      return Plan.of(request, 2 * ranks, up, rowsFirst.allReduce(rowsFirst.whole(-1)));
    }
    Rounds[] lanes = new Rounds[4];
    for (int lane = 0; lane < lanes.length; lane++) {
      Hierarchy order =
          lane < 2 ? columnsFirst(mesh, lane * ranks, 1) : rowsFirst(mesh, lane * ranks, 1);
      lanes[lane] = order.allReduce(order.whole(lane % 2 == 0 ? 1 : -1));
    }
    return Plan.of(request, lanes.length * ranks, lanes);
  }

  /**
   * Makes a plan of one half of a {@link Hierarchy}'s all-reduce, columns first, in which rank r
   * owns part r.
   */
  static Plan dealt(
      Mesh mesh, PlanRequest request, BiFunction<Hierarchy, Hierarchy.Flow, Rounds> half) {
    int chunksOfRank = anyClosed(mesh) ? 2 : 1;
    // In a single row columns are of one place, and the two orders the same.
    Hierarchy order =
        mesh.y() == 1 ? rowsFirst(mesh, 0, chunksOfRank) : columnsFirst(mesh, 0, chunksOfRank);
    Rounds[] lanes =
        Arrays.stream(order.bothWays()).map(flow -> half.apply(order, flow)).toArray(Rounds[]::new);
    return Plan.of(request, chunksOfRank * mesh.ranks(), lanes);
  }

  static Hierarchy columnsFirst(Mesh mesh, int firstChunk, int chunksOfRank) {
    return new Hierarchy(
        columns(mesh),
        rows(mesh),
        (row, column) -> mesh.rankAt(column, row),
        firstChunk,
        chunksOfRank);
  }

  static Hierarchy rowsFirst(Mesh mesh, int firstChunk, int chunksOfRank) {
    return new Hierarchy(rows(mesh), columns(mesh), mesh::rankAt, firstChunk, chunksOfRank);
  }

  static Dimension columns(Mesh mesh) {
    return new Dimension(mesh.y(), mesh.wrapY());
  }

  static Dimension rows(Mesh mesh) {
    return new Dimension(mesh.x(), mesh.wrapX());
  }

  static boolean anyClosed(Mesh mesh) {
    return rows(mesh).closed() || columns(mesh).closed();
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

  /**
   * Makes the rounds in which each place sends all that it knows to its neighbours, as many as the
   * farthest two places are apart.
   */
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
  static void requireFit(Mesh mesh, int ranks) {
    requireFit("torus", mesh, ranks);
  }

  /** Refuses a mesh of some algorithm. */
  static void requireFit(String algorithm, Mesh mesh, int ranks) {
    if (mesh.ranks() != ranks) {
      throw new IllegalArgumentException(
          algorithm
              + ":"
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
