package io.collectives.bench.runreport;

import java.util.List;
import java.util.NavigableMap;

/**
 * The report of one rank. Times are microseconds unless their name says otherwise.
 *
 * @param failures in words, first ones first
 * @param reducers the gradient reducers of the rank, by number
 */
record RankReport(
    Job job,
    Machine machine,
    List<String> failures,
    List<Calls> calls,
    List<Choice> choices,
    NavigableMap<Integer, Reducer> reducers) {

  /**
   * The rank and its time.
   *
   * @param isClosed whether it has closed its world after the report
   */
  record Job(
      int rank, int size, String host, long begunMillis, long writtenMillis, boolean isClosed) {
    long millis() {
      return Math.max(1, writtenMillis - begunMillis);
    }
  }

  /** The transports, memory and garbage collections of a rank. */
  record Machine(
      List<String> transports,
      long libraryBytes,
      long heapBytes,
      long gcMillis,
      long collections) {}

  /** The counters of calls of one kind. */
  record Calls(CallKind kind, long calls, long failed, long bytes, long nanos, long longestNanos) {}

  /** The calls that are counted together. */
  record CallKind(String group, String collective, String algorithm, long mostBytes) {}

  /** A choice of {@code auto} and its reason. */
  record Choice(long bytes, String algorithm, String row, String source) {}

  /** A gradient reducer. */
  record Reducer(
      long steps, List<Buffer> buffers, List<Interval> intervals, NavigableMap<Long, Step> kept) {}

  /** A fusion buffer. */
  record Buffer(int lane, long bytes, long tensors, String closedBy) {}

  /** The sums of times of some steps in a row. */
  record Interval(
      long first, long steps, long micros, Parts parts, long longest, long gcMillis, double loss) {}

  /**
   * Parts of the time of steps.
   *
   * @param sums the time in which a sum was under way
   * @param hidden the part of it before the program waited
   */
  record Parts(long outside, long backward, long await, long sums, long hidden) {}

  /**
   * A step.
   *
   * @param times by buffer four moments: its first tensor was ready, its last was, its sum began,
   *     and ended
   */
  record Step(long outside, long backward, long await, long gcMillis, double loss, long[] times) {
    private static final int MOMENTS = 4;

    long micros() {
      return outside + backward + await;
    }

    int buffers() {
      return times.length / MOMENTS;
    }

    long first(int buffer) {
      return times[MOMENTS * buffer];
    }

    long ready(int buffer) {
      return times[MOMENTS * buffer + 1];
    }

    long begun(int buffer) {
      return times[MOMENTS * buffer + 2];
    }

    long ended(int buffer) {
      return times[MOMENTS * buffer + 3];
    }
  }
}
