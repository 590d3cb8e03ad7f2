package io.collectives.engine.run;

import io.collectives.ProtocolException;
import io.collectives.spi.BrokenLinkException;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.MemoryFaults;
import io.collectives.spi.Transport;
import java.net.NoRouteToHostException;
import java.net.SocketTimeoutException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Decides what each failure breaks, so that every rank of a group gets the same error and none
 * waits for ever.
 *
 * <p>The first failure of a group breaks it ({@link Breaker}): its calls stop, and all ranks of the
 * group that this one has exchanged frames with are told ({@link Notices}), who tell theirs. Its
 * members agree on what broke it ({@link Verdict}); then the calls end.
 *
 * <p><b>Who leaves</b> breaks no group, but fails the calls that still need it, and these break the
 * group. A rank that has ended a call has sent all that others need of it there, and nothing is to
 * be sent to it; so if it leaves then, others may begin that call later, and end it.
 *
 * <p><b>Who is lost</b> fails the calls under way that need it, and every call that begins later.
 *
 * <p>Who is lost to one rank is given up by all who hear of it; {@link Agreement} settles among the
 * survivors who that is.
 */
final class Failures implements Liveness.Losses {
  private final Transport transport;
  private final MemoryFaults memoryFaults;
  private final LongSupplier clock;
  private final Calls calls;
  private final List<Call> underWay;
  private final Inbound[] inbound;
  private final Liveness liveness;
  private final ControlMessages messages;
  private final Notices notices;
  private final Breaker breaker;
  private final Lateness lateness;
  private final Deque<Departure> departures = new ArrayDeque<>();
  private final List<Agreement> agreements = new ArrayList<>();

  /** The agreements on the survivors of broken groups. */
  private final Map<Group, Shrinking> shrinkings = new IdentityHashMap<>();

  /** Groups that this rank has left, until what came before has been looked at. */
  private final Deque<Group> closed = new ArrayDeque<>();

  /** The ranks that are lost to this one, whatever the group. */
  private final Map<Integer, Loss> lost = new HashMap<>();

  /** The notices of groups that this rank has not made yet, in the order in which they came. */
  private final EarlyNotices early = new EarlyNotices();

  Failures(
      Transport transport,
      LongSupplier clock,
      Calls calls,
      Inbound[] inbound,
      Liveness liveness,
      Consumer<String> warnings) {
    this.transport = transport;
    this.memoryFaults = MemoryFaults.of(transport);
    this.liveness = liveness;
    this.messages = new ControlMessages(transport, liveness);
    this.notices = new Notices(transport.rank(), calls.closed(), messages);
    this.breaker = new Breaker(calls, messages, notices, clock);
    this.lateness = new Lateness(transport, calls, notices, breaker, inbound, warnings);
    this.clock = clock;
    this.calls = calls;
    this.underWay = calls.underWay();
    this.inbound = inbound;
  }

  /** Tells, judges departures and looks at deadlines. Returns how much was done. */
  int poll(long now) {
    int work = messages.poll() + judgeDepartures();
    for (int i = agreements.size() - 1; i >= 0; i--) {
      work += agreements.get(i).poll(now);
      if (agreements.get(i).isOver()) {
        agreements.remove(i);
      }
    }
    work += breaker.poll(now);
    lateness.poll(now);
    while (!closed.isEmpty()) {
      Group group = closed.remove();
      breaker.forget(group);
      lateness.forget(group);
      shrinkings.remove(group);
    }
    return work;
  }

  private int judgeDepartures() {
    int count = 0;
    while (!departures.isEmpty()) {
      Departure departure = departures.remove();
      gone(departure.group, departure.worldRank, departure.failure, departure.left);
      count++;
    }
    return count;
  }

  /** Returns the notices of failures to the members of groups. */
  Notices notices() {
    return notices;
  }

  /** Breaks a group, tells its members, and begins to agree with them on what broke it. */
  void fail(Group group, Failure failure) {
    breaker.fail(group, failure);
  }

