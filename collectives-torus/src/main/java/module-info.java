import io.collectives.torus.TorusPlanProvider;

/** The plans of algorithms without servers: rings, tori, the direct exchange, trees. */
module io.collectives.torus {
  requires transitive io.collectives.api;

  exports io.collectives.torus;

  provides io.collectives.spi.PlanProvider with
      TorusPlanProvider;
}
