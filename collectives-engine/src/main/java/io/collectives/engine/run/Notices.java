package io.collectives.engine.run;

import io.collectives.spi.FrameHeader;

/**
 * Tells the members of a group of its failures: those at once with whom this rank has exchanged
 * frames, and others when they turn out to need it.
 */
final class Notices {
  private final int me;
  private final ClosedGroups closed;
  private final ControlMessages messages;

  Notices(int me, ClosedGroups closed, ControlMessages messages) {
    this.me = me;
    this.closed = closed;
    this.messages = messages;
  }

  /** Tells all members of a group that this rank has exchanged frames with, or is about to. */
  void tell(Group group, Failure failure) {
    for (int member = 0; member < group.contacts.length; member++) {
      if (group.contacts[member]) {
        tell(group, member, failure);
      }
    }
  }

  private void tell(Group group, int member, Failure failure) {
    int worldRank = group.members[member];
    // Who is given up is told as well: it may live, cut off from others only.
    if (worldRank != failure.reporter() && member != group.rank) {
      send(group, member, failure);
      // Who waits for whom is not yet why the group breaks.
      group.told[member] |=
          failure.kind() != Failure.Kind.LATE && failure.kind() != Failure.Kind.LAGGING;
    }
  }

  /**
   * Tells why a broken group is broken to those whom this rank had no reason to tell when it broke:
   * it may have been told before it made a call itself, while others still wait for it.
   *
   * @param member who has sent a frame, or is a peer of the call that this rank has just made
   */
  void tellLate(Group group, int member) {
    Failure why = group.broken;
    if (group.isBroken() && !group.told[member]) {
      group.told[member] = true;
      if (group.cause != null) {
        send(group, member, group.cause);
      }
      if (why != null && why.kind() == Failure.Kind.CLOSED) {
        send(group, member, new Failure(Failure.Kind.LEFT, me, me, why.message()));
      }
    }
  }

  /**
   * Sends the notice of {@link #tellLate} to a member that still waits, though it may have been
   * told.
   */
  void tellAgain(Group group, int member) {
    if (member >= 0) {
      group.told[member] = false;
      tellLate(group, member);
    }
  }

  /**
   * Tells a rank that this one has left a group, and why that was broken before.
   *
   * @return whether this rank knows that it has
   */
  boolean tellClosed(int worldRank, long groupId) {
    ClosedGroups.End end = closed.end(groupId);
    if (end != null && !end.told.get(worldRank)) {
      end.told.set(worldRank);
      if (end.cause != null) {
        send(worldRank, groupId, end.cause);
      }
      String message = "rank " + me + " has left group " + Long.toHexString(groupId);
      send(worldRank, groupId, new Failure(Failure.Kind.LEFT, me, me, message));
    }
    return end != null;
  }

  private void send(Group group, int member, Failure failure) {
    send(group.members[member], group.id, failure);
  }

  private void send(int worldRank, long groupId, Failure failure) {
    messages.send(worldRank, FrameHeader.Kind.FAILURE, groupId, failure.body());
  }

  /** Tells the members of a group that this rank takes no part in it any more. */
  void sayLeft(Group group, String message) {
    tell(group, new Failure(Failure.Kind.LEFT, me, me, message));
  }

  /** Tells a member of another one's leaving, which that one does not tell it. */
  void passOnThatLeft(Group group, int member, int leaver) {
    int culprit = group.members[leaver];
    String message = "rank " + culprit + " has left " + group;
    send(group, member, new Failure(Failure.Kind.LEFT, me, culprit, message));
  }

  /** Tells who is lost, before this rank leaves: it may do so because of that. */
  void tellLosses(Group group) {
    if (!group.isBroken() && !group.gone.isEmpty()) {
      group.gone.forEach(
          (member, failure) -> {
            if (!group.left[member] && failure.kind() != Failure.Kind.PROTOCOL) {
              tell(group, failure.as(Failure.Kind.LOST));
            }
          });
    }
  }
}
