package io.collectives.torus;

import io.collectives.Collective;
import io.collectives.Mesh;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.Rounds;

/**
 * A {@link TorusPlan} for meshes whose two dimensions do not take as long as each other: the two
 * orders have unequal parts of the payload, and change from one dimension to the other together.
 *
 * <p>If X is not Y, or only one dimension wraps, the longer dimension is the bottleneck where both
 * orders have a half of the payload, and the order that is done with the shorter dimension holds up
 * the other one in the longer. Here the order that comes to the columns first has {@code columns}
 * parts of the payload for {@code rows} of the other. With D = max(X, Y) - 1 its rounds are:
 *
 * <pre>
 *   rounds            0 to D        D to 2D          2D to 3D         3D to 4D
 *   columns first     columns       rows             rows             columns
 *   rows first        rows          columns          columns          rows
 * </pre>
 *
 * <p>A phase of fewer rounds than D leaves idle rounds, in which the lane sends nothing; of the two
 * phases in the middle, idle rounds come last. Nothing waits for a round to end. But where links
 * serve in the plan's order, the order that is in its second dimension goes before the one that
 * comes back to it.
 *
 * <p>Chunks: {@code columns + rows} for each rank and direction. Steps: 4D, of which 2(X-1) +
 * 2(Y-1) move data of a lane. Bytes: each rank sends 2M(n-1)/n, of which, with w the part of the
 * order that comes to the columns first, 2w M(Y-1)/Y + 2(1-w) (M/X)(Y-1)/Y along its column, half
 * of it each way in a closed dimension.
 *
 * <p>A single row or column, and other collectives, are those of {@link TorusPlan}.
 */
final class WeightedTorusPlan {
  /** The most parts of the payload, so that chunks do not become too many. */
  private static final int MOST_PARTS = 10;

  private WeightedTorusPlan() {}

  /**
   * The parts of the payload that either order has.
   *
   * @param columns the parts that go along the columns first, at least 1
   * @param rows the parts that go along the rows first, at least 1
   */
  record Weights(int columns, int rows) {
    /** Checks the numbers. */
    Weights {
      if (columns < 1 || rows < 1 || columns + rows > MOST_PARTS) {
        throw new IllegalArgumentException(
            "weights "
                + columns
                + ":"
                + rows
                + " of the orders that reduce along the columns and along the rows first: each"
                + " must be at least 1, and both together at most "
                + MOST_PARTS);
      }
    }

    /**
     * Returns the weights for which the orders are done soonest on links that are alike and where
     * latencies take no time.
     */
    static Weights of(Mesh mesh) {
      Weights best = new Weights(1, 1);
      for (int parts = 2; parts <= MOST_PARTS; parts++) {
        for (int columns = 1; columns < parts; columns++) {
          Weights other = new Weights(columns, parts - columns);
          // Of those that are as good the fewest parts, which mean the fewest chunks.
          best = other.time(mesh) < best.time(mesh) - 1e-9 ? other : best;
        }
      }
      return best;
    }

    /** Returns the time of a reduce-scatter, as a multiple of that of the payload on a link. */
    private double time(Mesh mesh) {
      double alongX = time(TorusPlan.rows(mesh));
      double alongY = time(TorusPlan.columns(mesh));
      double part = columns / (double) (columns + rows);
      return Math.max(part * alongY, (1 - part) * alongX)
          + Math.max(part * alongX / mesh.y(), (1 - part) * alongY / mesh.x());
    }

    private static double time(Dimension dimension) {
      double once = (dimension.places() - 1.0) / dimension.places();
      return dimension.closed() ? once / 2 : once;
    }

    @Override
    public String toString() {
      return columns + ":" + rows;
    }
  }

  static Plan of(Mesh mesh, Weights weights, PlanRequest request) {
    TorusPlan.requireFit(mesh, request.ranks());
    if (request.collective() != Collective.ALL_REDUCE || mesh.x() == 1 || mesh.y() == 1) {
      return TorusPlan.of(mesh, request);
    }
    int ways = TorusPlan.anyClosed(mesh) ? 2 : 1;
    int ranks = mesh.ranks();
    Rounds[] lanes = new Rounds[2 * ways];
    for (int lane = 0; lane < lanes.length; lane++) {
      int way = lane % ways;
      Hierarchy order =
          lane < ways
              ? TorusPlan.columnsFirst(mesh, way * weights.columns * ranks, weights.columns)
              : TorusPlan.rowsFirst(
                  mesh, (ways * weights.columns + way * weights.rows) * ranks, weights.rows);
      lanes[lane] =
          order.allReduceInPhases(order.whole(way == 0 ? 1 : -1), Math.max(mesh.x(), mesh.y()) - 1);
    }
    return Plan.of(request, ways * (weights.columns + weights.rows) * ranks, lanes);
  }
}
