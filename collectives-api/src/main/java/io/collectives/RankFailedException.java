package io.collectives;

/**
 * A rank left or died while others needed it. Every surviving rank of the group gets this, with the
 * same culprit, as {@link CollectiveException} says; of several that died at once it is one, and
 * {@link Communicator#shrink()} goes on without all of them.
 */
public final class RankFailedException extends CollectiveException {
  private static final long serialVersionUID = 1L;

  /** How a rank failed. */
  public enum Verdict {
    /** Its process has ended, its connection broke, or it has closed the group. */
    DEAD,
    /**
     * It gave no sign of life for the limit of silence: it is stopped, or cut off. It may live on,
     * but is given up for good.
     */
    UNRESPONSIVE
  }

  private final int worldRank;
  private final Verdict verdict;

  /**
   * An error with a message for people.
   *
   * @param worldRank the rank, counted in the whole job, that failed
   */
  public RankFailedException(String message, int worldRank, Verdict verdict) {
    super(message);
    this.worldRank = worldRank;
    this.verdict = verdict;
  }

  /** The rank, counted in the whole job, that failed; this rank itself if others gave it up. */
  public int worldRank() {
    return worldRank;
  }

  /** How it failed. */
  public Verdict verdict() {
    return verdict;
  }
}
