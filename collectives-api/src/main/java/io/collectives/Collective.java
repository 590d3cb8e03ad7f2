package io.collectives;

/**
 * The collectives: calls in which all ranks of a group take part.
 *
 * <p>Where a payload is distributed over the ranks, <em>part i</em> is the block that rank i owns:
 * of {@code count} elements and n ranks, the elements from {@code floor(i * count / n)} to {@code
 * floor((i + 1) * count / n)}, whatever the algorithm; {@link io.collectives.plan.Chunks#start
 * Chunks.start(count, i, n)} computes it. So a {@link #REDUCE_SCATTER} and then an {@link
 * #ALL_GATHER} make an {@link #ALL_REDUCE}, and a change that a rank makes to its own part between
 * the two reaches all ranks.
 */
public enum Collective {
  /** Every rank ends with the reduction of all ranks' payloads. */
  ALL_REDUCE("all-reduce", false, true),
  /** No rank leaves before every rank has entered. */
  BARRIER("barrier", false, false),
  /** Rank i ends with part i of the reduction of all ranks' payloads; the rest is undefined. */
  REDUCE_SCATTER("reduce-scatter", false, true),
  /** Rank i starts with part i of the payload; every rank ends with all parts. */
  ALL_GATHER("all-gather", false, false),
  /** Every rank ends with the payload of the root. */
  BROADCAST("broadcast", true, false),
  /** The root ends with the reduction of all ranks' payloads; those of others are undefined. */
  REDUCE("reduce", true, true),
  /** Rank i starts with part i of the payload; the root ends with all parts. */
  GATHER("gather", true, false),
  /** The root starts with the payload; rank i ends with part i. */
  SCATTER("scatter", true, false),
  /** Rank i ends with part i of the payload of every rank. */
  ALL_TO_ALL("all-to-all", false, false);

  private final String label;
  private final boolean rooted;
  private final boolean reduces;

  Collective(String label, boolean rooted, boolean reduces) {
    this.label = label;
    this.rooted = rooted;
    this.reduces = reduces;
  }

  /** Returns whether the collective has a root, which must be the same on all ranks. */
  public boolean rooted() {
    return rooted;
  }

  /**
   * Returns whether elements of all ranks are combined, so that the collective has an op.
   *
   * @since 0.2.0
   */
  public boolean reduces() {
    return reduces;
  }

  /** Returns the name in tables, on the command line and in errors, such as {@code all-reduce}. */
  @Override
  public String toString() {
    return label;
  }
}