  /** Returns whether there is a message that could not be sent yet. */
  boolean hasNews() {
    return !messages.isEmpty();
  }

  /** The survivors of a group have agreed to go on as another one. */
  void succeeded(Group group, Group successor) {
    Shrinking shrinking = shrinkings.get(group);
    if (shrinking != null && shrinking.agreement != null) {
      shrinking.successor = successor;
    }
  }

  void added(Group group) {
    lost.forEach(
        (worldRank, loss) -> {
          int member = group.rankOf(worldRank);
          if (member >= 0) {
            Failure failure = within(group, loss.failure);
            group.gone.put(member, failure);
            group.left[member] = loss.left;
            if (failure.kind() == Failure.Kind.PROTOCOL) {
              // As in groups that were there: it may live, and wait for this rank.
              group.contacts[member] = true;
              early.add(new EarlyNotices.Notice(transport.rank(), group.id, failure, false));
            }
          }
        });
    for (EarlyNotices.Notice notice : early.takeOf(group.id)) {
      try {
        told(group, notice.from(), notice.failure());
        if (notice.weight() == 0) {
          breaker.decideAs(group, notice.failure());
        }
      } catch (ProtocolException e) {
        lost(notice.from(), e);
      }
    }
  }

  /** Breaks a group one of whose members is lost. */
  void checkLosses(Group group) {
    if (!group.gone.isEmpty()) {
      group.gone.forEach(
          (member, failure) -> {
            if (!group.left[member]) {
              fail(group, failure);
            }
          });
    }
  }

  /** Breaks the group of a call that begins, and that needs a member that has left. */
  void checkDepartures(Call call) {
    Group group = call.group;
    if (!group.gone.isEmpty() && !call.isDone()) {
      group.gone.forEach(
          (member, failure) -> {
            if (Waiting.needs(call, member, inbound)) {
              fail(group, reason(group, failure));
            }
          });
    }
  }

  /** Why a group breaks for want of a member: whoever has left may have left because of a loss. */
  private static Failure reason(Group group, Failure failure) {
    for (Map.Entry<Integer, Failure> gone : group.gone.entrySet()) {
      if (!group.left[gone.getKey()]) {
        return gone.getValue();
      }
    }
    return failure;
  }

  /** Leaves a group, and forgets it if nobody may ask for more than its end. */
  void leave(Group group) {
    notices.tellLosses(group);
    Shrinking shrinking = shrinkings.get(group);
    if (shrinking == null || shrinking.successor == null) {
      notices.sayLeft(group, "rank " + transport.rank() + " has left " + group);
    }
    close(group);
    // Of the job, or of a group whose survivors agree, the others may ask more.
    if (!group.isWorld() && (shrinking == null || shrinking.agreement == null)) {
      calls.remove(group);
      closed.add(group);
    }
  }

  void close(Group group) {
    Failure why =
        new Failure(
            Failure.Kind.CLOSED,
            transport.rank(),
            -1,
            "rank " + transport.rank() + " has closed " + group);
    calls.endAll(group, why);
    Shrinking shrinking = shrinkings.get(group);
    if (shrinking != null && shrinking.agreement != null) {
      shrinking.agreement.end(why);
    }
  }

  /** Breaks a group that this rank gives up, though it lives. */
  void abort(Group group, String reason, @Nullable Throwable cause) {
    if (cause instanceof InternalError) {
      failWithLostMemory(group);
    }
    int me = transport.rank();
    fail(
        group,
        new Failure(
            Failure.Kind.ABORTED,
            me,
            me,
            -1,
            "rank " + me + " aborted " + group + ": " + reason,
            cause));
  }

