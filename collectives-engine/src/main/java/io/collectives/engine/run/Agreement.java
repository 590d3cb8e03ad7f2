package io.collectives.engine.run;

import io.collectives.CollectiveException;
import io.collectives.engine.run.Ballot.Outcome;
import io.collectives.spi.FrameHeader;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import java.util.function.IntConsumer;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * How those who are left of a broken group agree on who they are and on where to go on.
 *
 * <p><b>Who leads.</b> The lowest member that a rank has not given up. It tells all that it leads;
 * each reports how far it came and whom it has given up; who is given up by one is given up by all
 * who hear of it, and for good. When all that are left have reported, the leader proposes an
 * outcome: who is lost, and the first call that not all have completed. When all that are left have
 * accepted, it is decided.
 *
 * <p><b>Why all agree, whoever dies when.</b> A leader decides only what every member that it has
 * not given up has accepted. A later leader (which has a higher rank, as nobody returns) hears from
 * all of its own survivors what they have accepted before it proposes anything, and proposes the
 * last of that. So what may have been decided stays. Who has decided answers whatever it is told
 * with the decision. Should two live ranks give each other up, the one whose report comes later
 * hears from the first that it is given up, and leaves.
 *
 * <p><b>A split network.</b> Ranks that are silent may live on the other side of a dead switch and
 * agree there. So an outcome needs more survivors than ranks that are lost but not known to be
 * dead, or as many and the lowest rank among them; both cannot hold on both sides.
 *
 * <p><b>Who is late.</b> After half of its time a leader gives up those who have not reported, and
 * others give up a leader that they have not heard of.
 */
public final class Agreement {
  private final Group group;
  private final int me;
  private final Post post;
  private final Failures failures;
  private final BitSet failed = new BitSet();
  private final BitSet dead = new BitSet();
  private final BitSet toldOff = new BitSet();
  private boolean joined;
  private long startNanos;
  private long timeoutNanos;
  private long leaderSince;
  private int leader = -1;
  private boolean leaderSeen;

  /** The outcome that this rank has accepted last, and the proposal's number. */
  private @Nullable Outcome accepted;

  private long acceptedNumber;

  // As the leader.
  private final Map<Integer, Ballot> reports = new HashMap<>();
  private final BitSet accepts = new BitSet();
  private @Nullable Outcome inherited;
  private @Nullable Outcome proposed;
  private int proposals;

  private volatile @Nullable Outcome decided;
  private volatile @Nullable Failure error;

  Agreement(Group group, Post post, Failures failures) {
    this.group = group;
    this.me = group.rank;
    this.post = post;
    this.failures = failures;
  }

  /** Whether it is decided, or has failed here; may be asked by any thread. */
  public boolean isOver() {
    return decided != null || error != null;
  }

  /** Why this rank has no part in a decision, nothing if it has. */
  public @Nullable CollectiveException error() {
    Failure why = error;
    return why == null ? null : why.exception();
  }

  /** The ranks, in the old group, of those who are left, ascending. */
  public int[] survivors() {
    BitSet lost = outcome().lost();
    return IntStream.range(0, group.size()).filter(member -> !lost.get(member)).toArray();
  }

  /** Those who are among the survivors, but given up here since. */
  IntStream lostSurvivors() {
    BitSet lost = (BitSet) failed.clone();
    lost.andNot(outcome().lost());
    return lost.stream();
  }

  boolean isDead(int member) {
    return dead.get(member);
  }

  /** The number of the first call that not all survivors completed. */
  public long resumeAt() {
    return outcome().resumeAt();
  }

  private Outcome outcome() {
    Outcome outcome = decided;
    if (outcome == null) {
      throw new IllegalStateException("nothing is decided");
    }
    return outcome;
  }

  /** Whether this rank takes part, or did. */
  boolean isJoined() {
    return joined;
  }

  /** This rank takes part from now on; its group is broken. */
  void join(long now, long timeout) {
    if (joined || isOver()) {
      return;
    }
    joined = true;
    startNanos = now;
    timeoutNanos = timeout;
    group.gone.forEach(this::giveUp);
    advance(now);
  }

  /** A member is lost. */
  void lost(int member, Failure failure, long now) {
    if (joined && !isOver()) {
      giveUp(member, failure);
      advance(now);
    }
  }

