package io.collectives.engine.join;

import static io.collectives.engine.join.Announcements.cameTwice;
import static io.collectives.engine.join.Announcements.difference;
import static io.collectives.engine.join.Announcements.name;

import io.collectives.JoinException;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Rendezvous.Announcement;
import io.collectives.spi.Roster;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The rendezvous of any rank but 0: it finds a run, takes its place in it, and waits for the
 * verdict.
 */
final class Follower extends RendezvousRound {
  /** The run of which this rank takes part in. */
  private @Nullable String run;

  /** Rank 0 of that run. */
  private @Nullable Announcement leader;

  /** If true, this rank has taken its place in the run. */
  private boolean sits;

  /** Why this rank cannot be one of the run. */
  private @Nullable String conflict;

  /** The number of the last call that was answered. */
  private int roll;

  Follower(
      Surroundings world,
      Path directory,
      Announcement me,
      Duration timeout,
      Duration silenceLimit) {
    super(world, directory, me, timeout, silenceLimit);
  }

  @Override
  Roster meet() throws IOException {
    files.replace(Announcements.note(me, ticket), files.waiting(me.rank()));
    try {
      return sitAndWait();
    } finally {
      leave();
      files.leaveBehind(files.waiting(me.rank()));
      files.removeLeftBehind();
    }
  }

  private Roster sitAndWait() throws IOException {
    boolean tidies = false;
    while (true) {
      watch.begin(now());
      String stop = stopReason();
      Note verdict = run == null ? null : files.read(files.verdict(run));
      if (isMine(verdict)) {
        return complete();
      }
      Note present = files.read(files.run());
      boolean progress = false;
      if (present == null) {
        // Read again what may have been written before the run file was removed.
        verdict = run == null ? null : files.read(files.verdict(run));
        if (run != null && conflict != null) {
          throw new JoinException(conflict);
        }
        if (run != null && verdict != null && !isComplete(verdict)) {
          String reason = verdict.text("reason");
          String own = run;
          done(own);
          leave();
          if (tidies) {
            clearUp(own, rank -> false);
          }
          throw new JoinException(reason);
        }
      } else if (RUN.matcher(present.text("run")).matches() && !present.text("run").equals(run)) {
        if (run != null && leader != null && conflict == null) {
          verdict = decide(run, FAILED, name(me) + " moved on to a newer run of the job");
          if (isMine(verdict)) {
            return complete();
          }
        }
        leave();
        files.leaveBehindCreated();
        sit(present.text("run"), Announcements.of(present));
        progress = true;
      }
      if (run != null && leader != null && conflict == null) {
        if (isTimeToLook()) {
          if (sits) {
            keepPlace(run, present != null);
          } else {
            claimPlace(run);
          }
        }
        hear(run);
        // If it never beats it is not lost but a leftover, and another one will come.
        if (conflict == null && watch.isBeating(0) && watch.isLost(0)) {
          decide(
              run,
              FAILED,
              lost(
                  name(leader)
                      + " of job "
                      + me.job()
                      + " was met by "
                      + name(me)
                      + " in directory "
                      + files.directory()));
          tidies |= files.removeRunFile(run);
          progress = true;
        }
      }
      if (stop != null) {
        BitSet missing = missingFor(run);
        String reason = files.explained(stop + named(missing));
        if (run != null && leader != null && conflict == null) {
          verdict = decide(run, FAILED, reason);
          if (isMine(verdict)) {
            return complete();
          }
          done(run);
          if (!missing.get(0) && !isComplete(verdict)) {
            reason = verdict.text("reason");
          }
        } else if (conflict != null) {
          reason += "; and in a run of whose rank 0 nothing was heard " + conflict;
        }
        throw new JoinException(reason);
      }
      pause(progress);
    }
  }

  private boolean isMine(@Nullable Note verdict) {
    return sits && conflict == null && isComplete(verdict);
  }

  /** Takes no part in the present run any more, if there is one. */
  private void leave() {
    if (sits && run != null) {
      files.leaveBehind(files.beat(run, me.rank()));
    }
    sits = false;
    run = null;
    roll = 0;
  }

  /** Takes this rank's place in a run, or finds out what is in the way. */
  private void sit(String newRun, Announcement itsLeader) throws IOException {
    run = newRun;
    leader = itsLeader;
    conflict = difference(me, itsLeader);
    watch.meet(0, text(files.seen(newRun)));
    watch.meet(me.rank(), text(files.beat(newRun, me.rank())));
    if (conflict == null) {
      claimPlace(newRun);
    } else {
      decide(newRun, FAILED, conflict);
    }
  }

