package io.collectives;

/**
 * A call did not end by its deadline, because a rank that beats has not made it, or is stuck in it.
 * The message tells for what it was waited. {@link Communicator#shrink()} goes on with all ranks
 * that take part in it.
 */
public final class CallTimeoutException extends CollectiveException {
  private static final long serialVersionUID = 1L;

  private final int worldRank;

  /**
   * An error with a message for people.
   *
   * @param worldRank the rank, counted in the whole job, that lags
   */
  public CallTimeoutException(String message, int worldRank) {
    super(message);
    this.worldRank = worldRank;
  }

  /** The rank, counted in the whole job, that the others waited for in the end. */
  public int worldRank() {
    return worldRank;
  }
}
