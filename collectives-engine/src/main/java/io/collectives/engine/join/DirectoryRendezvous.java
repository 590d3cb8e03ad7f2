package io.collectives.engine.join;

import io.collectives.CallSettings;
import io.collectives.JoinException;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Rendezvous;
import io.collectives.spi.Roster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/*
 * How ranks meet in a directory
 * =============================
 *
 * Vocabulary. A RUN is one attempt of a job's ranks to meet; rank 0 draws 128 random bits for it,
 * which become the job's epoch if they do. A rank SITS in a run when it has created the file of its
 * place there. The VERDICT of a run says whether it is complete or failed, and why. A rank BEATS as
 * long as it waits: it changes a file again and again.
 *
 * Files, of at most 4 KiB each; JOB stands for the job's name and its hash, RUN for 32 hexadecimal
 * digits:
 *
 *     collectives-JOB.run           the present run, and rank 0's announcement  replaced by rank 0
 *     collectives-JOB.waiting-R     rank R is here; for messages only           replaced by rank R
 *     collectives-JOB.RUN.place-R   rank R's announcement, R > 0                created once
 *     collectives-JOB.RUN.beat-R    rank R's beat, R > 0                        replaced by rank R
 *     collectives-JOB.RUN.seen      the ranks that rank 0 has seen in place,    replaced by rank 0
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
 *     draw RUN; make all other runs fail,     poll run; when it names a RUN that is new to me:
 *       remove their files; write run           does rank 0's announcement agree with mine?
 *     poll the places of RUN, note them         create place-R; is it mine?
 *       in seen; beat                           if not: does its owner beat?
 *                                                 create verdict = failed, naming both
 *     whose beat stops: remove its place      beat; poll verdict, run and seen
 *     and nobody takes it:                    rank 0's beat stops:
 *       create verdict = failed, naming it      create verdict = failed, naming it; remove run
 *     all places are taken: call in seen      called in seen: answer in beat-R
 *     all have answered:                      poll verdict and run:
 *       create verdict = complete               complete: read all places, create done-R
 *     remove run                                failed, and run is gone: create done-R, throw
 *     all are done, or a second is over:
 *       remove RUN.*
 *
 * Who gives up (deadline, close, interrupt) creates verdict = failed first. As the verdict is
 * created once, a run is complete for all that sit in it or for none: a rank that gives up while
 * rank 0 completes the run finds that the file exists, reads it, and stays.
 *
 * Why two runs cannot mix. (1) Only a process that has read RUN can create a place in it, and RUN
 * is drawn at random by the rank 0 of this run; so every place of RUN is of a process that was
 * there after that rank 0 came, and leftovers of earlier runs lie under other names. (2) Only the
 * rank 0 that drew RUN creates its complete verdict, and a rank believes that verdict only if it
 * was not there yet when it took its own place in RUN, which it knows by a random ticket. (3) A
 * rank leaves RUN for a newer one only after it has made RUN fail. (4) RUN is the epoch, which
 * every frame carries: even a rank 0 that was stopped for an hour and wakes up cannot disturb those
 * who met without it.
 *
 * Who dies or stops while others are awaited is named by all within the limit of silence, as over
 * TCP. A beat is another number in a file, and each who looks measures by its own clock when it
 * last changed: that needs no common clock and no locks, which network file systems may not have
 * and which ranks in one JVM cannot share. Rank 0 watches all who sit, the others watch rank 0 and
 * hear of the rest by the verdict. By phases:
 *
 *     before there is a run        nobody is known to be there; who never came is named at the
 *                                  timeout, as missing
 *     R > 0 stops while it sits    rank 0 removes the place after half of the limit, and at the
 *                                  limit makes the run fail, unless the place is taken again: by a
 *                                  new process, or by the same one, if it was only stopped
 *     rank 0 stops                 whoever has seen it beat makes the run fail at the limit and
 *                                  removes the run file in its place, unless a new rank 0 has
 *                                  replaced that, when all move on
 *     anybody, when all sit        the same: rank 0 calls all once more before it decides, so
 *                                  that nobody is counted who has died since it sat
 *     after complete is decided    all who sit read the places and need nobody; who is dead then is
 *                                  found by the transport
 *
 * Who was itself stopped gives the others the whole limit anew (Watch), and then learns what was
 * decided without it: from the verdict; from its place, which it takes again if nobody else has it;
 * or from its run, if that was removed. It never believes a complete verdict if the place is not
 * its own any more.
 *
 * What leftovers do. A run file of a rank 0 that crashed is believed by early ranks, which sit in
 * that run, find places taken by the dead, and may even make it fail. None of that counts: a failed
 * verdict is thrown only when the run file is gone, which shows that the run's own rank 0 was alive
 * in this time, as nobody removes it but that one, or a rank that has seen it beat. If instead the
 * new rank 0 replaces the run file, they move on. If it does not come, they time out, and the seen
 * file, where they do not find themselves, tells them that rank 0 is missing.
 *
 * Two processes with the same rank R > 0: the second finds the place taken by one that beats, and
 * makes the run fail for all, naming both. If the first has died the place is soon free, and the
 * second takes it. Two with rank 0: the second replaces the run file; the first sees that and makes
 * both runs fail. If the first has died, all move on to the run of the second.
 *
 * Jobs of different names have different files, so that they can meet in one directory at the same
 * time. Hence a wrong name cannot be told from another job at once; a rank that times out names the
 * other jobs that wait in the directory.
 *
 * A rank 0 that comes while another one completes its run leaves that as it is, and removes it when
 * its own is over. So do the verdicts of other runs stay until then: were they removed, an earlier
 * rank 0 that is about to decide could still create one.
 *
 * Where it stands. The left column is Leader, the right one Follower, what they have in common is
 * RendezvousRound. All that they know of the world is Surroundings, so that they can be simulated.
 * JobFiles knows the names of the files, Note their form, Announcements what ranks say of
 * themselves, and Watch who has beaten lately.
 */

