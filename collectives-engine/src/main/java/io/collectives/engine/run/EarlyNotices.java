package io.collectives.engine.run;

import io.collectives.ProtocolException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** The notices of groups that this rank has not made yet, in the order in which they came. */
final class EarlyNotices {
  /** The number of notices that one rank may send of groups that this one has not made. */
  private static final int MOST_EARLY = 256;

  private final List<Notice> notices = new ArrayList<>();

  /**
   * Keeps what a rank has told of a group until it is made here.
   *
   * @throws ProtocolException if that rank has told too much
   */
  void keep(Notice notice) {
    if (notices.contains(notice)) {
      return;
    }
    if (notices.stream().filter(other -> other.from == notice.from).count() == MOST_EARLY) {
      throw new ProtocolException(
          "more than " + MOST_EARLY + " notices of groups that were not made here");
    }
    notices.add(notice);
  }

  /** Keeps what this rank has found itself. */
  void add(Notice notice) {
    notices.add(notice);
  }

  /** Takes what was told of a group that is made now, what counts most first. */
  List<Notice> takeOf(long groupId) {
    List<Notice> told =
        notices.stream()
            .filter(notice -> notice.groupId == groupId)
            .sorted(Comparator.comparing(Notice::weight))
            .toList();
    notices.removeAll(told);
    return told;
  }

  /** Forgets what a rank has told. */
  void forget(int from) {
    notices.removeIf(notice -> notice.from == from);
  }

  /** A notice that a rank has sent of a group. */
  record Notice(int from, long groupId, Failure failure, boolean isDecided) {
    /**
     * Returns the weight of the notice: first the decisions of members count, then the evidence
     * that they would prefer in a verdict. A rank that is itself to blame may have been cut off,
     * and then has decided alone.
     */
    int weight() {
      if (failure.culprit() == from) {
        return 3;
      }
      return isDecided ? 0 : failure.kind() == Failure.Kind.PROTOCOL ? 1 : 2;
    }
  }
}
