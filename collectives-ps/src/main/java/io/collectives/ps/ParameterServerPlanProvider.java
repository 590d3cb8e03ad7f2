package io.collectives.ps;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.plan.DirectPlans;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.spi.PlanProvider;
import java.util.Optional;

/**
 * Plans {@link Algorithm#parameterServer(int, int)}: an all-reduce through servers, which are there
 * to reduce, and every other collective directly.
 */
public final class ParameterServerPlanProvider implements PlanProvider {

  /** For the service loader. */
  public ParameterServerPlanProvider() {}

  @Override
  public Optional<Plan> plan(Algorithm algorithm, PlanRequest request) {
    if (!(algorithm instanceof Algorithm.ParameterServer server)) {
      return Optional.empty();
    }
    Shares.requireFit(request.ranks(), server);
    return Optional.of(
        request.collective() == Collective.ALL_REDUCE
            ? ParameterServerPlan.allReduce(request.ranks(), server)
            : DirectPlans.of(request));
  }
}