  /** Takes this rank's place, unless another process has it; one that beats will not give it up. */
  private void claimPlace(String run) throws IOException {
    if (isComplete(files.read(files.verdict(run)))) {
      conflict =
          "the ranks of job "
              + me.job()
              + " had met before "
              + name(me)
              + " came; start all ranks again";
    } else if (files.create(Announcements.note(me, ticket), files.place(run, me.rank()))) {
      sits = true;
      beat();
    } else {
      // Its ticket tells whose it is: when a file server's answer is lost, a link is made and
      // yet seems to fail.
      Note place = readWhole(files.place(run, me.rank()), files.run());
      watch.look(me.rank(), text(files.beat(run, me.rank())));
      if (place.text("ticket").equals(ticket)) {
        sits = true;
        beat();
      } else if (watch.isBeating(me.rank()) && !place.values().isEmpty()) {
        conflict = cameTwice(Announcements.of(place), me);
      }
    }
    if (conflict != null) {
      decide(run, FAILED, conflict);
    }
  }

  /**
   * Sees that this rank still has its place, which it loses when it gives no sign for long, and
   * takes it again.
   */
  private void keepPlace(String run, boolean gathering) throws IOException {
    Path file = files.place(run, me.rank());
    Note place = files.read(file);
    if (place != null && !place.text("ticket").equals(ticket)) {
      leave();
      throw new JoinException(
          cameTwice(Announcements.of(place), me)
              + "; the latter gave no sign for "
              + silenceLimit.toMillis() / 2
              + " ms and lost its place");
    }
    if (place == null && !files.exists(file)) {
      if (gathering) {
        files.create(Announcements.note(me, ticket), file);
      } else if (files.read(files.verdict(run)) == null) {
        leave();
        throw new JoinException(
            name(me)
                + " of job "
                + me.job()
                + " gave no sign for so long in directory "
                + files.directory()
                + " that the other ranks gave up meeting it: it was stopped, or its host could not"
                + " reach the directory; start all ranks again");
      }
    }
  }

  /** Hears whether rank 0 lives, and whether it calls. */
  private void hear(String run) throws IOException {
    Note note = files.readQuietly(files.seen(run));
    if (note != null && note.problem() == null) {
      watch.look(0, note.values().toString());
      int called = note.number("roll");
      if (sits && conflict == null && called > 0 && called != roll) {
        roll = called;
        beat();
      }
    }
  }

  @Override
  void beat() throws IOException {
    if (run != null && sits && conflict == null) {
      files.replace(
          new Note().with("ticket", ticket).with("beat", nextBeat()).with("roll", roll),
          files.beat(run, me.rank()));
    }
  }

  /** All that a file says; nothing if it is not there or cannot be read now. */
  private @Nullable String text(Path file) {
    Note note = files.readQuietly(file);
    return note == null || note.problem() != null ? null : note.values().toString();
  }

  private Roster complete() throws IOException {
    String run = Objects.requireNonNull(this.run);
    Announcement leader = Objects.requireNonNull(this.leader);
    List<String> addresses = new ArrayList<>(me.size());
    addresses.add(leader.address());
    for (int rank = 1; rank < me.size(); rank++) {
      Note place = readWhole(files.place(run, rank), files.verdict(run));
      if (place.values().isEmpty()) {
        throw new JoinException(
            name(me)
                + " of job "
                + me.job()
                + ": all ranks met, but "
                + files.place(run, rank)
                + " cannot be read, as it was"
                + " removed or damaged; start all ranks again");
      }
      if (rank == me.rank() && !place.text("ticket").equals(ticket)) {
        throw new JoinException(cameTwice(Announcements.of(place), me));
      }
      addresses.add(Announcements.of(place).address());
    }
    done(run);
    return new Roster(JobEpoch.parse(run), addresses);
  }

  /**
   * Returns the ranks that are missing, as far as a rank other than 0 can tell: rank 0 is there if
   * it has seen this one.
   */
  private BitSet missingFor(@Nullable String run) {
    Note note = run == null ? null : files.read(files.seen(run));
    if (run != null && note != null) {
      try {
        BitSet seen = BitSet.valueOf(HexFormat.of().parseHex(note.text("ranks")));
        if (seen.get(me.rank()) || watch.isBeating(0)) {
          // Rank 0 was there. If it has seen all and not said so it waits for an answer, or is
          // there no more.
          seen.set(0, watch.isBeating(0) ? !watch.isQuiet(0) : seen.cardinality() < me.size());
          seen.set(me.rank());
          return missing(seen);
        }
      } catch (IllegalArgumentException e) {
        files.noteOddity(files.seen(run), "names no ranks");
      }
    }
    BitSet here = new BitSet(me.size());
    for (int rank = 1; rank < me.size(); rank++) {
      here.set(rank, files.exists(files.waiting(rank)));
    }
    return missing(here);
  }
}
