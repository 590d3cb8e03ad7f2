package io.collectives.engine.run;

import io.collectives.engine.run.Ballot.Outcome;
import io.collectives.spi.FrameHeader;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import java.util.function.IntConsumer;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;

/**
 * The agreement of those who are left of a broken group on something, once.
 *
 * <p><b>Who leads.</b> The lowest member that a rank has not given up. It tells all that it leads;
 * each reports what it knows and whom it has given up; who is given up by one is given up by all
 * who hear of it, and for good. When all that are left have reported, the leader proposes an
 * outcome. When all that are left have accepted, it is decided.
 *
 * <p><b>Why all agree, whoever dies when.</b> A leader decides only what every member that it has
 * not given up has accepted. A later leader (which has a higher rank, as nobody returns) hears from
 * all of its own survivors what they have accepted before it proposes anything, and proposes the
 * last of that. So what may have been decided stays. Who has decided answers whatever it is told
 * with the decision.
 *
 * <p><b>Who is late.</b> After half of its time a leader gives up those who have not reported, and
 * others give up a leader that they have not heard of.
 */
abstract class Consensus {
  final Group group;
  final int me;
  private final Ballot.Topic topic;
  private final ControlMessages messages;
  final BitSet failed = new BitSet();
  final BitSet dead = new BitSet();
  private boolean joined;
  private long startNanos;
  long timeoutNanos;
  private long leaderSince;
  private int leader = -1;
  private boolean leaderSeen;

  /** The outcome that this rank has accepted last, and the proposal's number. */
  private @Nullable Outcome accepted;

  private long acceptedNumber;

  // As the leader.
  final Map<Integer, Ballot> reports = new HashMap<>();
  private final BitSet accepts = new BitSet();
  private @Nullable Outcome inherited;
  private @Nullable Outcome proposed;
  private int proposals;

  private volatile @Nullable Outcome decided;

  Consensus(Ballot.Topic topic, Group group, ControlMessages messages) {
    this.topic = topic;
    this.group = group;
    this.me = group.rank;
    this.messages = messages;
  }

  /** Returns an outcome that follows from the reports, or null if this rank has ended its part. */
  abstract @Nullable Outcome propose();

  /** The others go on without this rank. */
  abstract void excluded(int by, long now);

  /**
   * The time is over.
   *
   * @param awaited the member that this rank waits for
   */
  abstract void timedOut(int awaited);

  /**
   * Returns whether an outcome that a member reports as decided can be the decision of the others.
   */
  boolean believes(int from, Outcome outcome) {
    return true;
  }

  /** Returns whether this rank takes no part any more, though it has seen no decision. */
  abstract boolean hasEnded();

  /** Returns whether it is decided, or has ended here. Any thread may ask. */
  public final boolean isOver() {
    return decided != null || hasEnded();
  }

  /** Returns the decided outcome, or null if that is open. */
  final @Nullable Outcome decided() {
    return decided;
  }

  /** Decides for this rank alone. */
  final void decide(Outcome outcome) {
    decided = outcome;
  }

  /**
   * Returns the outcome that this rank would decide by itself, which it has accepted, or null if it
   * has accepted none.
   */
  final @Nullable Outcome accepted() {
    return accepted;
  }

  /** Returns whether this rank takes part, or did. */
  final boolean isJoined() {
    return joined;
  }

