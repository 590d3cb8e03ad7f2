package io.collectives.bench.timeline;

import io.collectives.bench.report.Drawing;
import io.collectives.bench.report.Drawing.Anchor;
import io.collectives.bench.report.Ink;
import io.collectives.bench.report.TimeAxis;
import io.collectives.bench.report.Units;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Draws a stretch of a timeline: a row for each rank with its calls, and below them what it did in
 * them. Frames are arrows where they are few.
 */
public final class TimelineChart {
  private static final double LEFT = 72;
  private static final double RIGHT = 24;
  private static final double WIDTH = 1100;
  private static final double TOP = 88;
  private static final double ROW = 62;
  private static final double CALL = 18;
  private static final double WORK = 20;
  private static final double SMALL = 11;
  private static final int MOST_ROWS = 64;
  private static final int MOST_ARROWS = 64;

  private final JobTrace job;
  private final List<RankTrace> shown;
  private final long from;
  private final long to;
  private final TimeAxis axis;

  private TimelineChart(JobTrace job, long from, long to) {
    this.job = job;
    this.shown = job.traces().subList(0, Math.min(MOST_ROWS, job.traces().size()));
    this.from = from;
    this.to = to;
    this.axis = new TimeAxis(LEFT, WIDTH - LEFT - RIGHT, from, to - from);
  }

  /**
   * Writes a picture of a stretch.
   *
   * @param from in nanoseconds from the first event of the job
   * @param to likewise, later
   */
  public static void write(JobTrace job, long from, long to, Path file) throws IOException {
    new TimelineChart(job, from, to).draw().write(file);
  }

  /**
   * Returns a stretch that is worth a look: around the longest wait after the start-up, with a
   * third of its length before and after it.
   *
   * @return where it begins and ends; all of a timeline in which nobody waited
   */
  public static long[] interesting(JobTrace job) {
    long start = job.startedUp();
    Optional<TraceEvent> longest =
        job.traces().stream()
            .flatMap(trace -> trace.events().stream())
            .filter(event -> event.kind() == TraceEvent.Kind.WAIT && event.begin() >= start)
            .max(Comparator.comparingLong(TraceEvent::nanos));
    if (longest.isEmpty()) {
      return new long[] {0, Math.max(1, job.end())};
    }
    long around = longest.get().nanos() / 3 + 1;
    return new long[] {Math.max(0, longest.get().begin() - around), longest.get().end() + around};
  }

  private Drawing draw() {
    double bottom = TOP + ROW * shown.size();
    String title =
        "Timeline of "
            + job.size()
            + " ranks, from "
            + Units.time(from)
            + " to "
            + Units.time(to)
            + " after the first event";
    Drawing drawing = new Drawing(WIDTH, bottom + 52, title);
    drawing.text(LEFT, 28, title, Anchor.START, 16, Ink.TEXT);
    List<Frame> arrows = arrows();
    legend(drawing, arrows);
    axis.draw(drawing, TOP, bottom, "time after the left edge");
    for (int i = 0; i < shown.size(); i++) {
      row(drawing, shown.get(i), TOP + ROW * i);
    }
    for (Frame frame : arrows) {
      arrow(drawing, frame);
    }
    return drawing;
  }

  private void legend(Drawing drawing, List<Frame> arrows) {
    double x = LEFT;
    x = entry(drawing, x, Ink.BLUE, "call");
    x = entry(drawing, x, Ink.GREEN, "at work in it");
    x = entry(drawing, x, Ink.PALE, "waiting in it");
    x = entry(drawing, x, Ink.VERMILION, "garbage collector");
    if (!arrows.isEmpty()) {
      drawing.arrow(Ink.PURPLE, x, 53, x + 18, 53);
      drawing.text(x + 24, 57, "frame", Anchor.START, 12, Ink.TEXT);
    }
    int hidden = job.traces().size() - shown.size();
    if (hidden > 0) {
      drawing.text(
          WIDTH - RIGHT, 57, hidden + " more ranks are not shown", Anchor.END, 12, Ink.FAINT);
    }
  }

