package io.collectives.engine.run;

import org.jspecify.annotations.Nullable;

/** The place that a frame goes to, once its call has accepted it. */
abstract class Target {
  /** If true, its body is read where it is, in memory of its sender. */
  boolean isView;

  /** The time at which its header came, if that is recorded. */
  long arrivedNanos;

  private @Nullable SlabRun run;
  private Program.@Nullable Step step;

  /** Says where the frame goes. */
  final void aim(SlabRun newRun, Program.Step newStep) {
    run = newRun;
    step = newStep;
  }

  /** Returns the run of the slab that the frame is of. */
  final SlabRun run() {
    SlabRun of = run;
    if (of == null) {
      throw notAccepted();
    }
    return of;
  }

  /** Returns the step that receives the frame. */
  final Program.Step step() {
    Program.Step of = step;
    if (of == null) {
      throw notAccepted();
    }
    return of;
  }

  private static IllegalStateException notAccepted() {
    return new IllegalStateException("no call has accepted the frame");
  }
}