  /**
   * If memory of peers is gone, those who share it are lost, and break a group that they are in.
   */
  private void failWithLostMemory(Group group) {
    Map<Integer, Throwable> causes = memoryFaults.lostMemory();
    causes.forEach(this::lost);
    judgeDepartures();
    for (int peer : causes.keySet()) {
      Failure why = group.gone.get(group.rankOf(peer));
      if (why != null) {
        fail(group, why);
      }
    }
  }

  /**
   * Breaks all groups after an error that none of them can be blamed for. Nothing is known of what
   * this rank can still do, so it agrees with nobody.
   */
  void crash(Throwable error) {
    for (Group group : calls.groups()) {
      abort(group, error.toString(), error);
      if (group.broken == null) {
        calls.endAll(group, Objects.requireNonNull(group.cause));
      }
    }
  }

  /** This rank's part in agreeing on the survivors of a group, which breaks if it is not broken. */
  Agreement shrink(Group group, long now, long timeoutNanos) {
    checkLosses(group);
    abort(group, "it shrinks the group", null);
    Agreement agreement = agreement(group);
    Failure gaveWay = shrinking(group).gaveWay;
    if (gaveWay != null) {
      agreement.end(gaveWay);
    }
    agreement.join(now, timeoutNanos);
    if (!agreement.isOver() && !agreements.contains(agreement)) {
      agreements.add(agreement);
    }
    return agreement;
  }

  private Agreement agreement(Group group) {
    Shrinking shrinking = shrinking(group);
    Agreement agreement = shrinking.agreement;
    if (agreement == null) {
      agreement = new Agreement(group, messages, notices, breaker);
      shrinking.agreement = agreement;
    }
    return agreement;
  }

  private Shrinking shrinking(Group group) {
    return shrinkings.computeIfAbsent(group, key -> new Shrinking());
  }

  /** A ballot has come from a rank. */
  void ballot(int worldRank, long groupId, FrameBytes source, int length) {
    Group group = calls.group(groupId);
    if (group == null) {
      // If it is not made yet it is no loss: whoever joins an agreement asks for what it has
      // missed.
      if (!notices.tellClosed(worldRank, groupId)
          && Ballot.topic(source, length) == Ballot.Topic.VERDICT) {
        absent(worldRank, groupId, source, length);
      }
      return;
    }
    int member = memberOf(group, worldRank);
    group.contacts[member] = true;
    if (group.broken != null && group.broken.kind() == Failure.Kind.CLOSED) {
      notices.tellAgain(group, member);
      return;
    }
    Ballot ballot = Ballot.read(source, length, group.size(), transport.size());
    if (ballot.topic() == Ballot.Topic.VERDICT) {
      if (ballot.why() != null) {
        fail(group, ballot.why());
      }
      breaker.take(group, member, ballot);
      return;
    }
    Ballot.Outcome outcome = ballot.outcome();
    if (outcome != null
        && !outcome.lost().get(group.rank)
        && outcome.resumeAt() > group.completed()) {
      throw new ProtocolException(
          "a ballot to go on at call #"
              + outcome.resumeAt()
              + ", where this rank has completed "
              + group.completed());
    }
    if (!ballot.group().failed().isEmpty()) {
      int culprit = ballot.group().failed().nextSetBit(0);
      fail(group, gaveUp(group, worldRank, culprit, ballot.group().dead().get(culprit)));
    }
    agreement(group).take(member, ballot, clock.getAsLong());
  }

  /** Members of a group that is not made here want to agree on why it is broken. */
  private void absent(int worldRank, long groupId, FrameBytes source, int length) {
    int members = Ballot.members(source, length);
    Ballot ballot = Ballot.read(source, length, members, transport.size());
    boolean isDecided = ballot.kind() == Ballot.Kind.DECIDE;
    if (ballot.why() != null) {
      early.keep(new EarlyNotices.Notice(worldRank, groupId, ballot.why(), isDecided));
    }
    if (!isDecided && ballot.kind() != Ballot.Kind.ABSENT) {
      FrameBody absent = Ballot.absent(members).body();
      messages.send(worldRank, FrameHeader.Kind.AGREEMENT, groupId, absent);
    }
  }

