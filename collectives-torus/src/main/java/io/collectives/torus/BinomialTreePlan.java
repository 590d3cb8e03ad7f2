package io.collectives.torus;

import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;

/**
 * A plan that reduces to rank 0 and broadcasts from there, along one {@link BinomialTree} (Thakur,
 * Rabenseifner and Gropp 2005, section 4).
 *
 * <p>The plan has 1 chunk and 1 lane. Steps: 2 ceil(log2 n). Transfers: 2(n-1), of all ranks
 * together; no all-reduce and no barrier takes fewer. Bytes: a rank sends M to each of its
 * children, and M to its parent; rank 0 has ceil(log2 n) children, every second rank none.
 *
 * <p>Other collectives are those of {@link HalvingDoublingPlan}.
 */
final class BinomialTreePlan {
  private BinomialTreePlan() {}

  static Plan of(PlanRequest request) {
    BinomialTree tree = new BinomialTree(request.ranks(), 0);
    return switch (request.collective()) {
      case ALL_REDUCE, BARRIER -> Plan.of(request, 1, tree.reduce().then(tree.broadcast()));
      default -> HalvingDoublingPlan.of(request);
    };
  }
}
