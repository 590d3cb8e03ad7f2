package io.collectives.plan;

import java.util.Arrays;

/** Questions about the additions of an all-reduce, which its plan answers. */
public final class Additions {
  private Additions() {}

  /**
   * Returns whether all contributions to an element reach the rank that adds them in one round, so
   * that it can add them in the order of ranks, or exactly; otherwise partial sums are passed on.
   */
  public static boolean areAtOnce(Plan plan) {
    int chunks = plan.chunks();
    int workers = plan.contributors();
    int[] before = new int[Math.multiplyExact(plan.ranks(), chunks)];
    int[] after = new int[before.length];
    for (int lane = 0; lane < plan.lanes(); lane++) {
      for (int round = 0; round < plan.rounds(lane); round++) {
        boolean[] isSecondRound = new boolean[1];
        plan.transfers(
            lane,
            round,
            (from, to, first, count, effect) -> {
              for (int chunk = first; effect == Effect.REDUCE && chunk < first + count; chunk++) {
                int cell = to * chunks + chunk;
                isSecondRound[0] |= before[cell] > 0;
                after[cell]++;
              }
            });
        if (isSecondRound[0]) {
          return false;
        }
        System.arraycopy(after, 0, before, 0, after.length);
      }
    }
    for (int cell = 0; cell < after.length; cell++) {
      int others = cell / chunks < workers ? workers - 1 : workers;
      if (after[cell] != 0 && after[cell] != others) {
        return false;
      }
    }
    return true;
  }

  /**
   * Returns whether more than one rank computes the same sum, so that no rank can keep the rounding
   * error of a narrow wire type in it.
   */
  public static boolean areRepeated(Plan plan) {
    int workers = plan.contributors();
    int[] additions = new int[plan.chunks()];
    for (int lane = 0; lane < plan.lanes(); lane++) {
      for (int round = 0; round < plan.rounds(lane); round++) {
        plan.transfers(
            lane,
            round,
            (from, to, first, count, effect) -> {
              for (int chunk = first; effect == Effect.REDUCE && chunk < first + count; chunk++) {
                additions[chunk] += to < workers ? 1 : 0;
              }
            });
      }
    }
    return Arrays.stream(additions).anyMatch(times -> times > workers - 1);
  }
}
