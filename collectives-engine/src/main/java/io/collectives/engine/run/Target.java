package io.collectives.engine.run;

/** Where a frame goes. */
abstract class Target {
  SlabRun run;
  Program.Step step;
}
