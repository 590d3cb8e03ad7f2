package io.collectives.torus;

import io.collectives.Collective;
import io.collectives.Mesh;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.Rounds;
import java.util.function.Function;

/**
 * A plan for hosts, the rows of a mesh, with trees between them: ranks reduce-scatter within their
 * host, each share is reduced and broadcast by a {@linkplain DoubleBinaryTreePlan double binary
 * tree} of the ranks of the same place on all hosts, and ranks all-gather within their host. NCCL's
 * trees are of this kind: their number of steps grows with the logarithm of the number of hosts.
 *
 * <p>The plan has 2X chunks and 2 lanes, one for each tree; the half of a place's share that a lane
 * moves is one chunk. Steps: 2(X-1) + 2 floor(log2 Y). Bytes: each rank sends 2M(X-1)/X within its
 * host, and to other hosts from M/X to 2M/X; all together 2M(Y-1) go from host to host, as by any
 * hierarchy. A tree is slower than a ring where one slab is under way; with many slabs both fill
 * the links.
 *
 * <p>Collectives that distribute the payload are those of {@link HierarchicalPlan}, because trees
 * have no parts; so are all others.
 */
final class HierarchicalTreePlan {
  private HierarchicalTreePlan() {}

  static Plan of(Mesh mesh, PlanRequest request) {
    if (request.collective() != Collective.ALL_REDUCE) {
      return HierarchicalPlan.of(mesh, request);
    }
    TorusPlan.requireFit(mesh, request.ranks());
    return Plan.of(
        request,
        2 * mesh.x(),
        lane(mesh, 0, DoubleBinaryTreePlan.Tree.first(mesh.y())),
        lane(mesh, 1, DoubleBinaryTreePlan.Tree.second(mesh.y())));
  }

  private static Rounds lane(Mesh mesh, int lane, DoubleBinaryTreePlan.Tree ofHosts) {
    Rounds between =
        Rounds.sideBySide(
            mesh.x(),
            column -> {
              DoubleBinaryTreePlan.Tree tree =
                  ofHosts.between(host -> mesh.rankAt(column, host), chunk(mesh, lane, column));
              return tree.reduce().then(tree.broadcast());
            });
    return within(mesh, lane, Halves::reduceScatter)
        .then(between)
        .then(within(mesh, lane, Halves::allGather));
  }

  private static Rounds within(Mesh mesh, int lane, Function<Halves, Rounds> half) {
    return Rounds.sideBySide(
        mesh.y(),
        host ->
            half.apply(
                TorusPlan.rows(mesh)
                    .halves(
                        column -> mesh.rankAt(column, host),
                        column -> chunk(mesh, lane, column),
                        column -> 1,
                        lane == 0 ? 1 : -1)));
  }

  private static int chunk(Mesh mesh, int lane, int column) {
    return lane * mesh.x() + column;
  }
}
