package io.collectives.bench.timeline;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The traces of the ranks of a job on one clock: that of the lowest rank, from the first event on.
 */
public final class JobTrace {
  private static final String FILES = "trace-rank-*.tsv";
  private static final int MOST_FILES = 1 << 14;

  private final List<RankTrace> traces;
  private final ClockOffsets offsets;
  private final List<Frame> frames;

  private JobTrace(List<RankTrace> traces, ClockOffsets offsets, List<Frame> frames) {
    this.traces = traces;
    this.offsets = offsets;
    this.frames = frames;
  }

  /**
   * Reads the traces in a directory and aligns them.
   *
   * @throws IOException if there are none, one cannot be read, or they are not of one job
   */
  public static JobTrace read(Path directory) throws IOException {
    if (!Files.isDirectory(directory)) {
      throw new IOException(
          directory + ": is no directory; give the one that COLLECTIVES_TRACE was");
    }
    List<Path> files = new ArrayList<>();
    try (DirectoryStream<Path> found = Files.newDirectoryStream(directory, FILES)) {
      for (Path file : found) {
        if (files.size() == MOST_FILES) {
          throw new IOException(directory + ": more than " + MOST_FILES + " traces");
        }
        files.add(file);
      }
    }
    if (files.isEmpty()) {
      throw new IOException(
          directory
              + ": no file of the name "
              + FILES
              + " is in this directory; a rank writes its trace when it closes its world, or ends"
              + " the trace");
    }
    List<RankTrace> traces = new ArrayList<>();
    for (Path file : files) {
      traces.add(RankTrace.read(file));
    }
    try {
      return of(traces);
    } catch (IllegalArgumentException e) {
      throw new IOException(directory + ": " + e.getMessage(), e);
    }
  }

  /**
   * Aligns traces.
   *
   * @throws IllegalArgumentException if they are not of one job
   */
  static JobTrace of(List<RankTrace> given) {
    List<RankTrace> own = new ArrayList<>(given);
    own.sort(Comparator.comparingInt(RankTrace::rank));
    RankTrace first = own.get(0);
    for (int i = 1; i < own.size(); i++) {
      RankTrace next = own.get(i);
      if (next.rank() == own.get(i - 1).rank() || next.size() != first.size()) {
        throw new IllegalArgumentException(
            "the traces of rank "
                + own.get(i - 1).rank()
                + " of "
                + own.get(i - 1).size()
                + " and rank "
                + next.rank()
                + " of "
                + next.size()
                + " are not of one job; give those of one job only");
      }
    }
    ClockOffsets offsets = ClockOffsets.of(own, Frame.between(own));
    long start = Long.MAX_VALUE;
    for (int i = 0; i < own.size(); i++) {
      for (TraceEvent event : own.get(i).events()) {
        start = Math.min(start, event.begin() - offsets.offset(i));
      }
    }
    List<RankTrace> aligned = new ArrayList<>();
    for (int i = 0; i < own.size(); i++) {
      long less = offsets.offset(i) + (start == Long.MAX_VALUE ? 0 : start);
      RankTrace trace = own.get(i);
      aligned.add(
          new RankTrace(
              trace.rank(),
              trace.size(),
              trace.wall(),
              trace.dropped(),
              trace.cutOff(),
              trace.events().stream().map(event -> event.earlier(less)).toList()));
    }
    return new JobTrace(List.copyOf(aligned), offsets, Frame.between(aligned));
  }

  /** The traces, in the order of ranks. */
  List<RankTrace> traces() {
    return traces;
  }

  /** The frames of which both ends are recorded. */
  List<Frame> frames() {
    return frames;
  }

  /** The clocks, by index in {@link #traces()}. */
  ClockOffsets offsets() {
    return offsets;
  }

  /** Returns the number of ranks of the job, which may be more than have a trace. */
  public int size() {
    return traces.get(0).size();
  }

  /**
   * Returns when the ranks had started up: when the first call had ended on all of them; 0 if a
   * trace has lost its beginning, or has fewer than two calls.
   */
  public long startedUp() {
    long latest = 0;
    for (RankTrace trace : traces) {
      List<TraceEvent> calls =
          trace.events().stream().filter(event -> event.kind().isCall()).toList();
      if (calls.size() < 2 || trace.dropped().events() > 0) {
        return 0;
      }
      latest = Math.max(latest, calls.get(0).end());
    }
    return latest;
  }

  /** Returns this without what began before a time. */
  JobTrace since(long time) {
    List<RankTrace> later =
        traces.stream()
            .map(
                trace ->
                    new RankTrace(
                        trace.rank(),
                        trace.size(),
                        trace.wall(),
                        trace.dropped(),
                        trace.cutOff(),
                        trace.events().stream().filter(event -> event.begin() >= time).toList()))
            .toList();
    return new JobTrace(later, offsets, frames);
  }

  /** Returns when the last event ended. */
  long end() {
    return traces.stream()
        .flatMap(trace -> trace.events().stream())
        .mapToLong(TraceEvent::end)
        .max()
        .orElse(0);
  }
}
