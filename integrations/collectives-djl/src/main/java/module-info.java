/** Data-parallel training with DJL on its PyTorch engine. */
@SuppressWarnings({"requires-automatic", "requires-transitive-automatic"}) // DJL has no modules.
module io.collectives.djl {
  requires transitive ai.djl.api;
  requires transitive io.collectives.api;

  exports io.collectives.djl;
}