  /** This rank takes part from now on; its group is broken. */
  final void join(long now, long timeout) {
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
  final void lost(int member, Failure failure, long now) {
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

  final void take(int from, Ballot ballot, long now) {
    Outcome known = decided;
    if (known != null) {
      if (ballot.kind() != Ballot.Kind.DECIDE) {
        send(from, ballot(Ballot.Kind.DECIDE, known));
      }
      return;
    }
    Outcome outcome = ballot.outcome();
    if (topic == Ballot.Topic.SURVIVORS && outcome != null && outcome.lost().get(me)) {
      // What a member has accepted others may have decided, also if that member has left since.
      excluded(from, now);
      return;
    }
    if (ballot.kind() == Ballot.Kind.DECIDE && outcome != null) {
      if (joined && !isOver() && believes(from, outcome)) {
        decided = outcome;
        // Those who took this rank for their leader meanwhile would wait for it, and those who were
        // given up may live, cut off from the leader only.
        BitSet others = (BitSet) failed.clone();
        reports.keySet().forEach(others::set);
        others.clear(me);
        others.stream().forEach(member -> send(member, ballot(Ballot.Kind.DECIDE, outcome)));
      }
      return;
    }
    if (!joined || isOver()) {
      // When this rank joins it asks for what it has missed.
      return;
    }
    if (ballot.kind() == Ballot.Kind.ABSENT) {
      failed.set(from);
      advance(now);
      return;
    }
    if (ballot.group().failed().get(me)) {
      excluded(from, now);
      return;
    }
    if (failed.get(from)) {
      send(from, ballot(Ballot.Kind.REPORT, accepted));
      return;
    }
    boolean news = union(failed, ballot.group().failed()) | union(dead, ballot.group().dead());
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
      case DECIDE, ABSENT -> {}
    }
    if (news && !answered && leader != me && leader == lowest() && leader < group.size()) {
      report();
    }
    advance(now);
  }

  private static boolean union(BitSet set, BitSet more) {
    int before = set.cardinality();
    set.or(more);
    return set.cardinality() != before;
  }

  final int lowest() {
    return failed.nextClearBit(0);
  }

  private void advance(long now) {
    if (leader != lowest()) {
      leader = lowest();
      leaderSince = now;
      leaderSeen = false;
      if (leader == me) {
        forEachLeft(member -> send(member, ballot(Ballot.Kind.LEAD, null)));
      } else if (leader < group.size()) {
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

  /** Returns the outcome that an earlier leader may have decided, or else one by the reports. */
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
    Outcome fresh = propose();
    return fresh == null || inherited == null ? fresh : inherited;
  }

  private boolean haveAll(IntPredicate has) {
    for (int member = 0; member < group.size(); member++) {
      if (member != me && !failed.get(member) && !has.test(member)) {
        return false;
      }
    }
    return true;
  }

  final void forEachLeft(IntConsumer action) {
    for (int member = 0; member < group.size(); member++) {
      if (member != me && !failed.get(member)) {
        action.accept(member);
      }
    }
  }

  /**
   * This rank has been given up by a member, so by all, and takes part no more, but waits for what
   * they decide. It tells those who have not heard of it, as they may wait for it to lead.
   */
  final void stepBack(long now) {
    if (!failed.get(me)) {
      failed.set(me);
      askAll();
      advance(now);
    }
  }

  /** Before this rank leaves: who was given up must not go on without what was accepted here. */
  final void tellAccepted() {
    Outcome last = accepted;
    if (last != null) {
      last.lost().stream().forEach(member -> send(member, ballot(Ballot.Kind.REPORT, last)));
    }
  }

  /** Asks those who are left for the decision that they may have. */
  final void askAll() {
    forEachLeft(member -> send(member, ballot(Ballot.Kind.REPORT, accepted)));
  }

  /** Returns the failure that this rank knows of, if the agreement is about one, else null. */
  @Nullable Failure evidence() {
    return null;
  }

  private Ballot ballot(Ballot.Kind kind, @Nullable Outcome outcome) {
    Ballot.GroupState state =
        new Ballot.GroupState(
            group.size(), group.completed(), (BitSet) failed.clone(), (BitSet) dead.clone());
    Failure why = outcome == null || outcome.why() == null ? evidence() : outcome.why();
    return new Ballot(topic, kind, acceptedNumber, state, outcome, why);
  }

  private void send(int member, Ballot ballot) {
    group.contacts[member] = true;
    messages.send(group.members[member], FrameHeader.Kind.AGREEMENT, group.id, ballot.body());
  }

  /** Looks at the time. Returns how much was done. */
  int poll(long now) {
    if (!joined || isOver()) {
      return 0;
    }
    if (now - startNanos >= timeoutNanos) {
      timedOut(awaited());
      return 1;
    }
    if (failed.get(me)) {
      // Leaders do not write to a member that was given up, so their silence says nothing.
      return 0;
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

  private int awaited() {
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
    return awaited;
  }
}
