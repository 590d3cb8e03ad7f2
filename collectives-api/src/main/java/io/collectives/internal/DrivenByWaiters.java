package io.collectives.internal;

/**
 * A communicator whose calls are moved on by the threads that wait for them, and by a thread of the
 * library where nobody waits. Who waits for one call after the other says so, so that the other
 * thread is not woken in between.
 */
public interface DrivenByWaiters {

  /** Tells that the caller waits from now on, in one call or another; this does not wait. */
  void beginWaiting();

  /** Takes back {@link #beginWaiting}. */
  void endWaiting();
}