  /** The rank in a group of one who tells something of it. */
  private static int memberOf(Group group, int worldRank) {
    int member = group.rankOf(worldRank);
    if (member < 0) {
      throw new ProtocolException("a notice of " + group + ", of which it is no member");
    }
    return member;
  }

  /** Returns whether this rank was part of it, and it was not over. */
  boolean leaveAgreement(Group group, String reason) {
    Shrinking shrinking = shrinkings.get(group);
    Agreement agreement = shrinking == null ? null : shrinking.agreement;
    boolean leaves = agreement != null && agreement.isJoined() && !agreement.isOver();
    if (leaves) {
      int me = transport.rank();
      Objects.requireNonNull(agreement)
          .end(
              new Failure(
                  Failure.Kind.ABORTED,
                  me,
                  me,
                  "rank " + me + " gave up shrinking " + group + ": " + reason));
    }
    return leaves;
  }

  /** Returns the failure that a rank reports which has given up another one. */
  static Failure gaveUp(Group group, int reporter, int member, boolean dead) {
    int culprit = group.members[member];
    return new Failure(
        dead ? Failure.Kind.DEAD : Failure.Kind.UNRESPONSIVE,
        reporter,
        culprit,
        "rank " + culprit + " is lost, says rank " + reporter + ", which shrinks " + group);
  }

  @Override
  public void lost(int peer, @Nullable Throwable cause) {
    int me = transport.rank();
    Failure failure =
        new Failure(
            kindOfLoss(cause),
            me,
            cause instanceof BrokenLinkException ? me : peer,
            cause == null
                ? "rank " + peer + " has left the job, says rank " + me
                : cause instanceof ProtocolException
                    ? String.valueOf(cause.getMessage())
                    : cause instanceof BrokenLinkException
                        ? "rank " + me + " gives way: " + cause.getMessage()
                        : "rank " + peer + " is lost, says rank " + me + ": " + cause.getMessage());
    lost.putIfAbsent(peer, new Loss(failure, cause == null));
    if (cause instanceof ProtocolException) {
      early.forget(peer);
    }
    for (Group group : calls.groups()) {
      // Who sends what cannot be may live, and must learn of it, whether it is needed or not.
      if (failure.kind() == Failure.Kind.PROTOCOL && group.rankOf(peer) >= 0) {
        fail(group, failure);
      }
      departures.add(new Departure(group, peer, failure, cause == null));
    }
  }

  private Failure.Kind kindOfLoss(@Nullable Throwable cause) {
    if (cause instanceof ProtocolException) {
      return Failure.Kind.PROTOCOL;
    }
    return cause instanceof SocketTimeoutException
            || cause instanceof NoRouteToHostException
            || cause != null && !(cause instanceof BrokenLinkException) && liveness.isDoubtful()
        ? Failure.Kind.UNRESPONSIVE
        : Failure.Kind.DEAD;
  }

  /**
   * A member has gone for good. Looked at after all that it sent has been applied, because it may
   * have finished first.
   */
  private void gone(Group group, int worldRank, Failure failure, boolean left) {
    int member = group.rankOf(worldRank);
    if (member < 0 || member == group.rank) {
      return;
    }
    group.gone.putIfAbsent(member, failure);
    group.left[member] |= left;
    boolean givesWay = failure.culprit() == transport.rank();
    Shrinking shrinking = givesWay ? shrinking(group) : shrinkings.get(group);
    Agreement agreement = shrinking == null ? null : shrinking.agreement;
    if (shrinking != null && givesWay) {
      shrinking.gaveWay = failure;
    }
    if (agreement != null && givesWay) {
      agreement.end(failure);
    } else if (agreement != null) {
      agreement.lost(member, failure, clock.getAsLong());
    }
    breaker.lost(group, member, failure);
    Group successor = shrinking == null ? null : shrinking.successor;
    if (successor != null) {
      gone(successor, worldRank, within(successor, failure), left);
    }
    if (group.isBroken()) {
      return;
    }
    for (int i = 0; i < underWay.size(); i++) {
      Call call = underWay.get(i);
      if (call.group == group && Waiting.needs(call, member, inbound)) {
        fail(group, reason(group, failure));
        return;
      }
    }
    if (!group.left[member] && !group.waiting.isEmpty()) {
      fail(group, failure);
    }
  }

