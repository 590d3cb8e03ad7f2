package io.collectives;

import java.io.UncheckedIOException;

/**
 * The tracing of a rank, from {@link Communicator#trace} until it is closed.
 *
 * @since 0.2.0
 */
public interface Trace extends AutoCloseable {

  /**
   * Ends tracing, frees its memory and writes the file. Any thread may call this; calls that are
   * under way go on, and are in the file as such. Closing again does nothing, nor does closing
   * after the world was closed, which has written the file.
   *
   * @throws UncheckedIOException if the file cannot be written
   */
  @Override
  void close();
}
