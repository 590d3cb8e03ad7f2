package io.collectives.engine.run;

/** The place that a frame goes to. */
abstract class Target {
  SlabRun run;
  Program.Step step;
}
