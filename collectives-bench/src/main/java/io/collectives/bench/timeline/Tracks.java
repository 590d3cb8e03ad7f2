package io.collectives.bench.timeline;

import io.collectives.bench.report.Units;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The events of one rank as slices on tracks. Slices of a track do not overlap: what overlaps is on
 * further tracks of the same name with a number.
 */
final class Tracks {
  private final Map<String, List<Slice>> tracks = new LinkedHashMap<>();

  /**
   * A stretch of time on a track, or a moment.
   *
   * @param event what the rank recorded
   * @param flow the number of the frame that leaves or comes here; -1 if there is none
   */
  record Slice(long begin, long end, String name, TraceEvent event, int flow) {}

  /**
   * Lays out the events of a trace.
   *
   * @param flows the numbers of frames, by the events at both ends
   */
  Tracks(RankTrace trace, IdentityHashMap<TraceEvent, Integer> flows) {
    List<Slice> calls = new ArrayList<>();
    List<Slice> work = new ArrayList<>();
    List<Slice> waiting = new ArrayList<>();
    List<Slice> received = new ArrayList<>();
    List<Slice> pauses = new ArrayList<>();
    List<Slice> marks = new ArrayList<>();
    for (TraceEvent event : trace.events()) {
      int flow = flows.getOrDefault(event, -1);
      switch (event.kind()) {
        case CALL, FAILED, RUNNING, QUEUED -> calls.add(slice(event, call(event), flow));
        case SEND -> work.add(slice(event, "send to rank " + event.peer(), flow));
        case WORK -> work.add(slice(event, event.bytes() > 0 ? "reduce or copy" : "copy", flow));
        case WAIT -> waiting.add(slice(event, "wait for rank " + event.peer(), flow));
        case GC -> pauses.add(slice(event, event.name(), flow));
        case MARK -> marks.add(slice(event, event.name(), flow));
        case RECEIVE -> {
          received.add(slice(event, "frame of rank " + event.peer(), flow));
          if (event.worked() > 0) {
            String name = "apply frame of rank " + event.peer();
            work.add(new Slice(event.end() - event.worked(), event.end(), name, event, -1));
          }
        }
      }
    }
    add("calls", calls);
    add("slabs", slabs(trace));
    add("working", work);
    add("waiting", waiting);
    add("frames received", received);
    add("gradients", marks);
    add("garbage collector", pauses);
  }

  private static Slice slice(TraceEvent event, String name, int flow) {
    return new Slice(event.begin(), event.end(), name, event, flow);
  }

  private static String call(TraceEvent event) {
    String state =
        event.kind() == TraceEvent.Kind.CALL ? "" : ", " + event.kind().name().toLowerCase();
    return event.name()
        + " #"
        + event.place().sequence()
        + ", "
        + Units.grouped(event.bytes())
        + " bytes"
        + state;
  }

  /** The slabs of calls that have several, or several lanes, from their first frame to the last. */
  private static List<Slice> slabs(RankTrace trace) {
    record Call(long group, long sequence) {}

    Map<Call, Map<Integer, Slice>> calls = new HashMap<>();
    for (TraceEvent event : trace.events()) {
      if (event.kind() != TraceEvent.Kind.SEND && event.kind() != TraceEvent.Kind.RECEIVE) {
        continue;
      }
      TraceEvent.Place place = event.place();
      String name = "lane " + place.lane() + ", slab " + place.slab();
      Slice slice = new Slice(event.begin(), event.end(), name, event, -1);
      calls
          .computeIfAbsent(new Call(place.group(), place.sequence()), call -> new HashMap<>())
          .merge(
              place.lane() << 24 ^ place.slab(),
              slice,
              (a, b) -> new Slice(a.begin(), Math.max(a.end(), b.end()), name, a.event(), -1));
    }
    return calls.values().stream()
        .filter(slabs -> slabs.size() > 1)
        .flatMap(slabs -> slabs.values().stream())
        .toList();
  }

  private void add(String name, List<Slice> slices) {
    List<Slice> sorted = new ArrayList<>(slices);
    sorted.sort(Comparator.comparingLong(Slice::begin).thenComparingLong(Slice::end));
    List<List<Slice>> rows = new ArrayList<>();
    for (Slice slice : sorted) {
      List<Slice> free = null;
      for (List<Slice> row : rows) {
        if (row.get(row.size() - 1).end() <= slice.begin()) {
          free = row;
          break;
        }
      }
      if (free == null) {
        free = new ArrayList<>();
        rows.add(free);
      }
      free.add(slice);
    }
    for (int i = 0; i < rows.size(); i++) {
      tracks.put(i == 0 ? name : name + " " + (i + 1), rows.get(i));
    }
  }

  /** The slices by the names of their tracks, each in the order of time. */
  Map<String, List<Slice>> all() {
    return tracks;
  }
}
