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
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The rendezvous of rank 0: it draws a run, watches which ranks take their places in it, and
 * completes it.
 */
final class Leader extends RendezvousRound {
  /** The run that this rank gathers; nothing before that is written down, and when it is over. */
  private @Nullable String run;

  /** The ranks whose places have been read, and their notes. */
  private final BitSet seen;

  private final @Nullable Note[] places;

  /** Of which there are still files. */
  private final Set<String> earlierRuns = new TreeSet<>();

  /** If true, all are in their places and are called, to answer. */
  private boolean calls;

  private final BitSet answered = new BitSet();

  /** The number of the last call. */
  private int roll;

  /** The ranks that have lost their places and are not back yet. */
  private final Map<Integer, Announcement> lost = new TreeMap<>();

  Leader(
      Surroundings world,
      Path directory,
      Announcement me,
      Duration timeout,
      Duration silenceLimit) {
    super(world, directory, me, timeout, silenceLimit);
    this.seen = new BitSet(me.size());
    this.places = new Note[me.size()];
  }

  @Override
  Roster meet() throws IOException {
    JobEpoch epoch = JobEpoch.draw();
    String own = epoch.toString();
    seen.set(0);
    endEarlierRuns();
    writeRun(own);
    noteSeen(own);
    run = own;
    @Nullable Note verdict = null;
    try {
      while (verdict == null) {
        boolean slept = watch.begin(now());
        verdict = files.read(files.verdict(own));
        String stop = stopReason();
        Note present = files.read(files.run());
        if (verdict == null && (slept || present == null) && !files.exists(files.seen(own))) {
          throw new JoinException(
              name(me)
                  + " of job "
                  + me.job()
                  + " was stopped in directory "
                  + files.directory()
                  + ": the others gave it up, or another process has taken its place; unless they"
                  + " run, start all ranks again");
        }
        if (present == null && verdict == null) {
          writeRun(own);
        } else if (present != null && !present.text("run").equals(own)) {
          String reason = cameTwice(me, Announcements.of(present));
          if (RUN.matcher(present.text("run")).matches()) {
            decide(present.text("run"), FAILED, reason);
          }
          verdict = decide(own, FAILED, reason);
          if (!isComplete(verdict)) {
            verdict = verdict(FAILED, reason); // Not only that the other one began.
          }
        }
        int sat = seen.cardinality();
        Note refusal = readPlaces(own);
        if (refusal != null) {
          verdict = refusal;
        }
        boolean progress = seen.cardinality() > sat;
        if (verdict == null && isTimeToLook() && freeQuietPlaces(own)) {
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
                          + files.directory()
                          + ", where job "
                          + me.job()
                          + " meets,"));
        }
        if (verdict == null && stop != null) {
          verdict = decide(own, FAILED, files.explained(stop + named(missing(present()))));
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
        addresses.add(Announcements.of(Objects.requireNonNull(places[rank])).address());
      }
      return new Roster(epoch, addresses);
    } finally {
      run = null;
      // A rank that lost its place by a pause may come back for the verdict; a dead one will not.
      clearUp(own, rank -> lost.containsKey(rank) && !watch.isLost(rank));
      for (String earlier : earlierRuns) {
        files.removeRun(earlier);
      }
    }
  }

  /**
   * Sees that no earlier run can become complete any more, and clears it; its verdict stays until
   * this run is over, as an earlier rank 0 may still be about to decide. What is complete stays
   * whole for those who have not read it yet.
   */
  private void endEarlierRuns() throws IOException {
    Note failed =
        verdict(
            FAILED, name(me) + " of job " + me.job() + " began a newer run; start all ranks again");
    for (String earlier : files.runs()) {
      files.create(failed, files.verdict(earlier));
      if (!isComplete(files.read(files.verdict(earlier)))) {
        files.replace(failed, files.verdict(earlier)); // It may be damaged, or as old as the run.
        files.removeAllButVerdict(earlier);
      }
    }
    earlierRuns.addAll(files.runs());
  }

  private void writeRun(String run) throws IOException {
    files.replace(Announcements.note(me, ticket).with("run", run), files.run());
  }

  /**
   * Reads the places that have been taken since.
   *
   * @return the verdict, if one of them is of a rank that does not fit this one
   */
  private @Nullable Note readPlaces(String run) throws IOException {
    for (int rank = seen.nextClearBit(0); rank < me.size(); rank = seen.nextClearBit(rank + 1)) {
      Note place = files.read(files.place(run, rank));
      if (place == null) {
        continue;
      }
      Announcement announcement = Announcements.of(place);
      String difference =
          announcement.rank() == rank
              ? difference(announcement, me)
              : "place " + rank + " is not its owner's";
      if (difference != null) {
        return decide(run, FAILED, difference);
      }
      places[rank] = place;
      seen.set(rank);
      lost.remove(rank);
      watch.meet(rank, sign(run, rank, place));
    }
    return null;
  }

  /**
   * Calls those who sit, and whether all have answered: somebody may have died since it sat.
   *
   * @return only if all places are taken
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
      Note beat = beatOf(run, rank, Objects.requireNonNull(places[rank]));
      answered.set(rank, beat != null && beat.number("roll") == roll);
    }
    return answered.cardinality() == me.size();
  }

  /** Returns the ranks that are in their places, and have answered if called. */
  private BitSet present() {
    return calls ? answered : seen;
  }

  /** Frees the places of ranks that have been silent for long. Returns whether there were any. */
  private boolean freeQuietPlaces(String run) throws IOException {
    boolean any = false;
    for (int rank = 1; rank < me.size(); rank++) {
      Note place = places[rank];
      if (!seen.get(rank) || place == null) {
        continue;
      }
      watch.look(rank, sign(run, rank, place));
      if (watch.isQuiet(rank)) {
        files.delete(files.place(run, rank));
        places[rank] = null;
        seen.clear(rank);
        lost.put(rank, Announcements.of(place));
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

  /** Returns the beat of the rank that has taken a place, or null if there is none. */
  private @Nullable Note beatOf(String run, int rank, Note place) {
    Note beat = files.readQuietly(files.beat(run, rank));
    return beat != null && beat.text("ticket").equals(place.text("ticket")) ? beat : null;
  }

  private @Nullable String sign(String run, int rank, Note place) {
    Note beat = beatOf(run, rank, place);
    return beat == null ? null : beat.text("beat");
  }

  @Override
  void beat() throws IOException {
    if (run != null && files.exists(files.seen(run))) {
      noteSeen(run);
    }
  }

  private void noteSeen(String run) throws IOException {
    files.replace(
        new Note()
            .with("beat", nextBeat())
            .with("roll", calls ? roll : 0)
            .with("ranks", HexFormat.of().formatHex(seen.toByteArray())),
        files.seen(run));
  }
}
