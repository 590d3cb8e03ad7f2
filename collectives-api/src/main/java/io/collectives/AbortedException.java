package io.collectives;

/**
 * Thrown when a live rank gave up a group: it called {@link Communicator#abort}, its waiting thread
 * was interrupted, it began to {@linkplain Communicator#shrink() shrink}, or an error such as
 * {@link OutOfMemoryError} hit it in the middle of a call. Every rank of the group gets this
 * exception, with the same culprit.
 */
public final class AbortedException extends CollectiveException {
  private static final long serialVersionUID = 1L;

  private final int worldRank;

  /**
   * Makes an exception with a message for people.
   *
   * @param worldRank the rank, counted in the whole job, that gave up
   */
  public AbortedException(String message, int worldRank) {
    super(message);
    this.worldRank = worldRank;
  }

  /**
   * Makes an exception with a message for people and a cause.
   *
   * @param worldRank the rank, counted in the whole job, that gave up
   */
  public AbortedException(String message, int worldRank, Throwable cause) {
    super(message, cause);
    this.worldRank = worldRank;
  }

  /** Returns the rank, counted in the whole job, that gave up the group. */
  public int worldRank() {
    return worldRank;
  }
}
