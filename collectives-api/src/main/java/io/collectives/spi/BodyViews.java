package io.collectives.spi;

/**
 * A {@link Transport#capability capability}: a receiver can be given the very bodies that its peers
 * send, to read them where they are and, as far as they allow it, write to them, as between threads
 * of one JVM. All ranks of a job use it, or none.
 */
public interface BodyViews {

  /**
   * From now on each frame with a body goes to this sink, and only the others, and losses, to that
   * of the poll. To be called before the first poll. If it is not called, bodies arrive as bytes.
   */
  void viewBy(ViewSink sink);
}
