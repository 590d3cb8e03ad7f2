package io.collectives.bench.timeline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The checks that traces of every transport must pass. */
final class Traces {
  private Traces() {}

  /** Checks the traces in a directory, in which nothing was dropped. Returns them aligned. */
  static JobTrace check(Path directory, int ranks, int callsOfEach) throws Exception {
    JobTrace job = JobTrace.read(directory);
    assertEquals(ranks, job.traces().size());
    for (RankTrace trace : job.traces()) {
      assertEquals(new RankTrace.Dropped(0, 0), trace.dropped());
      assertEquals(false, trace.cutOff());
      List<TraceEvent> calls =
          trace.events().stream().filter(event -> event.kind().isCall()).toList();
      assertEquals(callsOfEach, calls.size());
      for (TraceEvent event : trace.events()) {
        assertTrue(event.worked() <= event.nanos() || event.kind().isCall(), event::toString);
      }
      nested(trace, calls);
      apart(trace);
    }
    paired(job);
    forwards(job);
    return job;
  }

  /** Frames of a call are sent and applied, and waited for, while it is under way. */
  private static void nested(RankTrace trace, List<TraceEvent> calls) {
    Map<TraceEvent.Place, TraceEvent> byPlace = new HashMap<>();
    calls.forEach(call -> byPlace.put(call(call), call));
    for (TraceEvent event : trace.events()) {
      boolean isOfCall =
          event.kind() == TraceEvent.Kind.SEND
              || event.kind() == TraceEvent.Kind.RECEIVE
              || event.kind() == TraceEvent.Kind.WAIT;
      if (isOfCall) {
        TraceEvent call = byPlace.get(call(event));
        assertTrue(call != null, () -> event + " is of no call");
        assertTrue(event.end() <= call.end(), () -> event + " ends after " + call);
        assertTrue(
            event.kind() == TraceEvent.Kind.RECEIVE || event.begin() >= call.begin(),
            () -> event + " begins before " + call);
      }
    }
  }

  private static TraceEvent.Place call(TraceEvent event) {
    return new TraceEvent.Place(event.place().group(), event.place().sequence(), 0, 0, 0, 0);
  }

  /** A rank does one thing at a time, and does nothing while it waits. */
  private static void apart(RankTrace trace) {
    List<long[]> busy =
        trace.events().stream()
            .filter(event -> !event.kind().isCall() && event.worked() > 0)
            .map(event -> new long[] {event.end() - event.worked(), event.end()})
            .sorted((a, b) -> Long.compare(a[0], b[0]))
            .toList();
    for (int i = 1; i < busy.size(); i++) {
      assertTrue(busy.get(i - 1)[1] <= busy.get(i)[0], "work overlaps");
    }
    List<TraceEvent> waits =
        trace.events().stream().filter(event -> event.kind() == TraceEvent.Kind.WAIT).toList();
    for (int i = 1; i < waits.size(); i++) {
      assertTrue(waits.get(i - 1).end() <= waits.get(i).begin(), "waits overlap");
    }
    Intervals waiting = Intervals.of(waits);
    for (long[] work : busy) {
      assertEquals(0, waiting.covered(work[0], work[1]), "it works while it waits");
    }
  }

  private static void paired(JobTrace job) {
    long sent = count(job, TraceEvent.Kind.SEND);
    assertTrue(sent > 0);
    assertEquals(sent, count(job, TraceEvent.Kind.RECEIVE));
    assertEquals(sent, job.frames().size());
    for (Frame frame : job.frames()) {
      assertEquals(frame.sent().bytes(), frame.received().bytes());
    }
  }

  private static long count(JobTrace job, TraceEvent.Kind kind) {
    return job.traces().stream()
        .flatMap(trace -> trace.events().stream())
        .filter(event -> event.kind() == kind)
        .count();
  }

  /**
   * No frame comes before it was sent, but by the errors of the clocks. An inline exchange that was
   * not timed may have come later than in the moment that is recorded.
   */
  private static void forwards(JobTrace job) {
    for (Frame frame : job.frames()) {
      long error = job.offsets().error(frame.from()) + job.offsets().error(frame.to());
      assertTrue(
          frame.received().isInline() || frame.received().begin() - frame.sent().begin() >= -error,
          frame::toString);
    }
  }
}
