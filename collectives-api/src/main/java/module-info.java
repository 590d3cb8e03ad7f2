/**
 * The API of users (communicators, groups, settings and errors), the model of plans with its
 * verifier, and the plug points, for which other modules bring implementations.
 */
@SuppressWarnings("module") // Those that see internals are built later.
module io.collectives.api {
  requires transitive org.jspecify;
  requires transitive org.slf4j;

  exports io.collectives;
  exports io.collectives.plan;
  exports io.collectives.spi;
  exports io.collectives.internal to
      io.collectives.engine,
      io.collectives.netty,
      io.collectives.testkit,
      io.collectives.vector;

  uses io.collectives.internal.MemoryKernels;
  uses io.collectives.spi.CollectivesRuntime;
  uses io.collectives.spi.PlanProvider;
  uses io.collectives.spi.RendezvousProvider;
  uses io.collectives.spi.TransportProvider;
  uses org.slf4j.spi.SLF4JServiceProvider;
}
