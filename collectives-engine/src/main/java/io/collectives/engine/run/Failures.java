package io.collectives.engine.run;

import io.collectives.ProtocolException;
import io.collectives.spi.BrokenLinkException;
import io.collectives.spi.CallFingerprint;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.Transport;
import java.net.NoRouteToHostException;
import java.net.SocketTimeoutException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Breaks groups, so that every rank of a group gets the same error and none waits for ever.
 *
 * <p>The first failure of a group breaks it: its calls stop, and all ranks of the group that this
 * one has exchanged frames with are told, who tell theirs. Its members agree on what broke it
 * ({@link Verdict}); then the calls end.
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
final class Failures {
  /** How much one rank may tell of groups that this one has not made. */
  private static final int MOST_EARLY = 256;

  private final Transport transport;
  private final LongSupplier clock;
  private final Calls calls;
  private final List<Call> underWay;
  private final Inbound[] inbound;
  private final Liveness liveness;
  private final Post post;
  private final Lateness lateness;
  private final Deque<Departure> departures = new ArrayDeque<>();
  private final List<Agreement> agreements = new ArrayList<>();

  /** Groups that are broken, until it is settled why. */
  private final List<Group> unsettled = new ArrayList<>();

  /** The ranks that are lost to this one, whatever the group. */
  private final Map<Integer, Loss> lost = new HashMap<>();

  /** What was told of groups that this rank has not made yet, in the order in which it came. */
  private final List<Notice> early = new ArrayList<>();

  Failures(
      Transport transport,
      LongSupplier clock,
      Calls calls,
      Inbound[] inbound,
      Liveness liveness,
      Consumer<String> warnings) {
    this.transport = transport;
    this.liveness = liveness;
    this.post = new Post(transport, liveness);
    this.lateness = new Lateness(transport, calls, this, inbound, warnings);
    this.clock = clock;
    this.calls = calls;
    this.underWay = calls.underWay();
    this.inbound = inbound;
  }

