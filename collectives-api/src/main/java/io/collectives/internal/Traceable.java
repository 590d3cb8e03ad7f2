package io.collectives.internal;

/**
 * A communicator whose rank may be {@linkplain io.collectives.Communicator#trace traced}, as those
 * see it that have events of their own to add.
 */
public interface Traceable {

  /** Returns whether the rank is traced; it takes one look at a field. */
  boolean isTraced();

  /**
   * Adds the event that something is so from now on.
   *
   * @param name for people
   */
  void mark(String name);
}
