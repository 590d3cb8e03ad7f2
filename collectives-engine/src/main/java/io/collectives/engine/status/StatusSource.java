package io.collectives.engine.status;

import org.jspecify.annotations.Nullable;

/** Tells what the engine of a rank does and has done. Any thread may ask. */
public interface StatusSource {
  /**
   * Describes the engine in lines, each a word and facts with tabs between.
   *
   * @param nanos how long to wait at most for the thread that drives it
   * @return null if that thread has not let go of it in that time
   */
  @Nullable String report(long nanos) throws InterruptedException;

  /** The most bytes that the library holds for frames and buffers. */
  long memoryLimit();

  /** Returns the last calls as text. */
  String flightRecord();

  /**
   * Begins to trace the rank.
   *
   * @param nanos after which that ends by itself
   * @throws IllegalStateException if it is traced already
   */
  void beginTrace(long nanos);

  /** Ends that, if it has not ended; returns the trace as text, nothing if there is none. */
  @Nullable String takeTrace();
}
