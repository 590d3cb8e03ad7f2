package io.collectives.bench.status;

import java.util.List;

/**
 * A rank that kept others waiting when they were looked at.
 *
 * @param rank in the job
 * @param looks at how many looks it did
 * @param longest the chain of the rank that waited for longest
 * @param waiting the ranks that waited for it at that look
 * @param isSteady whether that rank waited in the same call at all looks
 */
public record Culprit(int rank, int looks, Chain longest, List<Integer> waiting, boolean isSteady) {
  /** Keeps a copy of the list. */
  public Culprit {
    waiting = List.copyOf(waiting);
  }
}
