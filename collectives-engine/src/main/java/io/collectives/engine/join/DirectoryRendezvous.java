package io.collectives.engine.join;

import io.collectives.CallSettings;
import io.collectives.JoinException;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Rendezvous;
import io.collectives.spi.Roster;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.StringJoiner;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/*
 * How ranks meet in a directory
 * =============================
 *
 * Vocabulary. A RUN is one attempt of a job's ranks to meet; rank 0 draws 128 random bits for it,
 * which become the job's epoch if they do. A rank SITS in a run when it has created the file of its
 * seat there. The VERDICT of a run says whether it is complete or failed, and why. A rank BEATS as
 * long as it waits: it changes a file again and again.
 *
 * Files, of at most 4 KiB each; JOB stands for the job's name and its hash, RUN for 32 hexadecimal
 * digits:
 *
 *     collectives-JOB.run           the present run, and rank 0's announcement  replaced by rank 0
 *     collectives-JOB.waiting-R     rank R is here; for messages only           replaced by rank R
 *     collectives-JOB.RUN.seat-R    rank R's announcement, R > 0                created once
 *     collectives-JOB.RUN.beat-R    rank R's beat, R > 0                        replaced by rank R
 *     collectives-JOB.RUN.seen      the ranks whose seats rank 0 has read,      replaced by rank 0
 *                                   rank 0's beat, and whether it calls
 *     collectives-JOB.RUN.verdict   complete, or failed and why                 created once
 *     collectives-JOB.RUN.done-R    rank R has read all that it needs           created once
 *
 * "Created once" is a hard link from a finished draft, which fails if the name exists; "replaced"
 * is a rename. Both show a file whole or not at all, also on NFS, and need neither locks nor
 * clocks. Where there are no hard links, the file's last line tells whether it is whole.
 *
 *     rank 0                                  rank R > 0
 *     ------                                  ----------
 *     draw RUN; remove the files of all       poll run; when it names a RUN that is new to me:
 *       other runs; write run                   does rank 0's announcement agree with mine?
 *     poll the seats of RUN, note them          create seat-R; is it mine?
 *       in seen; beat                           if not: does its owner beat?
 *                                                 create verdict = failed, naming both
 *     whose beat stops: remove its seat       beat; poll verdict, run and seen
 *     and nobody takes it:                    rank 0's beat stops:
 *       create verdict = failed, naming it      create verdict = failed, naming it; remove run
 *     all seats are taken: call in seen       called in seen: answer in beat-R
 *     all have answered:                      poll verdict and run:
 *       create verdict = complete               complete: read all seats, create done-R
 *     remove run                                failed, and run is gone: create done-R, throw
 *     all are done, or a second is over:
 *       remove RUN.*
 *
 * Who gives up (deadline, close, interrupt) creates verdict = failed first. As the verdict is
 * created once, a run is complete for all that sit in it or for none: a rank that gives up while
 * rank 0 completes the run finds that the file exists, reads it, and stays.
 *
 * Why two runs cannot mix. (1) Only a process that has read RUN can create a seat in it, and RUN is
 * drawn at random by the rank 0 of this run; so every seat of RUN is of a process that was there
 * after that rank 0 came, and leftovers of earlier runs lie under other names. (2) Only the rank 0
 * that drew RUN creates its complete verdict, and a rank believes that verdict only if it was not
 * there yet when it took its own seat in RUN, which it knows by a random ticket. (3) A rank leaves
 * RUN for a newer one only after it has made RUN fail. (4) RUN is the epoch, which every frame
 * carries: even a rank 0 that was stopped for an hour and wakes up cannot disturb those who met
 * without it.
 *
 * Who dies or stops while others are awaited is named by all within the limit of silence, as over
 * TCP. A beat is another number in a file, and each who looks measures by its own clock when it
 * last changed: that needs no common clock and no locks, which network file systems may not have
 * and which ranks in one JVM cannot share. Rank 0 watches all who sit, the others watch rank 0 and
 * hear of the rest by the verdict. By phases:
 *
 *     before there is a run        nobody is known to be there; who never came is named at the
 *                                  timeout, as missing
 *     R > 0 stops while it sits    rank 0 removes the seat after half of the limit, and at the
 *                                  limit makes the run fail, unless the seat is taken again: by a
 *                                  new process, or by the same one, if it was only stopped
 *     rank 0 stops                 whoever has seen it beat makes the run fail at the limit and
 *                                  removes the run file in its place, unless a new rank 0 has
 *                                  replaced that, when all move on
 *     anybody, when all sit        the same: rank 0 calls all once more before it decides, so
 *                                  that nobody is counted who has died since it sat
 *     after complete is decided    all who sit read the seats and need nobody; who is dead then is
 *                                  found by the transport
 *
 * Who was itself stopped gives the others the whole limit anew (Watch), and then learns what was
 * decided without it: from the verdict; from its seat, which it takes again if nobody else has it;
 * or from its run, if that was removed. It never believes a complete verdict if the seat is not its
 * own any more.
 *
 * What leftovers do. A run file of a rank 0 that crashed is believed by early ranks, which sit in
 * that run, find seats taken by the dead, and may even make it fail. None of that counts: a failed
 * verdict is thrown only when the run file is gone, which shows that the run's own rank 0 was alive
 * in this time, as nobody removes it but that one, or a rank that has seen it beat. If instead the
 * new rank 0 replaces the run file, they move on. If it does not come, they time out, and the seen
 * file, where they do not find themselves, tells them that rank 0 is missing.
 *
 * Two processes with the same rank R > 0: the second finds the seat taken by one that beats, and
 * makes the run fail for all, naming both. If the first has died the seat is soon free, and the
 * second takes it. Two with rank 0: the second replaces the run file; the first sees that and makes
 * both runs fail. If the first has died, all move on to the run of the second.
 *
 * Jobs of different names have different files, so that they can meet in one directory at the same
 * time. Hence a wrong name cannot be told from another job at once; a rank that times out names the
 * other jobs that wait in the directory.
 */

