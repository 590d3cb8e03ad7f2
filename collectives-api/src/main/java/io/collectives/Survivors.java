package io.collectives;

import java.util.List;

/**
 * What is left of a group after a failure; all of it is the same on every survivor.
 *
 * @param group the survivors, in the order of their ranks in the old group
 * @param resumeAt the {@linkplain Communicator#nextSequence() number} of the first call on the old
 *     group that not every survivor completed. To lose nothing, make that call and all after it
 *     again on the new group; a rank that had completed one of them gets its result once more
 * @param lost the world ranks that the old group had and the new one has not, ascending
 */
public record Survivors(Communicator group, long resumeAt, List<Integer> lost) {

  /** Keeps a copy of the list. */
  public Survivors {
    lost = List.copyOf(lost);
  }
}
