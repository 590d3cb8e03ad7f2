package io.collectives;

/**
 * Thrown when a rank left or died while others needed it. Every surviving rank of the group gets
 * this exception, with the same culprit, as {@link CollectiveException} says. If several ranks died
 * at once, it names one of them; {@link Communicator#shrink()} leaves out all of them.
 */
public final class RankFailedException extends CollectiveException {
  private static final long serialVersionUID = 1L;

  /** The ways in which a rank can fail. */
  public enum Verdict {
    /** Its process has ended, its connection broke, or it has closed the group. */
    DEAD,
    /**
     * It sent no message for the silence limit: it is stopped, or cut off. It may still run, but is
     * given up for good.
     */
    UNRESPONSIVE
  }

  private final int worldRank;
  private final Verdict verdict;

  /**
   * Makes an exception with a message for people.
   *
   * @param worldRank the rank, counted in the whole job, that failed
   */
  public RankFailedException(String message, int worldRank, Verdict verdict) {
    super(message);
    this.worldRank = worldRank;
    this.verdict = verdict;
  }

  /**
   * Returns the rank, counted in the whole job, that failed; this rank itself if others gave it up.
   */
  public int worldRank() {
    return worldRank;
  }

  /** Returns how the rank failed. */
  public Verdict verdict() {
    return verdict;
  }
}