/**
 * Meets in a directory that all ranks see, on one host or by a network file system.
 *
 * <p>A rank that dies or stops while others are awaited is named to all who wait when it has given
 * no sign for the limit of silence, unless another process has taken its place by then; ranks must
 * be given the same limit.
 *
 * <p>Whoever can write in the directory can join the job or keep it from meeting: its permissions
 * are its protection.
 */
public final class DirectoryRendezvous implements Rendezvous {
  private static final String PREFIX = "collectives-";
  private static final int LONGEST_READABLE_NAME = 40;
  private static final int LONGEST_REASON = 1300;

  /** As many as the seen file has room for. */
  private static final int MOST_RANKS = 12_000;

  private static final int MOST_OTHERS_NAMED = 4;
  private static final int MOST_ABSENCES = 10;
  private static final long SHORTEST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
  private static final long LONGEST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
  private static final long LINGER_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final long LONGEST_BEAT_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final long LONGEST_LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
  private static final Pattern RUN = Pattern.compile("[0-9a-f]{32}");
  private static final String COMPLETE = "complete";
  private static final String FAILED = "failed";

  private final Path directory;
  private final Duration silenceLimit;
  private volatile boolean closed;
  private volatile @Nullable Thread waiter;

  /**
   * A rendezvous in {@code directory}, which need not be there before the ranks meet, with the
   * default limit of silence.
   */
  public DirectoryRendezvous(Path directory) {
    this(directory, CallSettings.defaults().silenceLimit());
  }

  /**
   * A rendezvous in {@code directory}, which need not be there before the ranks meet.
   *
   * @param silenceLimit after how long without a sign of life a rank is taken for lost; more than
   *     zero and the same at all ranks
   */
  public DirectoryRendezvous(Path directory, Duration silenceLimit) {
    this.directory = directory;
    this.silenceLimit = silenceLimit;
  }

  @Override
  public Roster meet(Announcement me, Duration timeout) {
    if (!Files.isDirectory(directory)) {
      throw new JoinException(
          "rendezvous directory "
              + directory
              + " is not a directory here; create it, and see that all hosts mount it");
    }
    if (!Files.isWritable(directory)) {
      throw new JoinException(
          "rendezvous directory "
              + directory
              + " is not writable for this process; change its permissions");
    }
    if (me.size() > MOST_RANKS) {
      throw new JoinException(
          "job "
              + me.job()
              + " has "
              + me.size()
              + " ranks, and a directory has room for "
              + MOST_RANKS
              + "; meet at tcp://host:port");
    }
    waiter = Thread.currentThread();
    try {
      Meeting meeting = new Meeting(me, timeout);
      return me.rank() == 0 ? meeting.lead() : meeting.follow();
    } catch (IOException e) {
      throw new JoinException(
          "rank "
              + me.rank()
              + " of job "
              + me.job()
              + " cannot meet in directory "
              + directory
              + ": "
              + e.getClass().getSimpleName()
              + " "
              + e.getMessage()
              + "; check its permissions and free space",
          e);
    } finally {
      waiter = null;
    }
  }

