package io.collectives.engine.run;

import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import java.util.Arrays;
import java.util.List;

/**
 * Counts for all ranks how many have contributed to each chunk, to find where a reduction is
 * complete. Plans never add a contribution twice, so numbers tell what sets would.
 */
final class Contributions {
  private final int contributors;
  private final int chunks;
  private final int[] counts;

  /** By chunk: how many ranks have completed it by a reduction. */
  private final int[] completions;

  /** If true, all that was reduced were the contributions of all other ranks, in one round. */
  private boolean meet = true;

  /** The effects of the transfers of a round in the order of the plan: rank, chunk, effect. */
  private int[] events = new int[256];

  private int eventCount;

  Contributions(Plan plan) {
    contributors = plan.contributors();
    chunks = plan.chunks();
    counts = new int[Math.multiplyExact(plan.ranks(), chunks)];
    Arrays.fill(counts, 0, contributors * chunks, 1);
    completions = new int[chunks];
  }

  /** Returns whether several ranks complete any of the chunks. */
  boolean hasSeveralOwners() {
    return Arrays.stream(completions).anyMatch(owners -> owners > 1);
  }

  /** Returns whether several ranks complete one of the chunks that a step brings. */
  boolean isExchanged(Program.Step step) {
    for (int chunk = step.firstChunk; chunk < step.firstChunk + step.chunkCount; chunk++) {
      if (step.effect == Effect.REDUCE && completions[chunk] > 1) {
        return true;
      }
    }
    return false;
  }

  /**
   * Returns whether every reduction so far has brought the contributions of all other ranks
   * together, in one round, by one transfer each.
   */
  boolean meet() {
    return meet;
  }

  /** A transfer carries what its chunks held when the round began. */
  void transfer(int from, int to, int first, int count, Effect effect) {
    for (int chunk = first; chunk < first + count; chunk++) {
      if (eventCount + 3 > events.length) {
        events = Arrays.copyOf(events, 2 * events.length);
      }
      int carried = counts[from * chunks + chunk];
      events[eventCount++] = to;
      events[eventCount++] = chunk;
      events[eventCount++] = effect == Effect.REDUCE ? carried : -carried;
      meet &= effect == Effect.REPLACE || carried == 1;
    }
  }

  /** Marks the receives of a rank in this round, in the order of the plan. */
  void endRound(int rank, List<Program.Step> receives) {
    int step = 0;
    int chunkOfStep = 0;
    for (int i = 0; i < eventCount; i += 3) {
      int at = events[i] * chunks + events[i + 1];
      int carried = events[i + 2];
      counts[at] = carried < 0 ? -carried : counts[at] + carried;
      boolean completes = carried > 0 && counts[at] == contributors;
      if (completes) {
        completions[events[i + 1]]++;
      }
      if (events[i] == rank) {
        Program.Step receive = receives.get(step);
        receive.completes[chunkOfStep] = completes;
        chunkOfStep++;
        if (chunkOfStep == receive.chunkCount) {
          chunkOfStep = 0;
          step++;
        }
      }
    }
    for (int i = 0; i < eventCount && meet; i += 3) {
      meet = events[i + 2] < 0 || counts[events[i] * chunks + events[i + 1]] == contributors;
    }
    eventCount = 0;
  }
}
