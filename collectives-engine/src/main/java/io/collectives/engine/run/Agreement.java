package io.collectives.engine.run;

import io.collectives.CollectiveException;
import io.collectives.engine.run.Ballot.Outcome;
import java.util.BitSet;
import java.util.Map;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The agreement of those who are left of a broken group on who they are and on where to go on: at
 * the first call that not all of them have completed. It is a {@link Consensus}.
 *
 * <p>Should two live ranks give each other up, the one whose report comes later hears from the
 * first that it is given up, and leaves.
 *
 * <p><b>A split network.</b> Ranks that are silent may live on the other side of a dead switch and
 * agree there. So an outcome needs more survivors than ranks that are lost but not known to be
 * dead, or as many and the lowest rank among them; both cannot hold on both sides. A rank that
 * leaves tells those who were given up what it has accepted, so that it counts on one side only; if
 * it dies in that moment, while others are silent, it may count on both.
 */
public final class Agreement extends Consensus {
  private final Notices notices;
  private final Breaker breaker;
  private volatile @Nullable Failure error;

  Agreement(Group group, ControlMessages messages, Notices notices, Breaker breaker) {
    super(Ballot.Topic.SURVIVORS, group, messages);
    this.notices = notices;
    this.breaker = breaker;
  }

  @Override
  boolean hasEnded() {
    return error != null;
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

  /** The number of the first call that not all survivors completed. */
  public long resumeAt() {
    return outcome().resumeAt();
  }

  private Outcome outcome() {
    Outcome outcome = decided();
    if (outcome == null) {
      throw new IllegalStateException("nothing is decided");
    }
    return outcome;
  }

  /** This rank will not go on. */
  void end(Failure why) {
    if (!isOver()) {
      error = why;
      tellAccepted();
      notices.sayLeft(group, why.message());
    }
  }

  @Override
  void excluded(int by, long now) {
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
      breaker.giveUp(group, why);
    }
  }

  @Override
  @Nullable Outcome propose() {
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
                  + " among them: if the network has split, this is the smaller part, and must not"
                  + " go on"));
      return null;
    }
    long resumeAt = group.completed();
    for (Map.Entry<Integer, Ballot> report : reports.entrySet()) {
      if (!failed.get(report.getKey())) {
        resumeAt = Math.min(resumeAt, report.getValue().group().completed());
      }
    }
    return new Outcome((BitSet) failed.clone(), resumeAt, null);
  }

  @Override
  void timedOut(int awaited) {
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