  @Override
  public void close() {
    closed = true;
    LockSupport.unpark(waiter);
  }

  /** One call of {@link #meet}. */
  private final class Meeting {
    private final Announcement me;
    private final Duration timeout;
    private final long startNanos = System.nanoTime();
    private final long timeoutNanos;
    private final String ticket = JobEpoch.draw().toString();
    private final String prefix;
    private final Path runFile;
    private final Path waitingFile;
    private final Map<Path, String> oddities = new TreeMap<>();
    private final List<Path> created = new ArrayList<>();
    private final List<Path> leftBehind = new ArrayList<>();
    private final long silenceNanos = nanos(silenceLimit);
    private final long beatNanos = Math.min(silenceNanos / 8, LONGEST_BEAT_NANOS);
    private final long lookNanos = Math.min(silenceNanos / 16, LONGEST_LOOK_NANOS);
    private final Watch watch;
    private long pauseNanos = SHORTEST_PAUSE_NANOS;
    private long lookedNanos = startNanos;
    private long beatenNanos = startNanos;
    private long beats;

    /** The run of which this rank takes part in. */
    private @Nullable String run;

    /** Rank 0 of that run, to another one. */
    private @Nullable Announcement leader;

    /** Whether this rank, which is not 0, has taken its seat in the run. */
    private boolean sits;

    /** Why this rank cannot be one of the run. */
    private @Nullable String conflict;

    /** At rank 0: the ranks whose seats have been read, and what they said. */
    private final BitSet seen;

    private final @Nullable Note[] seats;

    /** At rank 0: whether all sit and are called, and who has answered. */
    private boolean calls;

    private final BitSet answered = new BitSet();

    /** The number of the last call: of its own at rank 0, of the last one answered at another. */
    private int roll;

    /** At rank 0: who has lost its seat and is not back yet. */
    private final Map<Integer, Announcement> lost = new TreeMap<>();

    Meeting(Announcement me, Duration timeout) {
      this.me = me;
      this.timeout = timeout;
      this.timeoutNanos = nanos(timeout);
      this.watch = new Watch(me.size(), silenceNanos, startNanos);
      this.seen = new BitSet(me.size());
      this.seats = new Note[me.size()];
      this.prefix = PREFIX + fileName(me.job());
      this.runFile = directory.resolve(prefix + ".run");
      this.waitingFile = waiting(me.rank());
    }

