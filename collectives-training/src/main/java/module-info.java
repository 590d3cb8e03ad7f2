/** Optimizers, and the parts of a training loop that several ranks share. */
module io.collectives.training {
  requires transitive io.collectives.api;

  exports io.collectives.training;
  exports io.collectives.training.evaluation;
  exports io.collectives.training.exact;
  exports io.collectives.training.layer;
  exports io.collectives.training.optimizer;
}
