package io.collectives.bench.timeline;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * Writes the traces of a job as a file that Perfetto's viewer reads: a {@code Trace} of packets
 * with track descriptors and track events, as its {@code perfetto_trace.proto} describes them. Each
 * rank is a process with tracks of its own, and each frame an arrow, which Perfetto calls a flow.
 */
public final class PerfettoFile {
  /** The fields of a trace and its packets, with their numbers. */
  private static final int PACKET = 1;

  private static final int TIMESTAMP = 8;
  private static final int SEQUENCE_ID = 10;
  private static final int TRACK_EVENT = 11;
  private static final int TRACK_DESCRIPTOR = 60;

  private static final int TRACK_UUID = 1;
  private static final int TRACK_NAME = 2;
  private static final int TRACK_PROCESS = 3;
  private static final int TRACK_PARENT = 5;
  private static final int TRACK_CHILD_ORDERING = 11;
  private static final int TRACK_RANK = 12;
  private static final int BY_RANK = 3;

  private static final int PROCESS_PID = 1;
  private static final int PROCESS_NAME = 6;

  private static final int EVENT_ANNOTATION = 4;
  private static final int EVENT_TYPE = 9;
  private static final int EVENT_TRACK = 11;
  private static final int EVENT_NAME = 23;
  private static final int EVENT_FLOW = 47;
  private static final int EVENT_LAST_OF_FLOW = 48;
  private static final int SLICE_BEGIN = 1;
  private static final int SLICE_END = 2;
  private static final int INSTANT = 3;

  private static final int ANNOTATION_INT = 4;
  private static final int ANNOTATION_TEXT = 6;
  private static final int ANNOTATION_NAME = 10;

  private static final int MOST_TRACKS = 1 << 20;

  private final OutputStream out;
  private final Proto packets = new Proto();

  private PerfettoFile(OutputStream out) {
    this.out = out;
  }

  /** Writes a file. */
  public static void write(JobTrace job, Path file) throws IOException {
    try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(file), 1 << 16)) {
      new PerfettoFile(out).write(job);
    }
  }

  private void write(JobTrace job) throws IOException {
    IdentityHashMap<TraceEvent, Integer> flows = new IdentityHashMap<>();
    List<Frame> frames = job.frames();
    for (int i = 0; i < frames.size(); i++) {
      flows.put(frames.get(i).sent(), i);
      flows.put(frames.get(i).received(), i);
    }
    for (RankTrace trace : job.traces()) {
      rank(trace.rank(), new Tracks(trace, flows).all());
    }
  }

  private void rank(int rank, Map<String, List<Tracks.Slice>> tracks) throws IOException {
    long parent = (rank + 1L) * MOST_TRACKS;
    Proto process = new Proto().number(PROCESS_PID, rank + 1).text(PROCESS_NAME, "rank " + rank);
    packet(
        new Proto()
            .message(
                TRACK_DESCRIPTOR,
                new Proto()
                    .number(TRACK_UUID, parent)
                    .message(TRACK_PROCESS, process)
                    .number(TRACK_CHILD_ORDERING, BY_RANK)));
    int index = 0;
    for (Map.Entry<String, List<Tracks.Slice>> track : tracks.entrySet()) {
      index++;
      packet(
          new Proto()
              .message(
                  TRACK_DESCRIPTOR,
                  new Proto()
                      .number(TRACK_UUID, parent + index)
                      .text(TRACK_NAME, track.getKey())
                      .number(TRACK_PARENT, parent)
                      .number(TRACK_RANK, index)));
      for (Tracks.Slice slice : track.getValue()) {
        slice(slice, parent + index);
      }
    }
  }

  private void slice(Tracks.Slice slice, long track) throws IOException {
    boolean isMoment = slice.event().kind() == TraceEvent.Kind.MARK;
    Proto event =
        new Proto()
            .number(EVENT_TYPE, isMoment ? INSTANT : SLICE_BEGIN)
            .number(EVENT_TRACK, track)
            .text(EVENT_NAME, slice.name());
    annotate(event, slice.event());
    if (slice.flow() >= 0) {
      boolean isSent = slice.event().kind() == TraceEvent.Kind.SEND;
      event.fixed(isSent ? EVENT_FLOW : EVENT_LAST_OF_FLOW, slice.flow() + 1L);
    }
    event(slice.begin(), event);
    if (!isMoment) {
      event(slice.end(), new Proto().number(EVENT_TYPE, SLICE_END).number(EVENT_TRACK, track));
    }
  }

  private static void annotate(Proto event, TraceEvent of) {
    if (of.kind() == TraceEvent.Kind.MARK || of.kind() == TraceEvent.Kind.GC) {
      return;
    }
    TraceEvent.Place place = of.place();
    event.message(
        EVENT_ANNOTATION,
        new Proto()
            .text(ANNOTATION_NAME, "group")
            .text(ANNOTATION_TEXT, Long.toHexString(place.group())));
    annotate(event, "call", place.sequence());
    if (of.kind().isCall()) {
      annotate(event, "nanoseconds until its turn", of.worked());
    } else if (of.kind() != TraceEvent.Kind.WAIT) {
      annotate(event, "lane", place.lane());
      annotate(event, "slab", place.slab());
      annotate(event, "round", place.round());
      annotate(event, "first chunk", place.chunk());
    }
    annotate(event, "bytes", of.bytes());
  }

  private static void annotate(Proto event, String name, long value) {
    event.message(
        EVENT_ANNOTATION, new Proto().text(ANNOTATION_NAME, name).number(ANNOTATION_INT, value));
  }

  private void event(long time, Proto event) throws IOException {
    packet(new Proto().number(TIMESTAMP, time).message(TRACK_EVENT, event));
  }

  private void packet(Proto packet) throws IOException {
    packets.message(PACKET, packet.number(SEQUENCE_ID, 1));
    packets.flushTo(out);
  }
}
