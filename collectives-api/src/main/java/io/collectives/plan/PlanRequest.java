package io.collectives.plan;

import io.collectives.Collective;

/**
 * The request for a plan.
 *
 * @param collective the collective that the plan is to perform
 * @param ranks the number of ranks in the group, at least 1
 * @param root the root of a {@linkplain Collective#rooted rooted} collective; 0 for the others,
 *     which have none
 */
public record PlanRequest(Collective collective, int ranks, int root) {

  /** Checks that there are ranks, and that the root is one of them. */
  public PlanRequest {
    if (ranks < 1) {
      throw new IllegalArgumentException(
          collective + " of " + ranks + " ranks: at least 1 is needed");
    }
    if (root < 0 || root >= ranks) {
      throw new IllegalArgumentException(
          collective + " with root " + root + ": ranks are 0 to " + (ranks - 1));
    }
    if (root > 0 && !collective.rooted()) {
      throw new IllegalArgumentException(
          collective + " with root " + root + ": it has none, which is written as 0");
    }
  }

  /** Makes a request for a collective without a root, or with rank 0 as its root. */
  public static PlanRequest of(Collective collective, int ranks) {
    return new PlanRequest(collective, ranks, 0);
  }
}
