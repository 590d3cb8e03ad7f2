package io.collectives.engine.join;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * All that a rank knows of the world while it meets others in a directory: the files there, the
 * time, and whether its user still wants it to. {@link SharedDirectory} is the real one; in
 * simulations time and files are their own.
 */
interface Surroundings {

  /** Returns the time, as {@link System#nanoTime} does. */
  long nanoTime();

  /** Waits, or less long if something may have changed. */
  void pause(long nanos);

  /** Returns whether the user has closed the rendezvous. */
  boolean isClosed();

  /** Returns whether the user's thread has been interrupted. */
  boolean isInterrupted();

  /**
   * Returns the content of a file, without the bytes that lie beyond {@link Note#LONGEST} and one.
   *
   * @return nothing if it is not there
   * @throws IOException if it cannot be read, or is no regular file
   */
  byte @Nullable [] read(Path file) throws IOException;

  /** Returns whether there is a file of this name, of whichever kind. */
  boolean exists(Path file);

  /** Makes a file of these bytes, whole and at once, and returns true, unless there is one. */
  boolean create(Path file, byte[] bytes) throws IOException;

  /** Makes a file of these bytes, whole and at once, whatever it was. */
  void replace(Path file, byte[] bytes) throws IOException;

  /** Removes a file, and returns whether there was one. */
  boolean delete(Path file) throws IOException;

  /** The files whose names begin so; not all if there are more than any job has. */
  List<Path> list(String prefix) throws IOException;
}
