package io.collectives.engine;

import io.collectives.Algorithm;
import io.collectives.UnavailableException;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.spi.PlanProvider;
import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;

/** The plans of all modules on the class path. */
final class Plans {
  private final List<PlanProvider> providers =
      ServiceLoader.load(PlanProvider.class).stream().map(ServiceLoader.Provider::get).toList();

  /**
   * The plan of a collective.
   *
   * @throws UnavailableException if no module knows the algorithm
   */
  Plan plan(Algorithm algorithm, PlanRequest request) {
    for (PlanProvider provider : providers) {
      Optional<Plan> plan = provider.plan(algorithm, request);
      if (plan.isPresent()) {
        return plan.get();
      }
    }
    throw new UnavailableException(
        "no module on the class path plans "
            + request.collective()
            + " by the algorithm \""
            + algorithm.name()
            + "\": add the dependency "
            + algorithm.artifact()
            + ", or io.collectives:collectives-all for everything");
  }
}
