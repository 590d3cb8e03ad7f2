package io.collectives.engine.join;

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
 * seat there. The VERDICT of a run says whether it is complete or failed, and why.
 *
 * Files, of at most 4 KiB each; JOB stands for the job's name and its hash, RUN for 32 hexadecimal
 * digits:
 *
 *     collectives-JOB.run           the present run, and rank 0's announcement  replaced by rank 0
 *     collectives-JOB.waiting-R     rank R is here; for messages only           replaced by rank R
 *     collectives-JOB.RUN.seat-R    rank R's announcement, R > 0                created once
 *     collectives-JOB.RUN.seen      the ranks whose seats rank 0 has read       replaced by rank 0
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
 *       in seen                                 if not: create verdict = failed, naming both
 *     all seats are taken:                    poll verdict and run:
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
 * What leftovers do. A run file of a rank 0 that crashed is believed by early ranks, which sit in
 * that run, find seats taken by the dead, and may even make it fail. None of that counts: a failed
 * verdict is thrown only when the run file is gone, which shows that the run's own rank 0 is alive,
 * as nobody else removes it. If instead the new rank 0 replaces the run file, they move on. If it
 * does not come, they time out, and the seen file, where they do not find themselves, tells them
 * that rank 0 is missing.
 *
 * Two processes with the same rank R > 0: the second finds the seat taken and makes the run fail
 * for all, naming both. Two with rank 0: the second replaces the run file; the first sees that and
 * makes both runs fail. Had the first died after it sat in a run that was still gathering, the job
 * fails nevertheless, and meets when all ranks are started again.
 *
 * Jobs of different names have different files, so that they can meet in one directory at the same
 * time. Hence a wrong name cannot be told from another job at once; a rank that times out names the
 * other jobs that wait in the directory.
 */

