package io.collectives.engine.run;

import io.collectives.ProtocolException;
import io.collectives.spi.CallFingerprint;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.Transport;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.function.LongSupplier;
import org.agrona.collections.Long2ObjectHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Breaks groups, so that every rank of a group gets the same error and none waits for ever.
 *
 * <p>The first failure of a group breaks it: its calls end, and all ranks of the group that this
 * one has exchanged frames with are told, who tell theirs. A rank that has left or died breaks a
 * group only where a call still needs it, because it may have finished first.
 *
 * <p>At a deadline a rank knows only whom it waits for itself, often an innocent neighbour. So each
 * rank tells whom it waits for; whoever hears of it and waits too joins in; a moment is left for
 * the news to travel; then everyone follows the chain to its end, the rank that told nothing
 * because it never entered the call.
 */
final class Failures {
  private static final long VERDICT_NANOS = 200_000_000;
  private static final int UNKNOWN_NOTICES = 64;

  private final Transport transport;
  private final LongSupplier clock;
  private final Calls calls;
  private final List<Call> underWay;
  private final Inbound[] inbound;
  private final FrameHeader header = new FrameHeader();
  private final Deque<Notice> notices = new ArrayDeque<>();
  private final Deque<Departure> departures = new ArrayDeque<>();

  /** What was told of groups that this rank has not made yet. */
  private final Long2ObjectHashMap<Failure> unknownNotices = new Long2ObjectHashMap<>();

  Failures(Transport transport, LongSupplier clock, Calls calls, Inbound[] inbound) {
    this.transport = transport;
    this.clock = clock;
    this.calls = calls;
    this.underWay = calls.underWay();
    this.inbound = inbound;
  }

  /** Tells, judges departures and looks at deadlines. Returns how much was done. */
  int poll(long now) {
    int work = sendNotices();
    while (!departures.isEmpty()) {
      Departure departure = departures.remove();
      gone(departure.group, departure.failure);
      work++;
    }
    if (!underWay.isEmpty()) {
      checkDeadlines(now);
    }
    return work;
  }

  /** Whether there is something that could not be told yet. */
  boolean hasNews() {
    return !notices.isEmpty();
  }

  void added(Group group) {
    Failure known = unknownNotices.remove(group.id);
    if (known != null) {
      told(group, known);
    }
  }

  /** Breaks a group whose members are no longer all there. */
  void checkComplete(Group group) {
    if (!group.gone.isEmpty()) {
      fail(group, group.gone.values().iterator().next());
    }
  }

  void leave(Group group) {
    if (group.broken == null) {
      int me = transport.rank();
      tell(group, new Failure(Failure.Kind.LEFT, me, me, "rank " + me + " has left " + group));
    }
    close(group);
  }

  void close(Group group) {
    calls.endAll(
        group,
        new Failure(
            Failure.Kind.CLOSED,
            transport.rank(),
            -1,
            "rank " + transport.rank() + " has closed " + group));
  }

  void crash(Throwable error) {
    int me = transport.rank();
    for (Group group : calls.groups()) {
      fail(
          group, new Failure(Failure.Kind.RANK_FAILED, me, me, "rank " + me + " failed: " + error));
    }
  }

  void lost(int peer, @Nullable Throwable cause) {
    int me = transport.rank();
    Failure failure =
        cause instanceof ProtocolException
            ? new Failure(Failure.Kind.PROTOCOL, me, peer, String.valueOf(cause.getMessage()))
            : new Failure(
                Failure.Kind.RANK_FAILED,
                me,
                peer,
                cause == null
                    ? "rank " + peer + " has left the job, says rank " + me
                    : "rank " + peer + " is lost, says rank " + me + ": " + cause.getMessage());
    for (Group group : calls.groups()) {
      departures.add(new Departure(group, failure));
    }
  }

  /**
   * A member has gone for good. Looked at after all that it sent has been applied, because it may
   * have finished first.
   */
  private void gone(Group group, Failure failure) {
    int member = group.rankOf(failure.culprit());
    if (member < 0 || group.broken != null) {
      return;
    }
    group.gone.putIfAbsent(member, failure);
    for (int i = 0; i < underWay.size(); i++) {
      Call call = underWay.get(i);
      if (call.group == group && Waiting.needs(call, member, inbound)) {
        fail(group, failure);
        return;
      }
    }
    if (!group.waiting.isEmpty()) {
      fail(group, failure);
    }
  }

  void mismatch(Call call, int worldRank, FrameHeader head) {
    Group group = call.group;
    CallFingerprint.Difference difference = CallFingerprint.difference(call.fingerprint, head.call);
    int me = group.members[group.rank];
    fail(
        group,
        new Failure(
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
                + CallFingerprint.describe(call.fingerprint)
                + "; rank "
                + worldRank
                + ": "
                + CallFingerprint.describe(head.call)
                + ")"));
  }

