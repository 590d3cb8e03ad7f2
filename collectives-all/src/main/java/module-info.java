/** Everything that a training job needs; it holds no code. */
module io.collectives.all {
  requires transitive io.collectives.api;
  requires transitive io.collectives.engine;
  requires transitive io.collectives.netty;
  requires transitive io.collectives.ps;
  requires transitive io.collectives.torus;
  requires transitive io.collectives.training;
}