    Roster lead() throws IOException {
      JobEpoch epoch = JobEpoch.draw();
      String own = epoch.toString();
      seen.set(0);
      removeRunsBut(own);
      note(me).with("run", own).replace(runFile, draft());
      noteSeen(own);
      run = own;
      @Nullable Note verdict = null;
      try {
        while (verdict == null) {
          boolean slept = watch.begin(System.nanoTime());
          verdict = read(verdict(own));
          String stop = stopReason();
          Note present = read(runFile);
          if (verdict == null && (slept || present == null) && !Files.exists(file(own, "seen"))) {
            throw new JoinException(
                name(me)
                    + " of job "
                    + me.job()
                    + " was stopped in directory "
                    + directory
                    + ": the others gave it up, or another process has taken its place; unless they"
                    + " run, start all ranks again");
          }
          boolean progress = false;
          if (present == null && verdict == null) {
            note(me).with("run", own).replace(runFile, draft());
          } else if (present != null && !present.text("run").equals(own)) {
            String reason = cameTwice(me, announcement(present));
            if (RUN.matcher(present.text("run")).matches()) {
              decide(present.text("run"), FAILED, reason);
            }
            verdict = decide(own, FAILED, reason);
          }
          for (int rank = seen.nextClearBit(0);
              rank < me.size();
              rank = seen.nextClearBit(rank + 1)) {
            Note seat = read(seat(own, rank));
            if (seat == null) {
              continue;
            }
            Announcement announcement = announcement(seat);
            String difference =
                announcement.rank() == rank
                    ? difference(announcement, me)
                    : "seat " + rank + " is not its owner's";
            if (difference != null) {
              verdict = decide(own, FAILED, difference);
              break;
            }
            seats[rank] = seat;
            seen.set(rank);
            lost.remove(rank);
            watch.meet(rank, sign(own, rank, seat));
            progress = true;
          }
          if (verdict == null && isTimeToLook() && freeQuietSeats(own)) {
            progress = true;
          }
          if (progress) {
            noteSeen(own);
          }
          Announcement gone = firstLost();
          if (verdict == null && seen.cardinality() == me.size()) {
            if (rollCall(own)) {
              verdict = decide(own, COMPLETE, "");
            }
          } else if (verdict == null && gone != null) {
            verdict =
                decide(
                    own,
                    FAILED,
                    lost(
                        name(gone)
                            + " came to directory "
                            + directory
                            + ", where job "
                            + me.job()
                            + " meets,"));
          }
          if (verdict == null && stop != null) {
            verdict = decide(own, FAILED, explained(stop + named(missing(present()))));
          }
          if (verdict == null) {
            pause(progress);
          }
        }
        if (!isComplete(verdict)) {
          throw new JoinException(verdict.text("reason"));
        }
        List<String> addresses = new ArrayList<>(me.size());
        addresses.add(me.address());
        for (int rank = 1; rank < me.size(); rank++) {
          addresses.add(announcement(Objects.requireNonNull(seats[rank])).address());
        }
        return new Roster(epoch, addresses);
      } finally {
        run = null;
        clearUp(own);
      }
    }

    /**
     * Calls those who sit, and whether all have answered: somebody may have died since it sat.
     *
     * @return only if all seats are taken
     */
    private boolean rollCall(String run) throws IOException {
      if (!calls) {
        calls = true;
        roll++;
        answered.clear();
        answered.set(0);
        noteSeen(run);
      }
      for (int rank = answered.nextClearBit(0);
          rank < me.size();
          rank = answered.nextClearBit(rank + 1)) {
        Note beat = beatOf(run, rank, Objects.requireNonNull(seats[rank]));
        answered.set(rank, beat != null && beat.number("roll") == roll);
      }
      return answered.cardinality() == me.size();
    }

    /** Who sits here, and has answered if called. */
    private BitSet present() {
      return calls ? answered : seen;
    }

    /** Gives the seats of those back who have been silent for long; whether there were any. */
    private boolean freeQuietSeats(String run) throws IOException {
      boolean any = false;
      for (int rank = 1; rank < me.size(); rank++) {
        Note seat = seats[rank];
        if (!seen.get(rank) || seat == null) {
          continue;
        }
        watch.look(rank, sign(run, rank, seat));
        if (watch.isQuiet(rank)) {
          Files.deleteIfExists(seat(run, rank));
          seats[rank] = null;
          seen.clear(rank);
          lost.put(rank, announcement(seat));
          calls = false;
          any = true;
        }
      }
      return any;
    }

    private @Nullable Announcement firstLost() {
      for (Announcement gone : lost.values()) {
        if (watch.isLost(gone.rank())) {
          return gone;
        }
      }
      return null;
    }

    Roster follow() throws IOException {
      note(me).replace(waitingFile, draft());
      try {
        return sitAndWait();
      } finally {
        leave();
        leftBehind.add(waitingFile);
        for (Path file : leftBehind) {
          try {
            Files.deleteIfExists(file);
          } catch (IOException e) {
            // What is left is for the next run to remove, and no reason to spoil this one.
          }
        }
      }
    }

