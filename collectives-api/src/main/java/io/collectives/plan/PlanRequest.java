package io.collectives.plan;

import io.collectives.Collective;

/**
 * What a plan is asked for.
 *
 * @param collective what it is to do
 * @param ranks the number of ranks in the group, at least 1
 * @param root the rank from which, or to which, a {@linkplain Collective#rooted rooted} collective
 *     goes; 0 for the others, which have none
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

  /** A collective without a root, or with rank 0 as its root. */
  public static PlanRequest of(Collective collective, int ranks) {
    return new PlanRequest(collective, ranks, 0);
  }
}
