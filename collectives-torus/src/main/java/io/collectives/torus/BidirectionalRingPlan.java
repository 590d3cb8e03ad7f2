package io.collectives.torus;

import io.collectives.plan.DirectPlans;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.Rounds;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.IntUnaryOperator;

/**
 * A plan that passes data around two rings of opposite directions, each with half of the payload
 * (Ying et al. 2018, section 3.3, for one dimension).
 *
 * <p>It has 2n chunks and 2 lanes; the even chunks go up, from r to r+1, the odd ones down. Rank r
 * owns the chunks 2r and 2r+1, the nth part of the payload that it owns in one ring, too. From 3
 * ranks on the lanes share no link. Chains from, or to, a root have 2 chunks, one for each
 * direction.
 *
 * <p>Steps: 2(n-1), each half n-1. Bytes: each rank sends 2M(n-1)/n, in each half M(n-1)/n, half of
 * it each way. Chains take n-1 steps, in which each rank sends M, one at an end M/2.
 */
final class BidirectionalRingPlan {
  private BidirectionalRingPlan() {}

  static Plan of(PlanRequest request) {
    int ranks = request.ranks();
    int root = request.root();
    return switch (request.collective()) {
      case ALL_REDUCE -> rings(request, ring -> ring.reduceScatter().then(ring.allGather()));
      case REDUCE_SCATTER -> rings(request, Ring::reduceScatter);
      case ALL_GATHER -> rings(request, Ring::allGather);
      case BROADCAST ->
          chains(request, step -> Chains.oneWay(ranks, root, step, chunk(step)).broadcast());
      case REDUCE ->
          chains(request, step -> Chains.oneWay(ranks, root, -step, chunk(step)).reduce());
      case BARRIER, GATHER, SCATTER, ALL_TO_ALL -> DirectPlans.of(request);
    };
  }

  private static Plan rings(PlanRequest request, Function<Ring, Rounds> phases) {
    int ranks = request.ranks();
    return Plan.of(request, 2 * ranks, phases.apply(ring(ranks, 1)), phases.apply(ring(ranks, -1)));
  }

  private static Ring ring(int ranks, int step) {
    IntUnaryOperator same = IntUnaryOperator.identity();
    return new Ring(ranks, same, place -> 2 * place + chunk(step), 1, step);
  }

  private static Plan chains(PlanRequest request, IntFunction<Rounds> byStep) {
    return Plan.of(request, 2, byStep.apply(1), byStep.apply(-1));
  }

  /** Returns the number, 0 or 1, of a rank's chunk that goes in the direction of a step. */
  private static int chunk(int step) {
    return step > 0 ? 0 : 1;
  }
}