  private void giveUp(int member, Failure failure) {
    failed.set(member);
    if (failure.kind() != Failure.Kind.UNRESPONSIVE) {
      dead.set(member);
    }
  }

  /** This rank will not go on. */
  void end(Failure why) {
    if (!isOver()) {
      error = why;
      failures.sayLeft(group, why.message());
    }
  }

  void take(int from, Ballot ballot, long now) {
    Outcome known = decided;
    if (known != null) {
      if (ballot.kind() != Ballot.Kind.DECIDE) {
        send(from, ballot(Ballot.Kind.DECIDE, known));
      }
      return;
    }
    Outcome outcome = ballot.outcome();
    if (ballot.kind() == Ballot.Kind.DECIDE && outcome != null) {
      if (outcome.lost().get(me)) {
        givenUp(from);
      } else if (joined && error == null) {
        decided = outcome;
        // Those who took this rank for their leader meanwhile would wait for it.
        reports.keySet().forEach(member -> send(member, ballot(Ballot.Kind.DECIDE, outcome)));
      }
      return;
    }
    if (!joined || error != null) {
      // When this rank joins it asks for what it has missed.
      return;
    }
    if (ballot.failed().get(me)) {
      givenUp(from);
      return;
    }
    if (failed.get(from)) {
      send(from, ballot(Ballot.Kind.REPORT, accepted));
      return;
    }
    boolean news = union(failed, ballot.failed()) | union(dead, ballot.dead());
    dead.and(failed);
    boolean answered = false;
    switch (ballot.kind()) {
      case LEAD -> {
        leaderSeen |= from == lowest();
        answered = from == leader;
        if (answered) {
          report();
        }
      }
      case HERE -> leaderSeen |= from == leader;
      case REPORT -> {
        reports.put(from, ballot);
        if (leader == me) {
          send(from, ballot(Ballot.Kind.HERE, null));
        }
      }
      case PROPOSE -> {
        if (from == lowest() && outcome != null && ballot.number() > acceptedNumber) {
          leaderSeen = true;
          accepted = outcome;
          acceptedNumber = ballot.number();
          send(from, ballot(Ballot.Kind.ACCEPT, outcome));
        }
      }
      case ACCEPT -> {
        if (leader == me && ballot.number() == acceptedNumber) {
          accepts.set(from);
        }
      }
      case DECIDE -> {}
    }
    if (news && !answered && leader != me && leader == lowest()) {
      report();
    }
    advance(now);
  }

  private static boolean union(BitSet set, BitSet more) {
    int before = set.cardinality();
    set.or(more);
    return set.cardinality() != before;
  }

  private void givenUp(int by) {
    int self = group.members[me];
    int other = group.members[by];
    Failure why =
        new Failure(
            Failure.Kind.UNRESPONSIVE,
            other,
            self,
            "rank "
                + self
                + " was given up by the others of "
                + group
                + ", says rank "
                + other
                + ": it was silent for too long, or did not shrink the group in time");
    if (error == null) {
      error = why;
      failures.givenUp(group, why);
    }
  }

  private int lowest() {
    return failed.nextClearBit(0);
  }

  private void advance(long now) {
    // Whom this rank gives up may live, and must learn it before it leads others.
    for (int member = failed.nextSetBit(0); member >= 0; member = failed.nextSetBit(member + 1)) {
      if (!toldOff.get(member)) {
        toldOff.set(member);
        send(member, ballot(Ballot.Kind.REPORT, accepted));
      }
    }
    if (leader != lowest()) {
      leader = lowest();
      leaderSince = now;
      leaderSeen = false;
      if (leader == me) {
        forEachLeft(member -> send(member, ballot(Ballot.Kind.LEAD, null)));
      } else {
        report();
      }
    }
    if (leader == me) {
      lead();
    }
  }

  private void report() {
    send(leader, ballot(Ballot.Kind.REPORT, accepted));
  }

