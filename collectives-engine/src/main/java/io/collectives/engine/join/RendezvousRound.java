package io.collectives.engine.join;

import static io.collectives.engine.join.Announcements.name;

import io.collectives.spi.JobEpoch;
import io.collectives.spi.Rendezvous.Announcement;
import io.collectives.spi.Roster;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.BitSet;
import java.util.StringJoiner;
import java.util.concurrent.TimeUnit;
import java.util.function.IntPredicate;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A round of a rendezvous at a rank, whichever it is: it waits, beats, decides what has become of a
 * run and clears up after it. {@link DirectoryRendezvous} tells how all of that goes together. Used
 * by the thread that joins.
 */
abstract class RendezvousRound {
  /** The form of the random name of a run. */
  static final Pattern RUN = Pattern.compile("[0-9a-f]{32}");

  static final String COMPLETE = "complete";
  static final String FAILED = "failed";
  private static final int LONGEST_REASON = 1300;
  private static final int MOST_ABSENCES = 10;
  private static final long SHORTEST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
  private static final long LONGEST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
  private static final long LINGER_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final long LONGEST_BEAT_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final long LONGEST_LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

  final Announcement me;

  /** By which this rank knows its own notes again. */
  final String ticket = JobEpoch.draw().toString();

  final JobFiles files;
  final Duration silenceLimit;
  final Watch watch;
  private final Duration timeout;
  private final Surroundings world;
  private final long startNanos;
  private final long timeoutNanos;
  private final long beatNanos;
  private final long lookNanos;
  private long pauseNanos = SHORTEST_PAUSE_NANOS;
  private long lookedNanos;
  private long beatenNanos;
  private long beats;

  /**
   * Makes a round that begins now.
   *
   * @param directory where, in {@code world}
   */
  RendezvousRound(
      Surroundings world,
      Path directory,
      Announcement me,
      Duration timeout,
      Duration silenceLimit) {
    this.me = me;
    this.timeout = timeout;
    this.silenceLimit = silenceLimit;
    this.world = world;
    this.startNanos = world.nanoTime();
    this.lookedNanos = startNanos;
    this.beatenNanos = startNanos;
    this.files = new JobFiles(world, directory, me.job());
    this.timeoutNanos = nanos(timeout);
    long silenceNanos = nanos(silenceLimit);
    this.beatNanos = Math.min(silenceNanos / 8, LONGEST_BEAT_NANOS);
    this.lookNanos = Math.min(silenceNanos / 16, LONGEST_LOOK_NANOS);
    this.watch = new Watch(me.size(), silenceNanos, startNanos);
  }

  private static long nanos(Duration duration) {
    return duration.compareTo(Duration.ofDays(365)) > 0
        ? Duration.ofDays(365).toNanos()
        : duration.toNanos();
  }

  /** Waits until all ranks have met, or not. */
  abstract Roster meet() throws IOException;

  // ------------------------------------------------------------------ waiting

  /** Gives a sign of life, if this rank has a part in a run. */
  abstract void beat() throws IOException;

  /** The number of a beat that is given now. */
  final long nextBeat() {
    beatenNanos = world.nanoTime();
    return ++beats;
  }

  final long now() {
    return world.nanoTime();
  }

  /** Waits for a moment, the shorter the later something has happened. */
  final void pause(boolean progress) throws IOException {
    long now = world.nanoTime();
    if (now - beatenNanos >= beatNanos) {
      beatenNanos = now;
      beat();
    }
    if (progress) {
      pauseNanos = SHORTEST_PAUSE_NANOS;
    }
    world.pause(pauseNanos);
    pauseNanos = Math.min(2 * pauseNanos, LONGEST_PAUSE_NANOS);
  }

  /** Returns whether it is time to look which ranks live. */
  final boolean isTimeToLook() {
    long now = world.nanoTime();
    if (now - lookedNanos < lookNanos) {
      return false;
    }
    lookedNanos = now;
    return true;
  }

  /** Why to give up now, if at all. */
  final @Nullable String stopReason() {
    String who = name(me) + " of job " + me.job();
    if (world.isClosed()) {
      return who + " closed its rendezvous before all ranks had met;";
    }
    if (world.isInterrupted()) {
      return who + " was interrupted before all ranks had met;";
    }
    if (world.nanoTime() - startNanos - timeoutNanos >= 0) {
      return who
          + " waited "
          + timeout.toMillis()
          + " ms in directory "
          + files.directory()
          + " until all ranks would meet;";
    }
    return null;
  }

