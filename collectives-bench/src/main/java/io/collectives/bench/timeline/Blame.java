package io.collectives.bench.timeline;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * For whom ranks waited. Who is waited for may wait itself, so each stretch of a wait is followed
 * from rank to rank until one does not wait: it works in the call, or has not entered it. If ranks
 * wait for each other in a circle, the bytes between them are on their way.
 */
final class Blame {
  /** The rank of time for which nobody is to blame: bytes were on their way. */
  static final int NOBODY = -1;

  private final Map<Integer, List<TraceEvent>> waits = new HashMap<>();
  private final Map<Integer, Intervals> inCalls = new HashMap<>();
  private final Map<Integer, Intervals> pauses = new HashMap<>();
  private final Map<Integer, Map<Integer, Long>> times = new HashMap<>();
  private final Map<Integer, Reasons> reasons = new HashMap<>();

  /** The times that a rank spent while others waited for it, in nanoseconds. */
  static final class Reasons {
    private long outside;

    private long paused;
    private long inside;

    /** Returns how long it was in no call that is recorded. */
    long outside() {
      return outside;
    }

    /** Returns how long its garbage collector ran, in a call or not. */
    long paused() {
      return paused;
    }

    /** Returns how long it was in calls. */
    long inside() {
      return inside;
    }
  }

  /** Looks for who made others wait. */
  Blame(JobTrace job) {
    for (RankTrace trace : job.traces()) {
      int rank = trace.rank();
      waits.put(rank, events(trace, TraceEvent.Kind.WAIT));
      inCalls.put(
          rank,
          Intervals.of(trace.events().stream().filter(event -> event.kind().isCall()).toList()));
      pauses.put(rank, Intervals.of(events(trace, TraceEvent.Kind.GC)));
    }
    for (RankTrace trace : job.traces()) {
      times.put(trace.rank(), new HashMap<>());
      for (TraceEvent wait : waits.getOrDefault(trace.rank(), List.of())) {
        Set<Integer> way = new HashSet<>(Set.of(trace.rank()));
        follow(trace.rank(), wait.peer(), wait.begin(), wait.end(), way);
      }
    }
  }

  private static List<TraceEvent> events(RankTrace trace, TraceEvent.Kind kind) {
    return trace.events().stream().filter(event -> event.kind() == kind).toList();
  }

  private void follow(int waiter, int peer, long begin, long end, Set<Integer> way) {
    if (!way.add(peer)) {
      blame(waiter, NOBODY, begin, end);
      return;
    }
    long at = begin;
    List<TraceEvent> own = waits.getOrDefault(peer, List.of());
    for (int i = firstThatEndsAfter(own, begin); i < own.size(); i++) {
      TraceEvent wait = own.get(i);
      if (wait.begin() >= end) {
        break;
      }
      if (wait.begin() > at) {
        blame(waiter, peer, at, wait.begin());
      }
      long until = Math.min(end, wait.end());
      long from = Math.max(at, wait.begin());
      if (from < until) {
        follow(waiter, wait.peer(), from, until, way);
        at = until;
      }
    }
    if (at < end) {
      blame(waiter, peer, at, end);
    }
    way.remove(peer);
  }

  private static int firstThatEndsAfter(List<TraceEvent> waits, long time) {
    int low = 0;
    int high = waits.size();
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (waits.get(middle).end() <= time) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  private void blame(int waiter, int rank, long begin, long end) {
    times.get(waiter).merge(rank, end - begin, Long::sum);
    Intervals calls = inCalls.get(rank);
    if (calls != null) {
      Reasons why = reasons.computeIfAbsent(rank, one -> new Reasons());
      long inside = calls.covered(begin, end);
      why.inside += inside;
      why.outside += end - begin - inside;
      why.paused += pauses.get(rank).covered(begin, end);
    }
  }

  /** Returns how long a rank waited for others, by their ranks and {@link #NOBODY}. */
  Map<Integer, Long> of(int waiter) {
    return times.getOrDefault(waiter, Map.of());
  }

  /** Returns how long others waited for a rank in all. */
  long waitedFor(int rank) {
    return times.values().stream().mapToLong(times -> times.getOrDefault(rank, 0L)).sum();
  }

  /** Returns how long all ranks waited in all. */
  long total() {
    return times.values().stream()
        .flatMap(times -> times.values().stream())
        .mapToLong(Long::longValue)
        .sum();
  }

  /** Returns what a rank did while others waited for it. */
  Reasons reasons(int rank) {
    return reasons.getOrDefault(rank, new Reasons());
  }

  /** Returns the ranks that others waited for, the one that they waited for most first. */
  List<Integer> ranks() {
    Set<Integer> all = new HashSet<>();
    times.values().forEach(times -> all.addAll(times.keySet()));
    all.remove(NOBODY);
    List<Integer> sorted = new ArrayList<>(all);
    sorted.sort((a, b) -> Long.compare(waitedFor(b), waitedFor(a)));
    return sorted;
  }
}
