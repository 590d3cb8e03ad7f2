package io.collectives;

/**
 * A rank left or died while others needed it. Every surviving rank of the group gets this, with the
 * same culprit.
 */
public final class RankFailedException extends CollectiveException {
  private static final long serialVersionUID = 1L;

  private final int worldRank;

  /**
   * An error with a message for people.
   *
   * @param worldRank the rank, counted in the whole job, that failed
   */
  public RankFailedException(String message, int worldRank) {
    super(message);
    this.worldRank = worldRank;
  }

  /** The rank, counted in the whole job, that failed. */
  public int worldRank() {
    return worldRank;
  }
}
