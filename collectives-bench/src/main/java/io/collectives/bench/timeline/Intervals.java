package io.collectives.bench.timeline;

import java.util.ArrayList;
import java.util.List;

/** Stretches of time that do not overlap, in their order. */
final class Intervals {
  private final List<long[]> all;

  private Intervals(List<long[]> all) {
    this.all = all;
  }

  /** Joins stretches that may overlap; they come in the order of their beginnings. */
  static Intervals of(Iterable<TraceEvent> events) {
    List<long[]> joined = new ArrayList<>();
    for (TraceEvent event : events) {
      long[] last = joined.isEmpty() ? null : joined.get(joined.size() - 1);
      if (last != null && event.begin() <= last[1]) {
        last[1] = Math.max(last[1], event.end());
      } else {
        joined.add(new long[] {event.begin(), event.end()});
      }
    }
    return new Intervals(joined);
  }

  /** Returns how long they are together. */
  long total() {
    return all.stream().mapToLong(one -> one[1] - one[0]).sum();
  }

  /** Returns how much of a stretch they cover. */
  long covered(long begin, long end) {
    long covered = 0;
    for (int i = firstThatEndsAfter(begin); i < all.size() && all.get(i)[0] < end; i++) {
      covered += Math.min(end, all.get(i)[1]) - Math.max(begin, all.get(i)[0]);
    }
    return covered;
  }

  private int firstThatEndsAfter(long time) {
    int low = 0;
    int high = all.size();
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (all.get(middle)[1] <= time) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
}
