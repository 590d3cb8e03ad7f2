package io.collectives.bench.timeline;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A frame that both ends have recorded.
 *
 * @param from the rank that sent it
 * @param sent the event there
 * @param to the rank that got it
 * @param received the event there
 */
record Frame(int from, TraceEvent sent, int to, TraceEvent received) {

  private record Key(int from, int to, TraceEvent.Place place) {}

  /**
   * Finds the two ends of frames. A pair exchanges one frame at most at one place of a plan; should
   * a place come twice, as after a world was joined again, frames are taken in their order.
   */
  static List<Frame> between(List<RankTrace> traces) {
    Map<Key, Deque<TraceEvent>> sent = new HashMap<>();
    for (RankTrace trace : traces) {
      for (TraceEvent event : trace.events()) {
        if (event.kind() == TraceEvent.Kind.SEND) {
          Key key = new Key(trace.rank(), event.peer(), event.place());
          sent.computeIfAbsent(key, one -> new ArrayDeque<>(1)).add(event);
        }
      }
    }
    List<Frame> frames = new ArrayList<>();
    for (RankTrace trace : traces) {
      for (TraceEvent event : trace.events()) {
        if (event.kind() == TraceEvent.Kind.RECEIVE) {
          Deque<TraceEvent> ends = sent.get(new Key(event.peer(), trace.rank(), event.place()));
          TraceEvent end = ends == null ? null : ends.poll();
          if (end != null) {
            frames.add(new Frame(event.peer(), end, trace.rank(), event));
          }
        }
      }
    }
    return frames;
  }
}
