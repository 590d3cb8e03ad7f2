package io.collectives.engine.run;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * Breaks groups: the first failure of a group stops its calls and is told to its members, who agree
 * on what broke it ({@link Verdict}); then the calls end.
 */
final class Breaker {
  private final Calls calls;
  private final ControlMessages messages;
  private final Notices notices;
  private final LongSupplier clock;

  /** The agreements of the members of broken groups. */
  private final Map<Group, Verdict> verdicts = new IdentityHashMap<>();

  /** The verdicts of groups of which it is not settled why they are broken. */
  private final List<Verdict> unsettled = new ArrayList<>();

  Breaker(Calls calls, ControlMessages messages, Notices notices, LongSupplier clock) {
    this.calls = calls;
    this.messages = messages;
    this.notices = notices;
    this.clock = clock;
  }

  /** Goes on to agree. Returns how much was done. */
  int poll(long now) {
    int work = 0;
    for (int i = unsettled.size() - 1; i >= 0; i--) {
      Verdict verdict = unsettled.get(i);
      work += verdict.poll(now) + settle(verdict);
    }
    return work;
  }

  /** Breaks a group, tells its members, and begins to agree with them on what broke it. */
  void fail(Group group, Failure failure) {
    Verdict present = verdicts.get(group);
    if (!group.isBroken()) {
      long now = clock.getAsLong();
      group.cause = failure;
      calls.stopAll(group);
      notices.tell(group, failure);
      Verdict verdict = new Verdict(group, messages, failure, now);
      verdicts.put(group, verdict);
      verdict.join(now, Verdict.LIMIT_NANOS);
      unsettled.add(verdict);
      settle(verdict);
    } else if (present != null) {
      present.learn(failure);
    }
  }

  /** The others of a group go on without this rank. */
  void giveUp(Group group, Failure failure) {
    notices.sayLeft(group, failure.message());
    if (group.broken == null) {
      calls.endAll(group, failure);
    }
  }

  /** A member of a group, which may be broken, is lost. */
  void lost(Group group, int member, Failure failure) {
    Verdict verdict = verdicts.get(group);
    if (verdict != null) {
      verdict.lost(member, failure, clock.getAsLong());
      settle(verdict);
    }
  }

  /** A member tells what it knows of why a group is broken, or what is decided. */
  void take(Group group, int member, Ballot ballot) {
    Verdict verdict = verdicts.get(group);
    if (verdict != null) {
      verdict.take(member, ballot, clock.getAsLong());
      settle(verdict);
    }
  }

  /** Other members had decided before this rank made the group. */
  void decideAs(Group group, Failure failure) {
    Verdict verdict = verdicts.get(group);
    if (verdict != null) {
      verdict.decideAs(failure);
      settle(verdict);
    }
  }

  /** Ends the calls of a broken group if it is known what broke it. Returns how much was done. */
  private int settle(Verdict verdict) {
    Group group = verdict.group;
    Failure why = verdict.why();
    if (why != null && group.broken == null) {
      calls.endAll(group, why);
    }
    return group.broken != null && unsettled.remove(verdict) ? 1 : 0;
  }

  /** This rank has left a group. */
  void forget(Group group) {
    verdicts.remove(group);
  }
}