  private static double entry(Drawing drawing, double x, Ink ink, String text) {
    drawing.bar(x, 46, 14, 12, ink);
    drawing.text(x + 20, 57, text, Anchor.START, 12, Ink.TEXT);
    return x + 44 + Drawing.width(text, 12);
  }

  private void row(Drawing drawing, RankTrace trace, double top) {
    drawing.text(LEFT - 12, top + 26, "rank " + trace.rank(), Anchor.END, 13, Ink.TEXT);
    for (TraceEvent event : trace.events()) {
      if (event.begin() >= to || event.end() <= from) {
        continue;
      }
      String what = Units.time(event.nanos());
      switch (event.kind()) {
        case CALL, FAILED, RUNNING, QUEUED -> {
          bar(
              drawing,
              event.begin(),
              event.end(),
              top + 4,
              CALL,
              Ink.BLUE,
              tip(event) + ", " + what);
          label(drawing, event, top + 17, "#" + event.place().sequence(), Ink.PAPER);
        }
        case WAIT -> {
          String whom = "waits for rank " + event.peer();
          bar(drawing, event.begin(), event.end(), top + 26, WORK, Ink.PALE, whom + ", " + what);
          label(drawing, event, top + 40, whom + " " + what, Ink.TEXT);
        }
        case SEND, RECEIVE, WORK -> {
          long begin = event.end() - event.worked();
          if (event.worked() > 0 && begin < to) {
            bar(drawing, begin, event.end(), top + 26, WORK, Ink.GREEN, tip(event) + ", " + what);
          }
        }
        case GC ->
            bar(
                drawing,
                event.begin(),
                event.end(),
                top + 48,
                6,
                Ink.VERMILION,
                tip(event) + ", " + what);
        case MARK -> {}
      }
    }
  }

  private static String tip(TraceEvent event) {
    return switch (event.kind()) {
      case SEND -> "sends " + Units.grouped(event.bytes()) + " bytes to rank " + event.peer();
      case RECEIVE -> "applies " + Units.grouped(event.bytes()) + " bytes of rank " + event.peer();
      case WORK -> "reduces or copies";
      default -> event.name();
    };
  }

  private void bar(
      Drawing drawing, long begin, long end, double y, double height, Ink ink, String tip) {
    double left = axis.at(begin);
    // A pixel apart, so that one can tell calls that follow each other.
    double width = axis.at(end) - left - (ink == Ink.BLUE ? 1 : 0);
    if (width >= 0.2 || ink != Ink.PALE) {
      drawing.bar(left, y, Math.max(0.6, width), height, ink, tip);
    }
  }

  private void label(Drawing drawing, TraceEvent event, double y, String text, Ink ink) {
    double left = axis.at(event.begin());
    double width = axis.at(event.end()) - left;
    if (Drawing.width(text, SMALL) + 6 < width) {
      drawing.text(left + width / 2, y, text, Anchor.MIDDLE, SMALL, ink);
    }
  }

  /** The frames to be drawn; none if they are many. */
  private List<Frame> arrows() {
    Set<Integer> ranks = shown.stream().map(RankTrace::rank).collect(Collectors.toSet());
    List<Frame> inside =
        job.frames().stream()
            .filter(frame -> frame.sent().begin() >= from && frame.received().begin() <= to)
            .filter(frame -> ranks.contains(frame.from()) && ranks.contains(frame.to()))
            .toList();
    return inside.size() > MOST_ARROWS ? List.of() : inside;
  }

  private void arrow(Drawing drawing, Frame frame) {
    double from = TOP + ROW * place(frame.from()) + 36;
    double to = TOP + ROW * place(frame.to()) + 36;
    double left = axis.at(frame.sent().begin());
    drawing.arrow(Ink.PURPLE, left, from, axis.at(frame.received().begin()), to);
  }

  private int place(int rank) {
    int place = 0;
    while (shown.get(place).rank() != rank) {
      place++;
    }
    return place;
  }
}