  /** Tells, judges departures and looks at deadlines. Returns how much was done. */
  int poll(long now) {
    int work = post.poll() + judgeDepartures();
    for (int i = agreements.size() - 1; i >= 0; i--) {
      work += agreements.get(i).poll(now);
      if (agreements.get(i).isOver()) {
        agreements.remove(i);
      }
    }
    for (int i = unsettled.size() - 1; i >= 0; i--) {
      Group group = unsettled.get(i);
      work += verdictOf(group).poll(now) + settle(group);
    }
    lateness.poll(now);
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

  /** Whether there is something that could not be told yet. */
  boolean hasNews() {
    return !post.isEmpty();
  }

  /** The survivors of a group have agreed to go on as another one. */
  void succeeded(Group group, Group successor, Agreement agreement) {
    group.successor = successor;
    agreement
        .lostSurvivors()
        .forEach(
            member ->
                gone(
                    successor,
                    group.members[member],
                    gaveUp(group, transport.rank(), member, agreement.isDead(member)),
                    false));
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
              early.add(new Notice(transport.rank(), group.id, failure, false));
            }
          }
        });
    List<Notice> told =
        early.stream()
            .filter(notice -> notice.groupId == group.id)
            .sorted(Comparator.comparing(Notice::weight))
            .toList();
    early.removeAll(told);
    for (Notice notice : told) {
      try {
        told(group, notice.from, notice.failure);
        if (notice.weight() == 0 && group.verdict != null) {
          group.verdict.decideAs(notice.failure);
          settle(group);
        }
      } catch (ProtocolException e) {
        lost(notice.from, e);
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

  void leave(Group group) {
    tellLosses(group);
    if (group.successor == null) {
      sayLeft(group, "rank " + transport.rank() + " has left " + group);
    }
    close(group);
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

  /** Tells the members of a group that this rank takes no part in it any more. */
  void sayLeft(Group group, String message) {
    int me = transport.rank();
    tell(group, new Failure(Failure.Kind.LEFT, me, me, message));
  }

  /** Tells a member of another one's leaving, which that one does not tell it. */
  void passOnThatLeft(Group group, int member, int leaver) {
    int culprit = group.members[leaver];
    String message = "rank " + culprit + " has left " + group;
    send(group, member, new Failure(Failure.Kind.LEFT, transport.rank(), culprit, message));
  }

  void close(Group group) {
    Failure why =
        new Failure(
            Failure.Kind.CLOSED,
            transport.rank(),
            -1,
            "rank " + transport.rank() + " has closed " + group);
    calls.endAll(group, why);
    if (group.agreement != null) {
      group.agreement.end(why);
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
    Map<Integer, Throwable> causes = transport.lostMemory();
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
    if (group.gaveWay != null) {
      agreement.end(group.gaveWay);
    }
    agreement.join(now, timeoutNanos);
    if (!agreement.isOver() && !agreements.contains(agreement)) {
      agreements.add(agreement);
    }
    return agreement;
  }

  private Agreement agreement(Group group) {
    if (group.agreement == null) {
      group.agreement = new Agreement(group, post, this);
    }
    return group.agreement;
  }

  /** A ballot has come from a rank. */
  void ballot(int worldRank, long groupId, FrameBytes source, int length) {
    Group group = calls.group(groupId);
    if (group == null) {
      // If it is not made yet it is no loss: whoever joins an agreement asks for what it has
      // missed.
      if (!tellClosed(worldRank, groupId) && Ballot.topic(source, length) == Ballot.Topic.VERDICT) {
        absent(worldRank, groupId, source, length);
      }
      return;
    }
    int member = memberOf(group, worldRank);
    group.contacts[member] = true;
    if (group.broken != null && group.broken.kind() == Failure.Kind.CLOSED) {
      tellAgain(group, member);
      return;
    }
    Ballot ballot = Ballot.read(source, length, group.size(), transport.size());
    if (ballot.topic() == Ballot.Topic.VERDICT) {
      if (ballot.why() != null) {
        fail(group, ballot.why());
      }
      if (group.verdict != null) {
        group.verdict.take(member, ballot, clock.getAsLong());
        settle(group);
      }
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
    if (!ballot.failed().isEmpty()) {
      int culprit = ballot.failed().nextSetBit(0);
      fail(group, gaveUp(group, worldRank, culprit, ballot.dead().get(culprit)));
    }
    agreement(group).take(member, ballot, clock.getAsLong());
  }

  /** Members of a group that is not made here want to agree on why it is broken. */
  private void absent(int worldRank, long groupId, FrameBytes source, int length) {
    int members = Ballot.members(source, length);
    Ballot ballot = Ballot.read(source, length, members, transport.size());
    boolean isDecided = ballot.kind() == Ballot.Kind.DECIDE;
    if (ballot.why() != null) {
      keep(new Notice(worldRank, groupId, ballot.why(), isDecided));
    }
    if (!isDecided && ballot.kind() != Ballot.Kind.ABSENT) {
      FrameBody absent = Ballot.absent(members).body();
      post.send(worldRank, FrameHeader.Kind.AGREEMENT, groupId, absent);
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
    boolean leaves =
        group.agreement != null && group.agreement.isJoined() && !group.agreement.isOver();
    if (leaves) {
      int me = transport.rank();
      group.agreement.end(
          new Failure(
              Failure.Kind.ABORTED,
              me,
              me,
              "rank " + me + " gave up shrinking " + group + ": " + reason));
    }
    return leaves;
  }

  /** What a rank that has given up another one says of it. */
  static Failure gaveUp(Group group, int reporter, int member, boolean dead) {
    int culprit = group.members[member];
    return new Failure(
        dead ? Failure.Kind.DEAD : Failure.Kind.UNRESPONSIVE,
        reporter,
        culprit,
        "rank " + culprit + " is lost, says rank " + reporter + ", which shrinks " + group);
  }

  /** The others of a group go on without this rank. */
  void givenUp(Group group, Failure failure) {
    sayLeft(group, failure.message());
    if (group.broken == null) {
      calls.endAll(group, failure);
    }
  }

  void lost(int peer, @Nullable Throwable cause) {
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
    early.removeIf(notice -> notice.from == peer && cause instanceof ProtocolException);
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
    if (failure.culprit() == transport.rank()) {
      group.gaveWay = failure;
      if (group.agreement != null) {
        group.agreement.end(failure);
      }
    } else if (group.agreement != null) {
      group.agreement.lost(member, failure, clock.getAsLong());
    }
    if (group.verdict != null) {
      group.verdict.lost(member, failure, clock.getAsLong());
      settle(group);
    }
    if (group.successor != null) {
      gone(group.successor, worldRank, within(group.successor, failure), left);
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
    call.spoiler = member;
    Failure why = call.group.gone.get(member);
    if (why != null) {
      fail(call.group, why);
    }
  }

  void mismatch(Call call, int worldRank, FrameHeader head) {
    mismatch(call.group, call.toString(), call.fingerprint, worldRank, head);
  }

  /** A frame of a call that has ended here: another one was made there, or the frame cannot be. */
  void afterTheEnd(Group group, int worldRank, FrameHeader head) {
    String call = "call #" + head.sequence;
    long[] mine = group.endedFingerprint(head.sequence);
    if (mine != null && !CallFingerprint.same(mine, head.call)) {
      mismatch(group, call, mine, worldRank, head);
    } else {
      protocol(group, worldRank, head, call + " has ended");
    }
  }

  private void mismatch(Group group, String call, long[] mine, int worldRank, FrameHeader head) {
    CallFingerprint.Difference difference = CallFingerprint.difference(mine, head.call);
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
                + CallFingerprint.describe(mine)
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

  /** A member lends what cannot be meant. */
  void nonsense(Call call, int worldRank, String what) {
    int me = transport.rank();
    fail(
        call.group,
        new Failure(
            Failure.Kind.PROTOCOL,
            me,
            worldRank,
            "rank " + worldRank + " lends to rank " + me + " " + what));
  }

  /** Breaks a group, tells its members, and begins to agree with them on what broke it. */
  void fail(Group group, Failure failure) {
    if (!group.isBroken()) {
      long now = clock.getAsLong();
      group.cause = failure;
      calls.stopAll(group);
      tell(group, failure);
      group.verdict = new Verdict(group, post, failure, now);
      group.verdict.join(now, Verdict.LIMIT_NANOS);
      unsettled.add(group);
      settle(group);
    } else if (group.verdict != null) {
      group.verdict.learn(failure);
    }
  }

  private static Verdict verdictOf(Group group) {
    return Objects.requireNonNull(group.verdict);
  }

  /** Ends the calls of a broken group if it is known what broke it. Returns how much was done. */
  private int settle(Group group) {
    Failure why = verdictOf(group).why();
    if (why != null && group.broken == null) {
      calls.endAll(group, why);
    }
    return group.broken != null && unsettled.remove(group) ? 1 : 0;
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
        int me = transport.rank();
        send(group, member, new Failure(Failure.Kind.LEFT, me, me, why.message()));
      }
    }
  }

  /** As {@link #tellLate}, to a member that still waits, though it may have been told. */
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
    ClosedGroups.End end = calls.closed().end(groupId);
    if (end != null && !end.told.get(worldRank)) {
      end.told.set(worldRank);
      if (end.cause != null) {
        send(worldRank, groupId, end.cause);
      }
      int me = transport.rank();
      String message = "rank " + me + " has left group " + Long.toHexString(groupId);
      send(worldRank, groupId, new Failure(Failure.Kind.LEFT, me, me, message));
    }
    return end != null;
  }

  private void send(Group group, int member, Failure failure) {
    send(group.members[member], group.id, failure);
  }

  private void send(int worldRank, long groupId, Failure failure) {
    post.send(worldRank, FrameHeader.Kind.FAILURE, groupId, failure.body());
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
        tellLate(group, group.rankOf(worldRank));
      }
    } else if (calls.closed().end(groupId) != null) {
      if (waits) {
        tellClosed(worldRank, groupId);
      }
    } else if (failure.kind() != Failure.Kind.LAGGING) {
      keep(new Notice(worldRank, groupId, failure, false));
    }
  }

  /** Keeps what is told of a group until it is made here. */
  private void keep(Notice notice) {
    if (early.contains(notice)) {
      return;
    }
    if (early.stream().filter(other -> other.from == notice.from).count() == MOST_EARLY) {
      throw new ProtocolException(
          "more than " + MOST_EARLY + " notices of groups that were not made here");
    }
    early.add(notice);
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

  /** What a rank has told of a group. */
  private record Notice(int from, long groupId, Failure failure, boolean isDecided) {
    /**
     * What members have decided counts first, then what they would prefer in a verdict. Who is
     * itself to blame may have been cut off, and then has decided alone.
     */
    int weight() {
      if (failure.culprit() == from) {
        return 3;
      }
      return isDecided ? 0 : failure.kind() == Failure.Kind.PROTOCOL ? 1 : 2;
    }
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
