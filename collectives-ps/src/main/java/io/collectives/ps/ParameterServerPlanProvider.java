package io.collectives.ps;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.plan.Dissemination;
import io.collectives.plan.Plan;
import io.collectives.spi.PlanProvider;
import java.util.Optional;

/** Plans {@link Algorithm#parameterServer}. */
public final class ParameterServerPlanProvider implements PlanProvider {

  /** For the service loader. */
  public ParameterServerPlanProvider() {}

  @Override
  public Optional<Plan> plan(Algorithm algorithm, Collective collective, int ranks) {
    if (!(algorithm instanceof Algorithm.ParameterServer server)) {
      return Optional.empty();
    }
    ParameterServerPlan.requireFit(ranks, server.servers());
    return Optional.of(
        switch (collective) {
          case ALL_REDUCE -> ParameterServerPlan.allReduce(ranks, server.servers());
          case BARRIER -> Dissemination.barrier(ranks);
        });
  }
}
