package io.collectives.torus;

import io.collectives.Mesh;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.Rounds;
import java.util.function.Function;
import java.util.stream.IntStream;

/**
 * A plan for ranks of which some are nearer to each other: the rows of a mesh are hosts, or only
 * the columns of a mesh wrap. Ranks reduce-scatter along the near dimension, all-reduce their
 * shares along the other one, and all-gather along the near one (Kumar et al. 2021, section 3.3).
 *
 * <p>The near dimension is that of the rows, X places; that of the columns if only columns wrap, as
 * on the 128x32 chips of that paper. Below, rows are near; else X and Y change places.
 *
 * <p>An all-reduce has two lanes if any dimension is closed, one for each direction of its rings,
 * else one; a lane has n chunks, of which each rank owns one. Steps: 2(X-1) + 2(Y-1). Bytes: each
 * rank sends 2M(X-1)/X along its row and 2(M/X)(Y-1)/Y along its column, where a {@link TorusPlan}
 * sends (M + M/X)(Y-1)/Y.
 *
 * <p>In a reduce-scatter and an all-gather part r belongs to rank r, so parts of a row follow each
 * other, and what the rank in column c has to reduce along its column does not:
 *
 * <pre>
 *   X = 2, Y = 3      host 0    host 1    host 2
 *     parts            0  1      2  3      4  5
 *     column 0         *         *         *
 * </pre>
 *
 * <p>To send a range at a time, there is a lane, or one for each direction, for the parts of each
 * host: its ranks' parts are reduced within every host, then from host to host toward their own.
 * All these lanes together send what one ring along each row and column would. Steps: (X-1) +
 * (Y-1). Bytes: M(X-1)/X along the row, (M/X)(Y-1)/Y along the column. So a host of X ranks sends
 * M(Y-1)/Y to other hosts, where a ring of all ranks sends M(n-1)/n, and a torus XM(Y-1)/Y.
 *
 * <p>Other collectives are those of {@link TorusPlan}; so are a reduce-scatter and an all-gather
 * whose near dimension are the columns.
 */
final class HierarchicalPlan {
  private HierarchicalPlan() {}

  static Plan of(Mesh mesh, PlanRequest request) {
    TorusPlan.requireFit(mesh, request.ranks());
    return switch (request.collective()) {
      case ALL_REDUCE -> allReduce(mesh, request);
      case REDUCE_SCATTER -> dealt(mesh, request, Halves::reduceScatter, Rounds::then);
      case ALL_GATHER ->
          dealt(mesh, request, Halves::allGather, (within, between) -> between.then(within));
      default -> TorusPlan.of(mesh, request);
    };
  }

  /** Returns whether columns are near, not rows. */
  private static boolean columnsAreNear(Mesh mesh) {
    return mesh.x() == 1 || mesh.wrapY() && !mesh.wrapX();
  }

  private static int ways(Mesh mesh) {
    return TorusPlan.anyClosed(mesh) ? 2 : 1;
  }

  private static Plan allReduce(Mesh mesh, PlanRequest request) {
    Rounds[] lanes = new Rounds[ways(mesh)];
    for (int way = 0; way < lanes.length; way++) {
      int firstChunk = way * mesh.ranks();
      Hierarchy order =
          columnsAreNear(mesh)
              ? TorusPlan.columnsFirst(mesh, firstChunk, 1)
              : TorusPlan.rowsFirst(mesh, firstChunk, 1);
      lanes[way] = order.allReduce(order.whole(step(way)));
    }
    return Plan.of(request, lanes.length * mesh.ranks(), lanes);
  }

  private static Plan dealt(
      Mesh mesh, PlanRequest request, Function<Halves, Rounds> half, Order order) {
    if (columnsAreNear(mesh)) {
      return TorusPlan.of(mesh, request);
    }
    int ways = ways(mesh);
    Rounds[] lanes =
        IntStream.range(0, mesh.y() * ways)
            .mapToObj(
                lane ->
                    order.of(
                        within(mesh, lane / ways, lane % ways, half),
                        between(mesh, lane / ways, lane % ways, half)))
            .toArray(Rounds[]::new);
    return Plan.of(request, ways * mesh.ranks(), lanes);
  }

  /** Makes the rounds within all hosts that move chunks of the parts of one of them. */
  private static Rounds within(Mesh mesh, int owner, int way, Function<Halves, Rounds> half) {
    return Rounds.sideBySide(
        mesh.y(),
        row ->
            half.apply(
                TorusPlan.rows(mesh)
                    .halves(
                        column -> mesh.rankAt(column, row),
                        column -> chunk(mesh, column, owner, way),
                        column -> 1,
                        step(way))));
  }

  /** Makes the rounds that move chunks between a host and all others. */
  private static Rounds between(Mesh mesh, int owner, int way, Function<Halves, Rounds> half) {
    return Rounds.sideBySide(
        mesh.x(),
        column ->
            half.apply(
                TorusPlan.columns(mesh)
                    .halves(
                        row -> mesh.rankAt(column, row),
                        row -> chunk(mesh, column, row, way),
                        row -> row == owner ? 1 : 0,
                        step(way))));
  }

  /** Returns the chunk that a rank owns in a lane of a direction. */
  private static int chunk(Mesh mesh, int column, int row, int way) {
    return mesh.rankAt(column, row) * ways(mesh) + way;
  }

  private static int step(int way) {
    return way == 0 ? 1 : -1;
  }

  @FunctionalInterface
  private interface Order {
    Rounds of(Rounds within, Rounds between);
  }
}