  /** A failure that a rank which is no member has found; to this group this rank says it. */
  private Failure within(Group group, Failure failure) {
    return group.rankOf(failure.reporter()) < 0 ? failure.saidBy(transport.rank()) : failure;
  }

  /**
   * The call of a member has failed while this rank read its memory; its news is on the way, or has
   * come.
   */
  void spoiled(Call call, int member) {
    call.abortedPeer = member;
    Failure why = call.group.gone.get(member);
    if (why != null) {
      fail(call.group, why);
    }
  }

  /**
   * A rank tells of a failure.
   *
   * @throws ProtocolException if it can know of none such
   */
  void toldOf(int worldRank, long groupId, Failure failure) {
    Group group = calls.group(groupId);
    boolean waits = failure.kind() == Failure.Kind.LAGGING || failure.kind() == Failure.Kind.LATE;
    if (group != null) {
      told(group, worldRank, failure);
      if (waits) {
        notices.tellLate(group, group.rankOf(worldRank));
      }
    } else if (calls.closed().end(groupId) != null) {
      if (waits) {
        notices.tellClosed(worldRank, groupId);
      }
    } else if (failure.kind() != Failure.Kind.LAGGING) {
      early.keep(new EarlyNotices.Notice(worldRank, groupId, failure, false));
    }
  }

  private void told(Group group, int from, Failure failure) {
    int member = memberOf(group, from);
    group.contacts[member] = true;
    boolean isOfMembers =
        group.rankOf(failure.reporter()) >= 0 && group.rankOf(failure.culprit()) >= 0;
    // A rank that is no member may be the culprit of a frame that cannot be.
    if (!isOfMembers && failure.kind() != Failure.Kind.PROTOCOL) {
      throw new ProtocolException(
          "a notice of "
              + group
              + ", told by rank "
              + failure.reporter()
              + " of rank "
              + failure.culprit());
    }
    switch (failure.kind()) {
      case LEFT ->
          departures.add(
              new Departure(
                  group,
                  failure.culprit(),
                  new Failure(
                      Failure.Kind.DEAD, failure.reporter(), failure.culprit(), failure.message()),
                  true));
      case LATE, LAGGING -> lateness.told(group, failure, clock.getAsLong());
      case LOST ->
          departures.add(
              new Departure(
                  group, failure.culprit(), failure.as(Failure.Kind.UNRESPONSIVE), false));
      case DEAD, UNRESPONSIVE -> {
        fail(group, failure);
        for (Group other : calls.groups()) {
          if (other.rankOf(failure.reporter()) >= 0 && other.rankOf(failure.culprit()) >= 0) {
            departures.add(new Departure(other, failure.culprit(), failure, false));
          }
        }
      }
      default -> fail(group, failure);
    }
  }

  /** The state of the agreement on the survivors of a broken group. */
  private static final class Shrinking {
    /** Why this rank takes no part, if it does not. */
    @Nullable Failure gaveWay;

    /** The agreement, once a rank wants to shrink. */
    @Nullable Agreement agreement;

    /** Their group, once they have agreed. */
    @Nullable Group successor;
  }

  /**
   * Why a rank is lost.
   *
   * @param left whether it said that it leaves
   */
  private record Loss(Failure failure, boolean left) {}

  /**
   * A member has gone.
   *
   * @param left whether it said so itself
   */
  private record Departure(Group group, int worldRank, Failure failure, boolean left) {}
}
