package io.collectives.plan;

import java.util.Arrays;

/**
 * The lane to which each chunk belongs, and its place among the chunks of that lane. With it the
 * verifier keeps a state for each chunk of each rank only for the chunks of one lane at a time.
 *
 * <p>A chunk belongs to the first lane that names it, and to lane 0 if none does. Places are in the
 * order of chunks, so a range of chunks of one lane is a range of places.
 */
final class LaneChunks {
  private final int[] laneOf;
  private final int[] placeOf;
  private final int[][] chunksOf;

  private LaneChunks(int[] laneOf, int lanes) {
    this.laneOf = laneOf;
    this.placeOf = new int[laneOf.length];
    int[] sizes = new int[lanes];
    for (int chunk = 0; chunk < laneOf.length; chunk++) {
      placeOf[chunk] = sizes[laneOf[chunk]]++;
    }
    this.chunksOf = new int[lanes][];
    Arrays.setAll(chunksOf, lane -> new int[sizes[lane]]);
    for (int chunk = 0; chunk < laneOf.length; chunk++) {
      chunksOf[laneOf[chunk]][placeOf[chunk]] = chunk;
    }
  }

  /** Reads a plan, whose transfers need not be valid. */
  static LaneChunks of(Plan plan) {
    int[] laneOf = new int[plan.chunks()];
    if (plan.lanes() > 1) {
      Arrays.fill(laneOf, -1);
      for (int lane = 0; lane < plan.lanes(); lane++) {
        for (int round = 0; round < plan.rounds(lane); round++) {
          int reader = lane;
          plan.transfers(
              lane,
              round,
              (from, to, firstChunk, chunkCount, effect) -> {
                long end = Math.min((long) firstChunk + chunkCount, laneOf.length);
                for (int chunk = Math.max(0, firstChunk); chunk < end; chunk++) {
                  laneOf[chunk] = laneOf[chunk] < 0 ? reader : laneOf[chunk];
                }
              });
        }
      }
      Arrays.setAll(laneOf, chunk -> Math.max(0, laneOf[chunk]));
    }
    return new LaneChunks(laneOf, plan.lanes());
  }

  int lane(int chunk) {
    return laneOf[chunk];
  }

  int place(int chunk) {
    return placeOf[chunk];
  }

  /** Returns the chunks of a lane, ordered by place. */
  int[] of(int lane) {
    return chunksOf[lane];
  }

  /** Returns the number of chunks of the lane that has most. */
  int most() {
    return Arrays.stream(chunksOf).mapToInt(chunks -> chunks.length).max().orElseThrow();
  }
}
