package io.collectives.engine.run;

import io.collectives.internal.CallFingerprint;
import io.collectives.spi.FrameHeader;

/** The failures that frames show which do not fit the calls and plans of their receiver. */
final class FrameErrors {
  private FrameErrors() {}

  /** A frame is of another call than this rank has made. */
  static Failure mismatch(Call call, int worldRank, FrameHeader head) {
    return mismatch(call.group, call.toString(), call.fingerprint, worldRank, head);
  }

  /** A frame of a call that has ended here: another one was made there, or the frame cannot be. */
  static Failure afterTheEnd(Group group, int worldRank, FrameHeader head) {
    String call = "call #" + head.sequence;
    long[] mine = group.endedFingerprint(head.sequence);
    if (mine != null && !CallFingerprint.same(mine, head.call)) {
      return mismatch(group, call, mine, worldRank, head);
    }
    return protocol(group, worldRank, head, call + " has ended");
  }

  private static Failure mismatch(
      Group group, String call, long[] mine, int worldRank, FrameHeader head) {
    CallFingerprint.Difference difference = CallFingerprint.difference(mine, head.call);
    int me = group.members[group.rank];
    return new Failure(
        Failure.Kind.MISMATCH,
        me,
        worldRank,
        call
            + ": rank "
            + me
            + " has "
            + difference.what()
            + " "
            + difference.mine()
            + ", rank "
            + worldRank
            + " has "
            + difference.what()
            + " "
            + difference.theirs()
            + "; all ranks of a group must make the same calls in the same order (rank "
            + me
            + ": "
            + CallFingerprint.describe(mine)
            + "; rank "
            + worldRank
            + ": "
            + CallFingerprint.describe(head.call)
            + ")");
  }

  /** A frame cannot be. */
  static Failure protocol(Group group, int worldRank, FrameHeader head, String expected) {
    return new Failure(
        Failure.Kind.PROTOCOL,
        group.members[group.rank],
        worldRank,
        "rank "
            + worldRank
            + " sent to rank "
            + group.members[group.rank]
            + " a frame that cannot be: "
            + head
            + "; "
            + expected);
  }

  /** Returns the failure of a member that leases memory that no plan asks for. */
  static Failure protocolError(Call call, int worldRank, String what) {
    int me = call.group.members[call.group.rank];
    return new Failure(
        Failure.Kind.PROTOCOL,
        me,
        worldRank,
        "rank " + worldRank + " leases to rank " + me + " " + what);
  }
}