    private Roster sitAndWait() throws IOException {
      boolean tidies = false;
      while (true) {
        watch.begin(System.nanoTime());
        String stop = stopReason();
        Note verdict = run == null ? null : read(verdict(run));
        if (isMine(verdict)) {
          return complete();
        }
        Note present = read(runFile);
        boolean progress = false;
        if (present == null) {
          // Read again what may have been written before the run file was removed.
          verdict = run == null ? null : read(verdict(run));
          if (run != null && conflict != null) {
            throw new JoinException(conflict);
          }
          if (run != null && verdict != null && !isComplete(verdict)) {
            String reason = verdict.text("reason");
            String own = run;
            done(own);
            leave();
            if (tidies) {
              clearUp(own);
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
          leftBehind.addAll(created);
          created.clear();
          sit(present.text("run"), announcement(present));
          progress = true;
        }
        if (run != null && leader != null && conflict == null) {
          if (isTimeToLook()) {
            if (sits) {
              keepSeat(run, present != null);
            } else {
              claimSeat(run);
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
                        + directory));
            tidies |= removeRunFile(run);
            progress = true;
          }
        }
        if (stop != null) {
          BitSet missing = missingFor(run);
          String reason = explained(stop + named(missing));
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
        leftBehind.add(beat(run, me.rank()));
      }
      sits = false;
      run = null;
      roll = 0;
    }

    /** Takes this rank's seat in a run, or finds out what is in the way. */
    private void sit(String newRun, Announcement itsLeader) throws IOException {
      run = newRun;
      leader = itsLeader;
      conflict = difference(me, itsLeader);
      watch.meet(0, text(file(newRun, "seen")));
      watch.meet(me.rank(), text(beat(newRun, me.rank())));
      if (conflict == null) {
        claimSeat(newRun);
      } else {
        decide(newRun, FAILED, conflict);
      }
    }

    /** Takes this rank's seat, unless somebody else has it; who beats there will not give it up. */
    private void claimSeat(String run) throws IOException {
      if (isComplete(read(verdict(run)))) {
        conflict =
            "the ranks of job "
                + me.job()
                + " had met before "
                + name(me)
                + " came; start all ranks again";
      } else if (create(note(me), seat(run, me.rank()))) {
        sits = true;
        beat();
      } else {
        // Its ticket tells whose it is: when a file server's answer is lost, a link is made and
        // yet seems to fail.
        Note seat = readWhole(seat(run, me.rank()), runFile);
        watch.look(me.rank(), text(beat(run, me.rank())));
        if (seat.text("ticket").equals(ticket)) {
          sits = true;
          beat();
        } else if (watch.isBeating(me.rank()) && !seat.values().isEmpty()) {
          conflict = cameTwice(announcement(seat), me);
        }
      }
      if (conflict != null) {
        decide(run, FAILED, conflict);
      }
    }

    /**
     * Sees that this rank still has its seat, which it loses when it gives no sign for long, and
     * takes it again.
     */
    private void keepSeat(String run, boolean gathering) throws IOException {
      Path file = seat(run, me.rank());
      Note seat = read(file);
      if (seat != null && !seat.text("ticket").equals(ticket)) {
        leave();
        throw new JoinException(
            cameTwice(announcement(seat), me)
                + "; the latter gave no sign for "
                + silenceLimit.toMillis() / 2
                + " ms and lost its seat");
      }
      if (seat == null && !Files.exists(file)) {
        if (gathering) {
          create(note(me), file);
        } else if (read(verdict(run)) == null) {
          leave();
          throw new JoinException(
              name(me)
                  + " of job "
                  + me.job()
                  + " gave no sign for so long in directory "
                  + directory
                  + " that the other ranks gave up meeting it: it was stopped, or its host could not"
                  + " reach the directory; start all ranks again");
        }
      }
    }

    /** Hears whether rank 0 lives, and whether it calls. */
    private void hear(String run) throws IOException {
      Note note = Note.read(file(run, "seen"));
      if (note != null && note.problem() == null) {
        watch.look(0, note.values().toString());
        int called = note.number("roll");
        if (sits && conflict == null && called > 0 && called != roll) {
          roll = called;
          beat();
        }
      }
    }

    private String lost(String whoAndWhere) {
      return whoAndWhere
          + " and was lost: its process has ended or was stopped, or its host cannot reach the"
          + " directory, and within "
          + silenceLimit.toMillis()
          + " ms nobody has taken its place; start all ranks again";
    }

    private boolean isTimeToLook() {
      long now = System.nanoTime();
      if (now - lookedNanos < lookNanos) {
        return false;
      }
      lookedNanos = now;
      return true;
    }

    /** Gives a sign of life. */
    private void beat() throws IOException {
      beatenNanos = System.nanoTime();
      if (run != null && me.rank() == 0 && Files.exists(file(run, "seen"))) {
        noteSeen(run);
      } else if (run != null && sits && conflict == null) {
        new Note()
            .with("ticket", ticket)
            .with("beat", ++beats)
            .with("roll", roll)
            .replace(beat(run, me.rank()), draft());
      }
    }

    /** The beat of who sits in a seat; nothing if that is not there. */
    private @Nullable Note beatOf(String run, int rank, Note seat) {
      Note beat = Note.read(beat(run, rank));
      return beat != null && beat.text("ticket").equals(seat.text("ticket")) ? beat : null;
    }

    private @Nullable String sign(String run, int rank, Note seat) {
      Note beat = beatOf(run, rank, seat);
      return beat == null ? null : beat.text("beat");
    }

    /** All that a file says; nothing if it is not there or cannot be read now. */
    private static @Nullable String text(Path file) {
      Note note = Note.read(file);
      return note == null || note.problem() != null ? null : note.values().toString();
    }

    private Roster complete() throws IOException {
      String run = Objects.requireNonNull(this.run);
      Announcement leader = Objects.requireNonNull(this.leader);
      List<String> addresses = new ArrayList<>(me.size());
      addresses.add(leader.address());
      for (int rank = 1; rank < me.size(); rank++) {
        Note seat = readWhole(seat(run, rank), verdict(run));
        if (seat.values().isEmpty()) {
          throw new JoinException(
              name(me)
                  + " of job "
                  + me.job()
                  + ": all ranks met, but "
                  + seat(run, rank)
                  + " cannot be read, as it was"
                  + " removed or damaged; start all ranks again");
        }
        if (rank == me.rank() && !seat.text("ticket").equals(ticket)) {
          throw new JoinException(cameTwice(announcement(seat), me));
        }
        addresses.add(announcement(seat).address());
      }
      done(run);
      return new Roster(JobEpoch.parse(run), addresses);
    }

    /** Creates the verdict of a run, or finds the one that somebody else has created. */
    private Note decide(String run, String state, String reason) throws IOException {
      Note mine = new Note().with("state", state).with("reason", cut(reason));
      if (create(mine, verdict(run))) {
        return mine;
      }
      Note theirs = readWhole(verdict(run), runFile);
      return theirs.values().isEmpty()
          ? new Note()
              .with("state", FAILED)
              .with("reason", verdict(run) + " was removed or damaged; start all ranks again")
          : theirs;
    }

    private boolean create(Note note, Path file) throws IOException {
      boolean mine = note.create(file, draft());
      if (mine) {
        created.add(file);
      }
      return mine;
    }

    /**
     * Reads a file that another rank may still be writing; an empty note if that does not end while
     * a witness is there, or if the file is gone: a new rank 0 removes those of earlier runs.
     */
    private Note readWhole(Path file, Path witness) throws IOException {
      // A few looks, because a file server may show a name that was just taken a little later.
      for (int absences = 0; ; ) {
        boolean last = stopReason() != null || !Files.exists(witness);
        Note note = read(file);
        absences = note == null && !Files.exists(file) ? absences + 1 : 0;
        if (note != null || last || absences == MOST_ABSENCES) {
          return note != null ? note : new Note();
        }
        pause(false);
      }
    }

    private void done(String run) throws IOException {
      create(new Note().with("ticket", ticket), file(run, "done-" + me.rank()));
    }

    /**
     * Removes the run file if it still names this run, waits until all who sit in the run have read
     * its verdict, and removes its files. What cannot be removed is left to the next run; a run
     * file of another rank 0 that is caught in between is renewed by that one.
     */
    private void clearUp(String run) {
      try {
        removeRunFile(run);
        if (allDone(run)) {
          remove(prefix + "." + run + ".*", "");
          remove(prefix + ".waiting-*", "");
        }
      } catch (IOException e) {
        // No reason to spoil a meeting that may have succeeded.
      }
    }

    /** Whether the run file named this run, and it was this rank that has removed it. */
    private boolean removeRunFile(String run) throws IOException {
      Note present = read(runFile);
      return present != null && present.text("run").equals(run) && Files.deleteIfExists(runFile);
    }

    private boolean allDone(String run) throws IOException {
      long endNanos = System.nanoTime() + LINGER_NANOS;
      pauseNanos = SHORTEST_PAUSE_NANOS;
      for (int rank = 1; rank < me.size(); rank++) {
        // Who has lost its seat by a pause may come back for the verdict; who is lost will not.
        boolean mayReturn = lost.containsKey(rank) && !watch.isLost(rank);
        if (!mayReturn && !Files.exists(seat(run, rank))) {
          continue;
        }
        while (!Files.exists(file(run, "done-" + rank))) {
          if (System.nanoTime() - endNanos >= 0 || Thread.currentThread().isInterrupted()) {
            return false;
          }
          pause(false);
        }
      }
      return true;
    }

    private void removeRunsBut(String run) throws IOException {
      remove(prefix + ".*.*", prefix + "." + run + ".");
    }

    private void remove(String glob, String but) throws IOException {
      try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, glob)) {
        for (Path file : files) {
          String name = file.getFileName().toString();
          if (but.isEmpty() || !name.startsWith(but)) {
            Files.deleteIfExists(file);
          }
        }
      }
    }

