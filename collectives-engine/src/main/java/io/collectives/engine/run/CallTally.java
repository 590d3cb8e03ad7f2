package io.collectives.engine.run;

import io.collectives.Statistics;
import io.collectives.internal.CallFingerprint;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Counts the calls of one program in a group, by the size of their payloads. */
final class CallTally {
  /** The sizes 0, 4, 16 and so on to 4^32. */
  private static final int SIZES = 33;

  private final Program program;
  private final @Nullable Counters[] bySize = new Counters[SIZES];

  CallTally(Program program) {
    this.program = program;
  }

  private static final class Counters {
    long calls;
    long failedCalls;
    long bytes;
    long nanos;
    long longestNanos;
  }

  /** A call has ended. */
  void ended(long bytes, boolean isFailed, long nanos) {
    int size = size(bytes);
    Counters counters = bySize[size];
    if (counters == null) {
      counters = new Counters();
      bySize[size] = counters;
    }
    counters.calls++;
    if (isFailed) {
      counters.failedCalls++;
    }
    counters.bytes += bytes;
    counters.nanos += nanos;
    if (nanos > counters.longestNanos) {
      counters.longestNanos = nanos;
    }
  }

  /** Returns the least k for which 4^k is as long, but 0 for no bytes only. */
  private static int size(long bytes) {
    return bytes == 0 ? 0 : Math.max(1, (Long.SIZE + 1 - Long.numberOfLeadingZeros(bytes - 1)) / 2);
  }

  /** Adds the counters to those of calls of the same kind. */
  void addTo(Map<Statistics.Kind, Statistics.Totals> sums, String group) {
    boolean isMessage = program.algorithmName.equals(CallFingerprint.MESSAGE);
    String collective = isMessage ? "send/receive" : program.collective.toString();
    for (int size = 0; size < SIZES; size++) {
      Counters counters = bySize[size];
      if (counters != null) {
        long mostBytes = size == 0 ? 0 : size == SIZES - 1 ? Long.MAX_VALUE : 1L << 2 * size;
        sums.merge(
            new Statistics.Kind(collective, program.algorithm.name(), group, mostBytes),
            new Statistics.Totals(
                counters.calls,
                counters.failedCalls,
                counters.bytes,
                counters.nanos,
                counters.longestNanos),
            Statistics.Totals::plus);
      }
    }
  }
}
