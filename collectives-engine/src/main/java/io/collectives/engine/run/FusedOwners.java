package io.collectives.engine.run;

import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import java.util.Arrays;

/**
 * Finds the owners of chunks whose reductions can be fused: the chunks to which all contributors
 * contribute in one round, at one rank that is sent nothing else of them, and which all others get
 * from it in one later round and never send on.
 */
final class FusedOwners {
  private static final int NONE = -1;
  private static final int NOT_FUSED = -2;

  private final int contributors;
  private final int[] owners;
  private final int[] reduceRounds;
  private final int[] reduces;
  private final int[] replaceRounds;
  private final int[] replaces;

  FusedOwners(Plan plan) {
    contributors = plan.contributors();
    owners = new int[plan.chunks()];
    Arrays.fill(owners, NONE);
    reduceRounds = new int[plan.chunks()];
    reduces = new int[plan.chunks()];
    replaceRounds = new int[plan.chunks()];
    replaces = new int[plan.chunks()];
  }

  void transfer(int round, int from, int to, int first, int count, Effect effect) {
    for (int chunk = first; chunk < first + count; chunk++) {
      boolean fits =
          effect == Effect.REDUCE ? reduce(round, to, chunk) : replace(round, from, chunk);
      if (!fits) {
        owners[chunk] = NOT_FUSED;
      }
    }
  }

  private boolean reduce(int round, int to, int chunk) {
    if (owners[chunk] == NONE) {
      owners[chunk] = to;
      reduceRounds[chunk] = round;
    }
    return owners[chunk] == to
        && reduceRounds[chunk] == round
        && ++reduces[chunk] <= otherContributors(chunk);
  }

  private boolean replace(int round, int from, int chunk) {
    if (replaces[chunk] == 0) {
      replaceRounds[chunk] = round;
    }
    return owners[chunk] == from
        && reduces[chunk] == otherContributors(chunk)
        && replaceRounds[chunk] == round
        && round > reduceRounds[chunk]
        && ++replaces[chunk] <= otherContributors(chunk);
  }

  /** Returns the number of ranks that contribute to a chunk beside its owner. */
  private int otherContributors(int chunk) {
    return contributors - (owners[chunk] < contributors ? 1 : 0);
  }

  boolean allMeetAt(int rank, Program.Step step) {
    for (int chunk = step.firstChunk; chunk < step.firstChunk + step.chunkCount; chunk++) {
      if (owners[chunk] != rank || replaces[chunk] != otherContributors(chunk)) {
        return false;
      }
    }
    return true;
  }
}