    private void noteSeen(String run) throws IOException {
      beatenNanos = System.nanoTime();
      new Note()
          .with("beat", ++beats)
          .with("roll", calls ? roll : 0)
          .with("ranks", HexFormat.of().formatHex(seen.toByteArray()))
          .replace(file(run, "seen"), draft());
    }

    /**
     * Who is missing, as far as a rank other than 0 can tell: rank 0 is there if it has seen this
     * one.
     */
    private BitSet missingFor(@Nullable String run) {
      Note note = run == null ? null : read(file(run, "seen"));
      if (note != null) {
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
          oddities.put(file(run, "seen"), "names no ranks");
        }
      }
      BitSet here = new BitSet(me.size());
      for (int rank = 1; rank < me.size(); rank++) {
        here.set(rank, Files.exists(waiting(rank)));
      }
      return missing(here);
    }

    private BitSet missing(BitSet present) {
      BitSet missing = new BitSet(me.size());
      missing.set(0, me.size());
      missing.andNot(present);
      return missing;
    }

    private String named(BitSet missing) {
      return missing.isEmpty()
          ? ""
          : " missing of "
              + me.size()
              + ": "
              + (missing.cardinality() == 1 ? "rank " : "ranks ")
              + ranges(missing);
    }

    /** Why to give up now, if at all. */
    private @Nullable String stopReason() {
      String who = name(me) + " of job " + me.job();
      if (closed) {
        return who + " closed its rendezvous before all ranks had met;";
      }
      if (Thread.currentThread().isInterrupted()) {
        return who + " was interrupted before all ranks had met;";
      }
      if (System.nanoTime() - startNanos - timeoutNanos >= 0) {
        return who
            + " waited "
            + timeout.toMillis()
            + " ms in directory "
            + directory
            + " until all ranks would meet;";
      }
      return null;
    }

