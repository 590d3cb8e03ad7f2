package io.collectives;

/**
 * Thrown when a call did not end by its deadline, because a rank that still sends keep-alives has
 * not made the call, or is stuck in it. The message says what was waited for. {@link
 * Communicator#shrink()} makes a group of all ranks that call it.
 */
public final class CallTimeoutException extends CollectiveException {
  private static final long serialVersionUID = 1L;

  private final int worldRank;

  /**
   * Makes an exception with a message for people.
   *
   * @param worldRank the rank, counted in the whole job, for which the others waited
   */
  public CallTimeoutException(String message, int worldRank) {
    super(message);
    this.worldRank = worldRank;
  }

  /** Returns the rank, counted in the whole job, for which the others waited in the end. */
  public int worldRank() {
    return worldRank;
  }
}