  private void lead() {
    if (!haveAll(reports.keySet()::contains)) {
      return;
    }
    Outcome outcome = choose();
    if (outcome == null) {
      return;
    }
    if (!outcome.equals(proposed)) {
      proposed = outcome;
      accepted = outcome;
      acceptedNumber = (me + 1L) << 32 | ++proposals;
      accepts.clear();
      forEachLeft(member -> send(member, ballot(Ballot.Kind.PROPOSE, outcome)));
    }
    if (haveAll(accepts::get)) {
      decided = outcome;
      // Also to those who are lost: they may live, cut off from others only.
      for (int member = 0; member < group.size(); member++) {
        if (member != me) {
          send(member, ballot(Ballot.Kind.DECIDE, outcome));
        }
      }
    }
  }

  /** What an earlier leader may have decided, or else what the reports say. */
  private @Nullable Outcome choose() {
    if (proposed == null) {
      inherited = accepted;
      long number = acceptedNumber;
      for (Map.Entry<Integer, Ballot> report : reports.entrySet()) {
        if (!failed.get(report.getKey()) && report.getValue().number() > number) {
          number = report.getValue().number();
          inherited = report.getValue().outcome();
        }
      }
    }
    BitSet doubtful = (BitSet) failed.clone();
    doubtful.andNot(dead);
    int left = group.size() - failed.cardinality();
    if (left < doubtful.cardinality()
        || left == doubtful.cardinality() && doubtful.nextSetBit(0) < lowest()) {
      int culprit = group.members[doubtful.nextSetBit(0)];
      end(
          new Failure(
              Failure.Kind.UNRESPONSIVE,
              group.members[me],
              culprit,
              "only "
                  + left
                  + " of the ranks of "
                  + group
                  + " are left here, but "
                  + doubtful.cardinality()
                  + " that are silent may live, rank "
                  + culprit
                  + " among them: if the network has split, this is the smaller part, and must not go on"));
      return null;
    }
    if (inherited != null) {
      return inherited;
    }
    long resumeAt = group.completed();
    for (Map.Entry<Integer, Ballot> report : reports.entrySet()) {
      if (!failed.get(report.getKey())) {
        resumeAt = Math.min(resumeAt, report.getValue().completed());
      }
    }
    return new Outcome((BitSet) failed.clone(), resumeAt);
  }

  private boolean haveAll(IntPredicate has) {
    for (int member = 0; member < group.size(); member++) {
      if (member != me && !failed.get(member) && !has.test(member)) {
        return false;
      }
    }
    return true;
  }

  private void forEachLeft(IntConsumer action) {
    for (int member = 0; member < group.size(); member++) {
      if (member != me && !failed.get(member)) {
        action.accept(member);
      }
    }
  }

  private Ballot ballot(Ballot.Kind kind, @Nullable Outcome outcome) {
    return new Ballot(
        kind,
        group.size(),
        acceptedNumber,
        group.completed(),
        (BitSet) failed.clone(),
        (BitSet) dead.clone(),
        outcome);
  }

  private void send(int member, Ballot ballot) {
    group.contacts[member] = true;
    post.send(group.members[member], FrameHeader.Kind.AGREEMENT, group.id, ballot.body());
  }

  /** Looks at the time. Returns how much was done. */
  int poll(long now) {
    if (!joined || isOver()) {
      return 0;
    }
    if (now - startNanos >= timeoutNanos) {
      timedOut();
      return 1;
    }
    long patience = Math.max(startNanos + timeoutNanos / 2, leaderSince + timeoutNanos / 8);
    if (now - patience < 0) {
      return 0;
    }
    int before = failed.cardinality();
    if (leader != me && !leaderSeen) {
      failed.set(leader);
    } else if (leader == me) {
      forEachLeft(
          member -> {
            if (!reports.containsKey(member)) {
              failed.set(member);
            }
          });
    }
    if (failed.cardinality() == before) {
      return 0;
    }
    advance(now);
    return 1;
  }

  private void timedOut() {
    int awaited = leader;
    if (leader == me) {
      boolean proposing = proposed != null;
      for (int member = 0; member < group.size(); member++) {
        boolean has = proposing ? accepts.get(member) : reports.containsKey(member);
        if (member != me && !failed.get(member) && !has) {
          awaited = member;
        }
      }
    }
    int culprit = group.members[awaited];
    end(
        new Failure(
            Failure.Kind.TIMEOUT,
            group.members[me],
            culprit,
            "rank "
                + group.members[me]
                + " waited "
                + timeoutNanos / 1_000_000
                + " ms to agree with the survivors of "
                + group
                + ", at last for rank "
                + culprit));
  }
}