    /** Adds what else is odd in the directory, which may be why ranks are missing. */
    private String explained(String reason) {
      StringJoiner others =
          new StringJoiner(
              ", ", "; in the same directory waits ", "; ranks of one job must give one name");
      others.setEmptyValue("");
      int named = 0;
      try (DirectoryStream<Path> files =
          Files.newDirectoryStream(directory, PREFIX + "*.{run,waiting-*}")) {
        for (Path file : files) {
          Note note = Note.read(file);
          if (note != null
              && note.problem() == null
              && !note.text("job").equals(me.job())
              && !note.text("job").isEmpty()
              && named++ < MOST_OTHERS_NAMED) {
            others.add("job " + note.text("job") + " with " + name(announcement(note)));
          }
        }
      } catch (IOException e) {
        oddities.put(directory, "cannot be listed: " + e.getMessage());
      }
      StringBuilder text = new StringBuilder(reason);
      oddities.forEach(
          (file, problem) -> text.append("; ").append(file).append(' ').append(problem));
      return text.append(others).toString();
    }

    /**
     * Reads a file; nothing if it is not there or not a note, which is remembered as long as it is
     * so.
     */
    private @Nullable Note read(Path file) {
      Note note = Note.read(file);
      if (note != null && note.problem() != null) {
        oddities.put(file, note.problem());
        return null;
      }
      oddities.remove(file);
      return note;
    }

