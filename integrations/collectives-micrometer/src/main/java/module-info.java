/** Metrics of the calls of a rank, for Micrometer. */
@SuppressWarnings({"requires-automatic", "requires-transitive-automatic"}) // They have none.
module io.collectives.micrometer {
  requires transitive io.collectives.api;
  requires transitive micrometer.core;

  exports io.collectives.micrometer;
}
