package io.collectives.bench.timeline;

import io.collectives.bench.report.Units;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** The sums over a timeline: what each rank did, for whom it waited, and who made others wait. */
public final class Summary {
  /** A rank that made others wait for less than this share of all waiting is not named. */
  private static final double WORTH_NAMING = 0.1;

  private static final int MOST_NAMED = 3;

  private final JobTrace job;
  private final Blame blame;
  private final long startedUp;

  /** Adds up what began after the ranks had {@linkplain JobTrace#startedUp started up}. */
  public Summary(JobTrace job) {
    this.startedUp = job.startedUp();
    this.job = job.since(startedUp);
    this.blame = new Blame(this.job);
  }

  /** Returns how long after the first event the sums begin. */
  public long startedUp() {
    return startedUp;
  }

  /**
   * The sums of one rank.
   *
   * @param calls the number of its calls
   * @param times what it did
   * @param waitedFor for whom it waited most; empty if it waited for nobody
   * @param othersWaited for how many nanoseconds others waited for it
   * @param clock its clock
   */
  public record Row(
      int rank,
      int calls,
      Times times,
      Optional<WaitedFor> waitedFor,
      long othersWaited,
      Clock clock) {}

  /**
   * The times that a rank has spent, in nanoseconds.
   *
   * @param inCalls in any calls
   * @param working on sending, copying and reducing
   * @param waiting with nothing to do in its calls
   * @param paused by its garbage collector
   */
  public record Times(long inCalls, long working, long waiting, long paused) {}

  /**
   * A clock compared with that of the lowest rank, in nanoseconds.
   *
   * @param ahead how far it was ahead
   * @param error by how much that may be wrong; empty if only times of day were compared
   */
  public record Clock(long ahead, Optional<Long> error) {}

  /** A rank and for how long it was waited for. */
  public record WaitedFor(int rank, long nanos) {}

  /** Returns what each rank did that has a trace. */
  public List<Row> rows() {
    List<Row> rows = new ArrayList<>();
    for (int i = 0; i < job.traces().size(); i++) {
      RankTrace trace = job.traces().get(i);
      List<TraceEvent> calls =
          trace.events().stream().filter(event -> event.kind().isCall()).toList();
      Map<Integer, Long> waits = new HashMap<>(blame.of(trace.rank()));
      waits.remove(Blame.NOBODY);
      long error = job.offsets().error(i);
      rows.add(
          new Row(
              trace.rank(),
              calls.size(),
              new Times(
                  Intervals.of(calls).total(),
                  working(trace),
                  total(trace, TraceEvent.Kind.WAIT),
                  total(trace, TraceEvent.Kind.GC)),
              waits.entrySet().stream()
                  .max(Map.Entry.comparingByValue())
                  .map(most -> new WaitedFor(most.getKey(), most.getValue())),
              blame.waitedFor(trace.rank()),
              new Clock(
                  job.offsets().offset(i),
                  error == ClockOffsets.UNKNOWN ? Optional.empty() : Optional.of(error))));
    }
    return rows;
  }

  private static long working(RankTrace trace) {
    return trace.events().stream()
        .filter(event -> !event.kind().isCall())
        .mapToLong(TraceEvent::worked)
        .sum();
  }

  private static long total(RankTrace trace, TraceEvent.Kind kind) {
    return trace.events().stream()
        .filter(event -> event.kind() == kind)
        .mapToLong(TraceEvent::nanos)
        .sum();
  }

  /** Returns what is remarkable, in sentences: who made others wait, and what is not recorded. */
  public List<String> findings() {
    List<String> findings = new ArrayList<>();
    long total = blame.total();
    List<Integer> ranks = blame.ranks();
    int named = 0;
    for (int rank : ranks) {
      long waited = blame.waitedFor(rank);
      if (named == MOST_NAMED || waited < WORTH_NAMING * total) {
        break;
      }
      named++;
      findings.add(sentence(rank, waited, total));
    }
    SlowLinks.sentence(job).ifPresent(findings::add);
    for (RankTrace trace : job.traces()) {
      incomplete(trace, findings);
    }
    int missing = job.size() - job.traces().size();
    if (missing > 0) {
      findings.add(
          "The job has "
              + job.size()
              + " ranks; there are traces of "
              + job.traces().size()
              + " of them.");
    }
    return findings;
  }

  private String sentence(int rank, long waited, long total) {
    Blame.Reasons why = blame.reasons(rank);
    String text =
        String.format(
            Locale.ROOT,
            "Others waited %s for rank %d, %.0f %% of the %s that all ranks waited together",
            Units.time(waited),
            rank,
            100.0 * waited / total,
            Units.time(total));
    if (why.outside() + why.inside() == 0) {
      return text + "; there is no trace of it.";
    }
    String gc =
        why.paused() > waited / 10
            ? " Its garbage collector ran for " + Units.time(why.paused()) + " of that."
            : "";
    if (why.outside() > why.inside()) {
      return text
          + ": for "
          + Units.time(why.outside())
          + " of that it had not made the call that they were in, so look at what its program does"
          + " between calls."
          + gc;
    }
    return text
        + ": for "
        + Units.time(why.inside())
        + " of that it was in the call itself, at work or without a core."
        + gc;
  }

  private static void incomplete(RankTrace trace, List<String> findings) {
    String who = "The trace of rank " + trace.rank();
    if (trace.cutOff()) {
      findings.add(
          who + " is cut off: its " + Units.grouped(trace.events().size()) + " whole lines count.");
    }
    if (trace.dropped().events() > 0) {
      findings.add(
          who
              + " has lost its first "
              + Units.grouped(trace.dropped().events())
              + " events, for which it had no room.");
    }
    if (trace.dropped().marks() > 0) {
      findings.add(
          who
              + " has lost its last "
              + Units.grouped(trace.dropped().marks())
              + " marks of tensors and pauses, for which it had no room.");
    }
  }
}