    private void pause(boolean progress) throws IOException {
      if (System.nanoTime() - beatenNanos >= beatNanos) {
        beat();
      }
      if (progress) {
        pauseNanos = SHORTEST_PAUSE_NANOS;
      }
      LockSupport.parkNanos(this, pauseNanos);
      pauseNanos = Math.min(2 * pauseNanos, LONGEST_PAUSE_NANOS);
    }

    private Note note(Announcement who) {
      return new Note()
          .with("version", who.version())
          .with("job", who.job())
          .with("rank", who.rank())
          .with("size", who.size())
          .with("transport", who.transport())
          .with("address", who.address())
          .with("whereabouts", who.whereabouts())
          .with("ticket", ticket);
    }

    private Path draft() {
      return directory.resolve(prefix + ".draft-" + ticket);
    }

    private Path waiting(int rank) {
      return directory.resolve(prefix + ".waiting-" + rank);
    }

    private Path seat(String run, int rank) {
      return file(run, "seat-" + rank);
    }

    private Path beat(String run, int rank) {
      return file(run, "beat-" + rank);
    }

    private Path verdict(String run) {
      return file(run, "verdict");
    }

    private Path file(String run, String what) {
      return directory.resolve(prefix + "." + run + "." + what);
    }
  }

  private static long nanos(Duration duration) {
    return duration.compareTo(Duration.ofDays(365)) > 0
        ? Duration.ofDays(365).toNanos()
        : duration.toNanos();
  }

  private static boolean isComplete(@Nullable Note verdict) {
    return verdict != null && verdict.text("state").equals(COMPLETE);
  }

  private static String cut(String reason) {
    return reason.length() > LONGEST_REASON ? reason.substring(0, LONGEST_REASON) + "…" : reason;
  }

  private static Announcement announcement(Note note) {
    return new Announcement(
        note.text("job"),
        note.number("rank"),
        note.number("size"),
        note.number("version"),
        note.text("transport"),
        note.text("address"),
        note.text("whereabouts"));
  }

  /** In what two ranks differ that must be the same for all, with both values. */
  private static @Nullable String difference(Announcement a, Announcement b) {
    if (a.version() != b.version()) {
      return differs(
          "version of the protocol",
          a,
          a.version(),
          b,
          b.version(),
          "use one version of collectives");
    }
    if (!a.job().equals(b.job())) {
      return differs("name of the job", a, a.job(), b, b.job(), "give all ranks one name");
    }
    if (a.size() != b.size()) {
      return differs("number of ranks", a, a.size(), b, b.size(), "start all ranks with one size");
    }
    if (!a.transport().equals(b.transport())) {
      return differs(
          "transport", a, a.transport(), b, b.transport(), "give all ranks one transport");
    }
    return null;
  }

  private static String differs(
      String what, Announcement a, Object ofA, Announcement b, Object ofB, String advice) {
    return "the ranks of job "
        + b.job()
        + " differ in the "
        + what
        + ": "
        + name(a)
        + " has "
        + ofA
        + ", "
        + name(b)
        + " has "
        + ofB
        + "; "
        + advice;
  }

  private static String cameTwice(Announcement first, Announcement second) {
    return "two processes of job "
        + first.job()
        + " claim rank "
        + first.rank()
        + ": "
        + first.whereabouts()
        + " and "
        + second.whereabouts()
        + "; give each a rank of its own";
  }

  private static String name(Announcement who) {
    return "rank " + who.rank() + " (" + who.whereabouts() + ")";
  }

  /** As {@code 0, 3-5}. */
  private static String ranges(BitSet ranks) {
    StringJoiner text = new StringJoiner(", ");
    for (int first = ranks.nextSetBit(0); first >= 0; ) {
      int end = ranks.nextClearBit(first);
      text.add(end - first < 3 ? Integer.toString(first) : first + "-" + (end - 1));
      first = ranks.nextSetBit(end - first < 3 ? first + 1 : end);
    }
    return text.toString();
  }

  /**
   * A name for files that is readable, and different for different jobs also where case does not
   * count.
   */
  private static String fileName(String job) {
    String readable = job.replaceAll("[^A-Za-z0-9_-]", "_");
    try {
      byte[] hash =
          MessageDigest.getInstance("SHA-256").digest(job.getBytes(StandardCharsets.UTF_8));
      return readable.substring(0, Math.min(readable.length(), LONGEST_READABLE_NAME))
          + "-"
          + HexFormat.of().formatHex(hash, 0, 8);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }
}
