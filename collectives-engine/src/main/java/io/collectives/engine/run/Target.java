package io.collectives.engine.run;

/** Where a frame goes. */
abstract class Target {
  Call.SlabRun run;
  Program.Step step;
}
