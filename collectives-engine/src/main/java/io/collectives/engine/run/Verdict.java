package io.collectives.engine.run;

import io.collectives.engine.run.Ballot.Outcome;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/**
 * The agreement of the members of a group on why it is broken, so that all of them throw the same
 * error, also if several things fail at once. It is a {@link Consensus}. Until they have agreed,
 * the calls of the group have stopped but not ended.
 *
 * <p>The first failure that a rank finds or is told of is its evidence, unless it is told of a
 * frame that cannot be, which counts more. The leader's evidence is what is decided, or a frame
 * that cannot be, if a member has seen one. Everybody takes part who has made the group and not
 * left it, without anything that its user does.
 *
 * <p><b>How long.</b> Who does not answer within a second, as a process that was stopped, is left
 * out, and asks for the decision when it goes on. After two seconds a rank is content with what it
 * knows: members that cannot hear each other may end with different errors.
 */
final class Verdict extends Consensus {
  static final long LIMIT_NANOS = 2_000_000_000;
  private static final long ASK_NANOS = 100_000_000;

  private Failure evidence;
  private long nextAskNanos;

  Verdict(Group group, ControlMessages messages, Failure evidence, long now) {
    super(Ballot.Topic.VERDICT, group, messages);
    this.evidence = evidence;
    this.nextAskNanos = now + ASK_NANOS;
  }

  /** Another failure of the group has been found, or told of. */
  void learn(Failure failure) {
    if (failure.kind() == Failure.Kind.PROTOCOL && evidence.kind() != Failure.Kind.PROTOCOL) {
      evidence = failure;
    }
  }

  /** Other members had decided before this rank made the group. */
  void decideAs(Failure failure) {
    if (!isOver()) {
      decide(new Outcome((BitSet) failed.clone(), 0, failure));
    }
  }

  /**
   * Returns false for the decision of a rank that is itself to blame: it may have been cut off for
   * it, and then has decided alone.
   */
  @Override
  boolean believes(int from, Outcome outcome) {
    Failure why = outcome.why();
    return evidence.kind() != Failure.Kind.PROTOCOL
        || why == null
        || why.kind() == Failure.Kind.PROTOCOL
        || why.culprit() != group.members[from];
  }

  @Override
  boolean hasEnded() {
    return false;
  }

  @Override
  Failure evidence() {
    return evidence;
  }

  /** Why the group is broken, once that is decided. */
  @Nullable Failure why() {
    Outcome outcome = decided();
    Failure why = outcome == null ? null : outcome.why();
    // What this rank itself threw is known here only.
    return why != null && evidence.isAs(why) ? evidence : why;
  }

  /** A rank whose link has ended for what it sends may say itself that its peer is lost. */
  @Override
  Outcome propose() {
    Failure why = evidence;
    for (int member = 0; member < group.size() && why.kind() != Failure.Kind.PROTOCOL; member++) {
      Ballot report = reports.get(member);
      Failure other = report == null || failed.get(member) ? null : report.why();
      why = other != null && other.kind() == Failure.Kind.PROTOCOL ? other : why;
    }
    return new Outcome((BitSet) failed.clone(), 0, why);
  }

  @Override
  void excluded(int by, long now) {
    stepBack(now);
  }

  @Override
  void timedOut(int awaited) {
    Outcome last = accepted();
    decide(last == null ? propose() : last);
  }

  @Override
  int poll(long now) {
    if (isOver()) {
      return 0;
    }
    if (now - nextAskNanos >= 0) {
      // A link between two members may be lost that both can still reach others.
      nextAskNanos = now + ASK_NANOS;
      askAll();
    }
    return super.poll(now);
  }
}
