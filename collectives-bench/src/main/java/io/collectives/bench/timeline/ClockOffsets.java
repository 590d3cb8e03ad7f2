package io.collectives.bench.timeline;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The differences between the clocks of ranks, from the frames that they have exchanged.
 *
 * <p>A frame does not come before it was sent. So the least difference, over the frames from a to
 * b, between when they came on b's clock and when they were sent on a's, bounds from above by how
 * much b's clock is ahead; the frames from b to a bound it from below. The middle of the two is
 * taken, and is wrong by half of their distance at most, which is half of the shortest way there
 * and back. A rank that has exchanged no frames with rank 0 is compared by way of others, by those
 * whose errors have the least sum. Where clocks run at different rates the bounds may cross; their
 * distance is told all the same.
 */
final class ClockOffsets {
  private final long[] offsets;
  private final long[] errors;

  private ClockOffsets(long[] offsets, long[] errors) {
    this.offsets = offsets;
    this.errors = errors;
  }

  /** The error of a clock that was aligned by the time of day of its host. */
  static final long UNKNOWN = Long.MAX_VALUE;

  /**
   * Finds the offsets from the clock of the first trace.
   *
   * @param frames between these ranks
   */
  static ClockOffsets of(List<RankTrace> traces, List<Frame> frames) {
    Map<Integer, Integer> places = new HashMap<>();
    for (int i = 0; i < traces.size(); i++) {
      places.put(traces.get(i).rank(), i);
    }
    long[][] least = new long[traces.size()][traces.size()];
    for (long[] row : least) {
      Arrays.fill(row, UNKNOWN);
    }
    for (Frame frame : frames) {
      if (frame.received().isInline()) {
        continue; // It came at some time in a poll, of which the beginning is recorded.
      }
      int from = places.get(frame.from());
      int to = places.get(frame.to());
      long difference = frame.received().begin() - frame.sent().begin();
      least[from][to] = Math.min(least[from][to], difference);
    }
    return spread(traces, least);
  }

  /** Goes from the nearest rank to the next one, as Dijkstra does. */
  private static ClockOffsets spread(List<RankTrace> traces, long[][] least) {
    int size = traces.size();
    long[] offsets = new long[size];
    long[] errors = new long[size];
    Arrays.fill(errors, UNKNOWN);
    errors[0] = 0;
    List<Integer> open = new ArrayList<>();
    for (int i = 0; i < size; i++) {
      open.add(i);
      offsets[i] = traces.get(0).wall() - traces.get(i).wall();
    }
    while (!open.isEmpty()) {
      Integer near = open.get(0);
      for (Integer other : open) {
        near = errors[other] < errors[near] ? other : near;
      }
      open.remove(near);
      if (errors[near] == UNKNOWN) {
        break; // Nobody else has exchanged frames with these.
      }
      for (int other : open) {
        long there = least[near][other];
        long back = least[other][near];
        if (there != UNKNOWN && back != UNKNOWN) {
          long error = errors[near] + Math.abs((there + back + 1) / 2);
          if (error < errors[other]) {
            errors[other] = error;
            offsets[other] = offsets[near] + (there - back) / 2;
          }
        }
      }
    }
    return new ClockOffsets(offsets, errors);
  }

  /** Returns by how many nanoseconds the clock of a trace is ahead of that of the first one. */
  long offset(int index) {
    return offsets[index];
  }

  /**
   * Returns by how many nanoseconds that may be wrong; {@link #UNKNOWN} if only the time of day was
   * there to compare.
   */
  long error(int index) {
    return errors[index];
  }
}
