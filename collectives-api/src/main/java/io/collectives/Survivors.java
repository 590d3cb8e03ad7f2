package io.collectives;

import java.util.List;

/**
 * The result of {@link Communicator#shrink()}: the ranks that are left of a group after a failure.
 * It is the same on every survivor.
 *
 * @param group the survivors, in the order of their ranks in the old group
 * @param resumeAt the {@linkplain Communicator#nextSequence() number} of the first call on the old
 *     group that not every survivor completed. To lose nothing, make that call and all after it
 *     again on the new group; a rank that had completed one of them gets its result once more
 * @param lost the ranks, counted in the whole job, that the old group had and the new one does not
 *     have, ascending
 */
public record Survivors(Communicator group, long resumeAt, List<Integer> lost) {

  /** Keeps a copy of the list. */
  public Survivors {
    lost = List.copyOf(lost);
  }
}
