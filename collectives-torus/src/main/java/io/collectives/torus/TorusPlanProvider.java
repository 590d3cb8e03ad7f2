package io.collectives.torus;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.plan.Dissemination;
import io.collectives.plan.Plan;
import io.collectives.spi.PlanProvider;
import java.util.Optional;

/**
 * Plans {@link Algorithm#ring}, {@link Algorithm#bidirectionalRing}, {@link
 * Algorithm#shortestWayRing}, {@link Algorithm#torus}, {@link Algorithm#direct}, {@link
 * Algorithm#halvingDoubling} and {@link Algorithm#doubleBinaryTree}.
 */
public final class TorusPlanProvider implements PlanProvider {

  /** For the service loader. */
  public TorusPlanProvider() {}

  @Override
  public Optional<Plan> plan(Algorithm algorithm, Collective collective, int ranks) {
    if (algorithm instanceof Algorithm.Torus torus) {
      TorusPlan.requireFit(torus.mesh(), ranks);
    }
    return switch (collective) {
      case ALL_REDUCE -> allReduce(algorithm, ranks);
      case BARRIER -> allReduce(algorithm, ranks).map(known -> Dissemination.barrier(ranks));
    };
  }

  private static Optional<Plan> allReduce(Algorithm algorithm, int ranks) {
    if (algorithm instanceof Algorithm.Ring) {
      return Optional.of(RingPlan.allReduce(ranks));
    }
    if (algorithm instanceof Algorithm.BidirectionalRing) {
      return Optional.of(BidirectionalRingPlan.allReduce(ranks));
    }
    if (algorithm instanceof Algorithm.ShortestWayRing) {
      return Optional.of(ShortestWayRingPlan.allReduce(ranks));
    }
    if (algorithm instanceof Algorithm.Torus torus) {
      return Optional.of(TorusPlan.allReduce(torus.mesh()));
    }
    if (algorithm instanceof Algorithm.Direct) {
      return Optional.of(DirectPlan.allReduce(ranks));
    }
    if (algorithm instanceof Algorithm.HalvingDoubling) {
      return Optional.of(HalvingDoublingPlan.allReduce(ranks));
    }
    if (algorithm instanceof Algorithm.DoubleBinaryTree) {
      return Optional.of(DoubleBinaryTreePlan.allReduce(ranks));
    }
    return Optional.empty();
  }
}
