package io.collectives.spi;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import java.util.Optional;

/**
 * Turns the names of algorithms into plans; found by {@link java.util.ServiceLoader}. Must be
 * usable by any thread.
 */
public interface PlanProvider {

  /**
   * The plan of a collective by an algorithm.
   *
   * @return nothing if this provider does not know the algorithm, or not for this collective
   * @throws IllegalArgumentException if the algorithm does not fit the number of ranks, saying what
   *     would
   */
  Optional<Plan> plan(Algorithm algorithm, PlanRequest request);

  /**
   * The plan of a collective without a root, or with rank 0 as its root.
   *
   * @param ranks the number of ranks in the group, at least 1
   * @return as {@link #plan(Algorithm, PlanRequest)}
   */
  default Optional<Plan> plan(Algorithm algorithm, Collective collective, int ranks) {
    return plan(algorithm, PlanRequest.of(collective, ranks));
  }
}
