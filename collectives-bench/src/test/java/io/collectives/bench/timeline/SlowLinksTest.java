package io.collectives.bench.timeline;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.LongBinaryOperator;
import org.junit.jupiter.api.Test;

class SlowLinksTest {
  private static final int RANKS = 4;
  private static final int BYTES = 1 << 20;

  /** The way by which frames have come, as far as traces tell it. */
  private String by = "";

  /** All ranks send all others a few frames, which take as long as is said for the pair. */
  private JobTrace job(LongBinaryOperator nanos) {
    List<List<TraceEvent>> events = new ArrayList<>();
    for (int rank = 0; rank < RANKS; rank++) {
      events.add(new ArrayList<>());
    }
    for (int from = 0; from < RANKS; from++) {
      for (int to = 0; to < RANKS; to++) {
        for (int i = 0; from != to && i < 5; i++) {
          TraceEvent.Place place = new TraceEvent.Place(1, i, 0, 0, 0, 0);
          long begin = i * 100_000_000L;
          events.get(from).add(event(TraceEvent.Kind.SEND, begin, 1_000, place, to));
          // The first one is late at its receiver, which says nothing of the link.
          long took = nanos.applyAsLong(from, to) * (i == 0 ? 50 : 1);
          events.get(to).add(event(TraceEvent.Kind.RECEIVE, begin + 2_000, took, place, from));
        }
      }
    }
    List<RankTrace> traces = new ArrayList<>();
    for (int rank = 0; rank < RANKS; rank++) {
      RankTrace.Dropped nothing = new RankTrace.Dropped(0, 0);
      traces.add(new RankTrace(rank, RANKS, 0, nothing, false, events.get(rank)));
    }
    return JobTrace.of(traces);
  }

  private TraceEvent event(
      TraceEvent.Kind kind, long begin, long nanos, TraceEvent.Place place, int peer) {
    return new TraceEvent(kind, new TraceEvent.Span(begin, nanos, 0), place, peer, BYTES, by);
  }

  @Test
  void theRankWhoseLinkIsSlowIsNamed() {
    long fast = 1 << 20;
    long slow = 20 << 20;
    String rest = " comes at 50.0 MB/s, where 1.00 GB/s are usual in this job: look at the network";
    assertEquals(
        Optional.of("What rank 3 sends to ranks 0, 1, 2" + rest + " of its host."),
        SlowLinks.sentence(job((from, to) -> from == 3 ? slow : fast)));
    assertEquals(
        Optional.of("What rank 1 gets from ranks 0, 2, 3" + rest + " of its host."),
        SlowLinks.sentence(job((from, to) -> to == 1 ? slow : fast)));
    assertEquals(
        Optional.of("What rank 2 sends and gets" + rest + " of its host."),
        SlowLinks.sentence(job((from, to) -> from == 2 || to == 2 ? slow : fast)));
  }

  /** Frames wait there for their turn, or for a processor. */
  @Test
  void sharedMemoryIsNoLink() {
    by = "shared memory";
    assertEquals(
        Optional.empty(), SlowLinks.sentence(job((from, to) -> from == 3 ? 20 << 20 : 1 << 20)));
  }

  @Test
  void linksOfTwoKindsAreNoFault() {
    assertEquals(Optional.empty(), SlowLinks.sentence(job((from, to) -> 1 << 20)));
    assertEquals(
        Optional.empty(),
        SlowLinks.sentence(job((from, to) -> from / 2 == to / 2 ? 1 << 20 : 20 << 20)));
  }
}
