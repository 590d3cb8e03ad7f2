package io.collectives.internal;

import io.collectives.StepReport;
import org.jspecify.annotations.Nullable;

/** Hears of the steps of the gradient reducers of a job. Any thread may call it. */
public interface StepListener {
  /** A communicator of a job that may have a listener. */
  interface Source {
    /** Returns the listener of the job, or null if nobody wants to hear of steps. */
    @Nullable StepListener stepListener();
  }

  /** Returns the number of a new reducer, the same on all ranks that make them in one order. */
  int reducerMade();

  /** A step has ended on this rank. */
  void stepEnded(int reducer, StepReport step);
}
