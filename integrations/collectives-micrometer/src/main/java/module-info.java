/** Metrics of the calls of a rank, for Micrometer. */
@SuppressWarnings({"requires-automatic", "requires-transitive-automatic"}) // Micrometer has no modules.
module io.collectives.micrometer {
  requires transitive io.collectives.api;
  requires transitive micrometer.core;

  exports io.collectives.micrometer;
}