  // ------------------------------------------------------------------ deciding

  /** Creates the verdict of a run, or finds the one that somebody else has created. */
  final Note decide(String run, String state, String reason) throws IOException {
    Note mine = verdict(state, reason);
    if (files.create(mine, files.verdict(run))) {
      return mine;
    }
    Note theirs = readWhole(files.verdict(run), files.run());
    return theirs.values().isEmpty()
        ? new Note()
            .with("state", FAILED)
            .with("reason", files.verdict(run) + " was removed or damaged; start all ranks again")
        : theirs;
  }

  static Note verdict(String state, String reason) {
    return new Note().with("state", state).with("reason", cut(reason));
  }

  static boolean isComplete(@Nullable Note verdict) {
    return verdict != null && verdict.text("state").equals(COMPLETE);
  }

  private static String cut(String reason) {
    return reason.length() > LONGEST_REASON ? reason.substring(0, LONGEST_REASON) + "…" : reason;
  }

  /**
   * Reads a file that another rank may still be writing; an empty note if that does not end while a
   * witness is there, or if the file is gone: a new rank 0 removes those of earlier runs.
   */
  final Note readWhole(Path file, Path witness) throws IOException {
    // A few looks, because a file server may show a name that was just taken a little later.
    for (int absences = 0; ; ) {
      boolean last = stopReason() != null || !files.exists(witness);
      Note note = files.read(file);
      absences = note == null && !files.exists(file) ? absences + 1 : 0;
      if (note != null || last || absences == MOST_ABSENCES) {
        return note != null ? note : new Note();
      }
      pause(false);
    }
  }

  // ------------------------------------------------------------------ clearing up

  /** Says that this rank has read all that it needs. */
  final void done(String run) throws IOException {
    files.create(new Note().with("ticket", ticket), files.done(run, me.rank()));
  }

  /**
   * Removes the run file if it still names this run, waits until all who sit in the run have read
   * its verdict, and removes its files. What cannot be removed is left to the next run; a run file
   * of another rank 0 that is caught in between is renewed by that one.
   *
   * @param mayReturn who has no place and yet may come for the verdict
   */
  final void clearUp(String run, IntPredicate mayReturn) {
    try {
      files.removeRunFile(run);
      if (allDone(run, mayReturn)) {
        files.removeRun(run);
      }
    } catch (IOException e) {
      // No reason to spoil a round that may have succeeded.
    }
  }

  private boolean allDone(String run, IntPredicate mayReturn) throws IOException {
    long endNanos = world.nanoTime() + LINGER_NANOS;
    pauseNanos = SHORTEST_PAUSE_NANOS;
    for (int rank = 1; rank < me.size(); rank++) {
      if (!mayReturn.test(rank) && !files.exists(files.place(run, rank))) {
        continue;
      }
      while (!files.exists(files.done(run, rank))) {
        if (world.nanoTime() - endNanos >= 0 || world.isInterrupted()) {
          return false;
        }
        pause(false);
      }
    }
    return true;
  }

  // ------------------------------------------------------------------ messages

  /** That a rank is lost, which has been named, with where it was met. */
  final String lost(String whoAndWhere) {
    return whoAndWhere
        + " and was lost: its process has ended or was stopped, or its host cannot reach the"
        + " directory, and within "
        + silenceLimit.toMillis()
        + " ms nobody has taken its place; start all ranks again";
  }

  /** All ranks but these. */
  final BitSet missing(BitSet present) {
    BitSet missing = new BitSet(me.size());
    missing.set(0, me.size());
    missing.andNot(present);
    return missing;
  }

  /** Returns the names of missing ranks, to stand behind another message. */
  final String named(BitSet missing) {
    return missing.isEmpty()
        ? ""
        : " missing of "
            + me.size()
            + ": "
            + (missing.cardinality() == 1 ? "rank " : "ranks ")
            + ranges(missing);
  }

  /** Returns ranks in the form {@code 0, 3-5}. */
  private static String ranges(BitSet ranks) {
    StringJoiner text = new StringJoiner(", ");
    for (int first = ranks.nextSetBit(0); first >= 0; ) {
      int end = ranks.nextClearBit(first);
      text.add(end - first < 3 ? Integer.toString(first) : first + "-" + (end - 1));
      first = ranks.nextSetBit(end - first < 3 ? first + 1 : end);
    }
    return text.toString();
  }
}
