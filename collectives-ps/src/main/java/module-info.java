import io.collectives.ps.ParameterServerPlanProvider;

/** Parameter servers: their plan, and servers that keep parameters for training loops. */
module io.collectives.ps {
  requires transitive io.collectives.api;
  requires transitive io.collectives.training;

  exports io.collectives.ps;
  exports io.collectives.ps.store;

  provides io.collectives.spi.PlanProvider with
      ParameterServerPlanProvider;
}
