package io.collectives.torus;

import io.collectives.Algorithm;
import io.collectives.plan.DirectPlans;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.spi.PlanProvider;
import java.util.Optional;

/**
 * Plans every collective by {@link Algorithm#ring}, {@link Algorithm#bidirectionalRing}, {@link
 * Algorithm#shortestWayRing}, {@link Algorithm#torus}, {@link Algorithm#direct}, {@link
 * Algorithm#exchange}, {@link Algorithm#binomialTree}, {@link Algorithm#recursiveDoubling}, {@link
 * Algorithm#halvingDoubling} and {@link Algorithm#doubleBinaryTree}.
 */
public final class TorusPlanProvider implements PlanProvider {

  /** For the service loader. */
  public TorusPlanProvider() {}

  @Override
  public Optional<Plan> plan(Algorithm algorithm, PlanRequest request) {
    if (algorithm instanceof Algorithm.Ring) {
      return Optional.of(RingPlan.of(request));
    }
    if (algorithm instanceof Algorithm.BidirectionalRing) {
      return Optional.of(BidirectionalRingPlan.of(request));
    }
    if (algorithm instanceof Algorithm.ShortestWayRing) {
      return Optional.of(ShortestWayRingPlan.of(request));
    }
    if (algorithm instanceof Algorithm.Torus torus) {
      return Optional.of(TorusPlan.of(torus.mesh(), request));
    }
    if (algorithm instanceof Algorithm.Direct) {
      return Optional.of(DirectPlans.of(request));
    }
    if (algorithm instanceof Algorithm.Exchange) {
      return Optional.of(DirectPlans.exchange(request));
    }
    if (algorithm instanceof Algorithm.BinomialTree) {
      return Optional.of(BinomialTreePlan.of(request));
    }
    if (algorithm instanceof Algorithm.RecursiveDoubling) {
      return Optional.of(RecursiveDoublingPlan.of(request));
    }
    if (algorithm instanceof Algorithm.HalvingDoubling) {
      return Optional.of(HalvingDoublingPlan.of(request));
    }
    if (algorithm instanceof Algorithm.DoubleBinaryTree) {
      return Optional.of(DoubleBinaryTreePlan.of(request));
    }
    return Optional.empty();
  }
}
