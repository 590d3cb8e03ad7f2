package io.collectives.engine.status;

import org.jspecify.annotations.Nullable;

/** Tells what the engine of a rank does. Any thread may ask. */
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
}