/**
 * Meets in a directory that all ranks see, on one host or by a network file system.
 *
 * <p>A rank that dies or stops while others are awaited is named to all who wait when it has given
 * no sign for the limit of silence, unless another process has taken its place by then; ranks must
 * be given the same limit.
 *
 * <p>Whoever can write in the directory can join the job or keep others from it: its permissions
 * are its protection.
 */
public final class DirectoryRendezvous implements Rendezvous {
  /** The number of ranks for which the seen file has room. */
  private static final int MOST_RANKS = 12_000;

  /**
   * The time by which a round may take longer than wanted: it says why it ends, and lingers for a
   * second until the others have read it. With more, the file system does not answer.
   */
  private static final Duration GRACE = Duration.ofSeconds(5);

  private final Path directory;
  private final Duration silenceLimit;
  private final Duration grace;
  private final SharedDirectory shared;
  private final Surroundings world;
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
    this(directory, silenceLimit, GRACE, shared -> shared);
  }

  /**
   * Makes a rendezvous in surroundings that behave otherwise.
   *
   * @param grace how much longer than wanted a round may take
   * @param otherwise makes them of the real ones
   */
  DirectoryRendezvous(
      Path directory,
      Duration silenceLimit,
      Duration grace,
      UnaryOperator<Surroundings> otherwise) {
    this.directory = directory;
    this.silenceLimit = silenceLimit;
    this.grace = grace;
    this.shared = new SharedDirectory(directory, JobEpoch.draw().toString());
    this.world = otherwise.apply(shared);
  }

  /** Meets on a thread of its own, as a file system may not answer at all. */
  @Override
  public Roster meet(Announcement me, Duration timeout) {
    CompletableFuture<Roster> met = new CompletableFuture<>();
    Thread joining =
        new Thread(
            () -> {
              try {
                met.complete(meetHere(me, timeout));
              } catch (Throwable e) {
                met.completeExceptionally(e);
              } finally {
                LockSupport.unpark(waiter);
              }
            },
            "collectives meets in a directory");
    joining.setDaemon(true);
    waiter = Thread.currentThread();
    joining.start();
    boolean interrupted = false;
    try {
      long end = later(timeout);
      boolean stopped = false;
      while (!met.isDone()) {
        if (Thread.interrupted()) {
          interrupted = true;
          shared.interrupt();
        }
        if (!stopped && (interrupted || closed)) {
          stopped = true;
          end = later(Duration.ZERO);
        }
        long left = end - System.nanoTime();
        if (left <= 0) {
          throw hangs(me, joining);
        }
        LockSupport.parkNanos(this, left);
      }
      return met.join();
    } catch (CompletionException e) {
      throw rethrown(e.getCause());
    } finally {
      waiter = null;
      shared.close();
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private long later(Duration wait) {
    Duration most = Duration.ofDays(365);
    return System.nanoTime() + (wait.compareTo(most) > 0 ? most : wait).plus(grace).toNanos();
  }

  private static RuntimeException rethrown(@Nullable Throwable why) {
    if (why instanceof Error e) {
      throw e;
    }
    return why instanceof RuntimeException e ? e : new IllegalStateException(why);
  }

  private JoinException hangs(Announcement me, Thread joining) {
    JoinException e =
        new JoinException(
            "rank "
                + me.rank()
                + " of job "
                + me.job()
                + " cannot meet in directory "
                + directory
                + ": the file system does not answer; see that all hosts can reach it");
    e.addSuppressed(stackOf(joining));
    return e;
  }

  /** Returns the place where a thread is, for a reader who wonders what it waits for. */
  private static Throwable stackOf(Thread thread) {
    Throwable stack = new Throwable("the thread that meets waits here");
    stack.setStackTrace(thread.getStackTrace());
    return stack;
  }

  private Roster meetHere(Announcement me, Duration timeout) {
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
    try {
      RendezvousRound round =
          me.rank() == 0
              ? new Leader(world, directory, me, timeout, silenceLimit)
              : new Follower(world, directory, me, timeout, silenceLimit);
      return round.meet();
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
    }
  }

  @Override
  public void close() {
    closed = true;
    shared.close();
    LockSupport.unpark(waiter);
  }
}