  boolean protocol(Group group, int worldRank, FrameHeader head, String expected) {
    fail(
        group,
        new Failure(
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
                + expected));
    return false;
  }

  /** Breaks a group and tells its members. */
  private void fail(Group group, Failure failure) {
    if (group.broken == null) {
      calls.endAll(group, failure);
      tell(group, failure);
    }
  }

  private void tell(Group group, Failure failure) {
    for (int member = 0; member < group.contacts.length; member++) {
      if (group.contacts[member]) {
        tell(group, member, failure);
      }
    }
    sendNotices();
  }

  private void tell(Group group, int member, Failure failure) {
    int worldRank = group.members[member];
    boolean news =
        worldRank != failure.reporter()
            && (failure.kind() != Failure.Kind.RANK_FAILED || worldRank != failure.culprit());
    if (news && !group.gone.containsKey(member)) {
      notices.add(new Notice(worldRank, group.id, failure));
      // Who waits for whom is not yet why the group breaks.
      group.told[member] |= failure.kind() != Failure.Kind.TIMEOUT;
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
    if (why != null && !group.told[member]) {
      group.told[member] = true;
      int me = transport.rank();
      tell(
          group,
          member,
          why.kind() == Failure.Kind.CLOSED
              ? new Failure(Failure.Kind.LEFT, me, me, why.message())
              : why);
      sendNotices();
    }
  }

  private int sendNotices() {
    int sent = 0;
    for (int left = notices.size(); left > 0; left--) {
      Notice notice = notices.remove();
      FrameBody body = notice.failure.body();
      header.kind = FrameHeader.Kind.FAILURE;
      header.group = notice.group;
      header.sequence = 0;
      header.slab = header.lane = header.round = header.firstChunk = header.chunkCount = 0;
      header.length = body.length();
      if (transport.link(notice.worldRank).trySend(header, body)) {
        sent++;
      } else {
        notices.add(notice);
      }
    }
    return sent;
  }

  void toldOf(long groupId, Failure failure) {
    Group group = calls.group(groupId);
    if (group != null) {
      told(group, failure);
    } else if (unknownNotices.size() < UNKNOWN_NOTICES) {
      unknownNotices.putIfAbsent(groupId, failure);
    }
  }

  private void told(Group group, Failure failure) {
    switch (failure.kind()) {
      case LEFT ->
          departures.add(
              new Departure(
                  group,
                  new Failure(
                      Failure.Kind.RANK_FAILED,
                      failure.reporter(),
                      failure.culprit(),
                      failure.message())));
      case TIMEOUT -> waits(group, failure);
      default -> fail(group, failure);
    }
  }

  private void checkDeadlines(long now) {
    for (int i = underWay.size() - 1; i >= 0; i--) {
      if (i >= underWay.size()) {
        continue;
      }
      Call call = underWay.get(i);
      if (call.verdictNanos != 0) {
        if (now - call.verdictNanos >= 0) {
          verdict(call, now);
        }
      } else if (now - call.deadlineNanos >= 0) {
        late(call, now);
      }
    }
  }

  /** The deadline has passed here, or at a rank that waits: say whom this rank waits for. */
  private void late(Call call, long now) {
    Group group = call.group;
    int me = group.members[group.rank];
    int awaited = group.members[Waiting.member(call, inbound)];
    call.verdictNanos = now + VERDICT_NANOS;
    group.awaited.put(me, awaited);
    tell(
        group,
        new Failure(Failure.Kind.TIMEOUT, me, awaited, Waiting.describe(call, now, inbound)));
  }

  private void waits(Group group, Failure failure) {
    if (group.broken != null
        || group.awaited.putIfAbsent(failure.reporter(), failure.culprit()) != null) {
      return;
    }
    tell(group, failure);
    boolean inCall = false;
    for (int i = 0; i < underWay.size(); i++) {
      Call call = underWay.get(i);
      if (call.group == group) {
        inCall = true;
        if (call.verdictNanos == 0) {
          late(call, clock.getAsLong());
        }
      }
    }
    if (!inCall) {
      calls.endAll(group, failure);
    }
  }

  private void verdict(Call call, long now) {
    Group group = call.group;
    int me = group.members[group.rank];
    int mine = group.members[Waiting.member(call, inbound)];
    int culprit = mine;
    for (int hops = 0; hops < group.size() && group.awaited.containsKey(culprit); hops++) {
      culprit = group.awaited.get(culprit);
    }
    if (group.awaited.containsKey(culprit)) {
      culprit = mine;
    }
    String message = Waiting.describe(call, now, inbound);
    if (culprit != mine) {
      message +=
          "; rank "
              + mine
              + " waits in turn, and the chain ends at rank "
              + culprit
              + ", which has not made this call or is stuck in it";
    }
    calls.endAll(group, new Failure(Failure.Kind.TIMEOUT, me, culprit, message));
  }

  private record Notice(int worldRank, long group, Failure failure) {}

  private record Departure(Group group, Failure failure) {}
}
