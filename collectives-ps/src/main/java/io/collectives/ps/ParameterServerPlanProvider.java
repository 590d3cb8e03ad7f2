package io.collectives.ps;

import io.collectives.Algorithm;
import io.collectives.Algorithm.ParameterServer;
import io.collectives.Collective;
import io.collectives.plan.DirectPlans;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.spi.AlgorithmSpec;
import io.collectives.spi.AlgorithmSpec.Cost;
import io.collectives.spi.PlanProvider;
import java.util.List;
import java.util.Optional;

/**
 * Plans {@link Algorithm#parameterServer(int, int)}: an all-reduce through servers, which are there
 * to reduce, and every other collective directly.
 */
public final class ParameterServerPlanProvider implements PlanProvider {
  private static final List<String> NAMES = List.of("parameter-server");

  /** Makes the provider; the service loader calls this. */
  public ParameterServerPlanProvider() {}

  @Override
  public List<String> names() {
    return NAMES;
  }

  @Override
  public List<AlgorithmSpec> algorithms() {
    return List.of(
        AlgorithmSpec.of(NAMES.get(0), "Some ranks serve a share each.", DirectPlans::of)
            .withParameters(
                new AlgorithmSpec.Parameters(
                    ServersText.FORM, ServersText.ALLOWED, new ServersText()),
                ParameterServerPlanProvider::plan)
            .withFigures(n -> n == 1 ? 0 : 2, ParameterServerPlanProvider::bytes)
            .withCost(ParameterServerPlanProvider::cost));
  }

  private static Plan plan(Algorithm algorithm, PlanRequest request) {
    ParameterServer server = (ParameterServer) algorithm;
    Shares.requireFit(request.ranks(), server);
    return request.collective() == Collective.ALL_REDUCE
        ? ParameterServerPlan.allReduce(request.ranks(), server)
        : DirectPlans.of(request);
  }

  /**
   * Returns the bytes that a server among n/2 sends: its own contribution to the others, and sums
   * to all others.
   */
  private static double bytes(int ranks) {
    int servers = Math.max(1, ranks / 2);
    return (servers - 1.0 + ranks - 1) / servers;
  }

  private static Optional<Cost> cost(Algorithm algorithm, int ranks) {
    ParameterServer server = (ParameterServer) algorithm;
    double added = server.dedicated() > 0 ? ranks - server.dedicated() : ranks - 1;
    double share = 1.0 / server.servers();
    return server.hosts().isEmpty()
        ? Optional.of(new Cost(2, 2 * share, added * share, false))
        : Optional.empty();
  }
}