/**
 * Meets in a directory that all ranks see, on one host or by a network file system.
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
  private static final Pattern RUN = Pattern.compile("[0-9a-f]{32}");
  private static final String COMPLETE = "complete";
  private static final String FAILED = "failed";

  private final Path directory;
  private volatile boolean closed;
  private volatile @Nullable Thread waiter;

  /** A rendezvous in {@code directory}, which need not be there before the ranks meet. */
  public DirectoryRendezvous(Path directory) {
    this.directory = directory;
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
    private long pauseNanos = SHORTEST_PAUSE_NANOS;

    Meeting(Announcement me, Duration timeout) {
      this.me = me;
      this.timeout = timeout;
      this.timeoutNanos =
          timeout.compareTo(Duration.ofDays(365)) > 0
              ? Duration.ofDays(365).toNanos()
              : timeout.toNanos();
      this.prefix = PREFIX + fileName(me.job());
      this.runFile = directory.resolve(prefix + ".run");
      this.waitingFile = waiting(me.rank());
    }

    Roster lead() throws IOException {
      JobEpoch epoch = JobEpoch.draw();
      String run = epoch.toString();
      BitSet seen = new BitSet(me.size());
      Announcement[] seats = new Announcement[me.size()];
      seats[0] = me;
      seen.set(0);
      removeRunsBut(run);
      note(me).with("run", run).replace(runFile, draft());
      noteSeen(run, seen);
      @Nullable Note verdict = null;
      try {
        while (verdict == null) {
          verdict = read(verdict(run));
          String stop = stopReason();
          Note present = read(runFile);
          boolean progress = false;
          if (present == null) {
            note(me).with("run", run).replace(runFile, draft());
          } else if (!present.text("run").equals(run)) {
            String reason = cameTwice(me, announcement(present));
            if (RUN.matcher(present.text("run")).matches()) {
              decide(present.text("run"), FAILED, reason);
            }
            verdict = decide(run, FAILED, reason);
          }
          for (int rank = seen.nextClearBit(0);
              rank < me.size();
              rank = seen.nextClearBit(rank + 1)) {
            Note seat = read(seat(run, rank));
            if (seat == null) {
              continue;
            }
            Announcement announcement = announcement(seat);
            String difference =
                announcement.rank() == rank
                    ? difference(announcement, me)
                    : "seat " + rank + " is not its owner's";
            if (difference != null) {
              verdict = decide(run, FAILED, difference);
              break;
            }
            seats[rank] = announcement;
            seen.set(rank);
            progress = true;
          }
          if (progress) {
            noteSeen(run, seen);
          }
          if (verdict == null && seen.cardinality() == me.size()) {
            verdict = decide(run, COMPLETE, "");
          } else if (verdict == null && stop != null) {
            verdict = decide(run, FAILED, explained(stop + named(missing(seen))));
          }
          if (verdict == null) {
            pause(progress);
          }
        }
        if (!verdict.text("state").equals(COMPLETE)) {
          throw new JoinException(verdict.text("reason"));
        }
        List<String> addresses = new ArrayList<>(me.size());
        for (Announcement seat : seats) {
          addresses.add(seat.address());
        }
        return new Roster(epoch, addresses);
      } finally {
        clearUp(run);
      }
    }

    Roster follow() throws IOException {
      note(me).replace(waitingFile, draft());
      try {
        return sitAndWait();
      } finally {
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
      @Nullable String run = null;
      @Nullable Announcement leader = null;
      @Nullable String conflict = null;
      while (true) {
        String stop = stopReason();
        Note verdict = run == null ? null : read(verdict(run));
        if (run != null && leader != null && conflict == null && isComplete(verdict)) {
          return complete(run, leader);
        }
        Note present = read(runFile);
        boolean progress = false;
        if (present == null) {
          // Read again what may have been written before the run file was removed.
          verdict = run == null ? null : read(verdict(run));
          if (run != null && (conflict != null || verdict != null && !isComplete(verdict))) {
            if (conflict != null) {
              throw new JoinException(conflict);
            }
            done(run);
            throw new JoinException(verdict.text("reason"));
          }
        } else if (RUN.matcher(present.text("run")).matches() && !present.text("run").equals(run)) {
          if (run != null && leader != null && conflict == null) {
            verdict = decide(run, FAILED, name(me) + " moved on to a newer run of the job");
            if (isComplete(verdict)) {
              return complete(run, leader);
            }
          }
          leftBehind.addAll(created);
          created.clear();
          run = present.text("run");
          leader = announcement(present);
          conflict = sit(run, leader);
          progress = true;
        }
        if (stop != null) {
          BitSet missing = missingFor(run);
          String reason = explained(stop + named(missing));
          if (run != null && leader != null && conflict == null) {
            verdict = decide(run, FAILED, reason);
            if (isComplete(verdict)) {
              return complete(run, leader);
            }
            done(run);
            if (!missing.get(0)) {
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

    /**
     * Takes this rank's seat.
     *
     * @return why that was not possible
     */
    private @Nullable String sit(String run, Announcement leader) throws IOException {
      String conflict = difference(me, leader);
      if (conflict == null && isComplete(read(verdict(run)))) {
        conflict =
            "the ranks of job "
                + me.job()
                + " had met before "
                + name(me)
                + " came; start all ranks again";
      }
      if (conflict == null) {
        Path file = seat(run, me.rank());
        if (!create(note(me), file)) {
          // Its ticket tells whose it is: when a file server's answer is lost, a link is made and
          // yet seems to fail.
          Note seat = readWhole(file, runFile);
          if (!seat.text("ticket").equals(ticket)) {
            conflict =
                seat.values().isEmpty()
                    ? file + " cannot be read"
                    : cameTwice(announcement(seat), me);
          }
        }
      }
      if (conflict != null) {
        decide(run, FAILED, conflict);
      }
      return conflict;
    }

    private Roster complete(String run, Announcement leader) throws IOException {
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
    private Note readWhole(Path file, Path witness) {
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
        Note present = read(runFile);
        if (present != null && present.text("run").equals(run)) {
          Files.deleteIfExists(runFile);
        }
        if (allDone(run)) {
          remove(prefix + "." + run + ".*", "");
          remove(prefix + ".waiting-*", "");
        }
      } catch (IOException e) {
        // No reason to spoil a meeting that may have succeeded.
      }
    }

    private boolean allDone(String run) {
      long endNanos = System.nanoTime() + LINGER_NANOS;
      pauseNanos = SHORTEST_PAUSE_NANOS;
      for (int rank = 1; rank < me.size(); rank++) {
        if (!Files.exists(seat(run, rank))) {
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

    private void noteSeen(String run, BitSet seen) throws IOException {
      new Note()
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
          if (seen.get(me.rank())) {
            // Rank 0 was there; if it has seen all and not said so, it is there no more.
            seen.set(0, seen.cardinality() < me.size());
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

    private void pause(boolean progress) {
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

    private Path verdict(String run) {
      return file(run, "verdict");
    }

    private Path file(String run, String what) {
      return directory.resolve(prefix + "." + run + "." + what);
    }
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
