package io.collectives.engine.run;

import io.collectives.Statistics;
import io.collectives.spi.MemoryFaults;
import io.collectives.spi.Region;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.agrona.collections.Long2ObjectHashMap;
import org.jspecify.annotations.Nullable;

/** The groups of a rank and their calls: which wait, which are under way, which have ended. */
final class Calls {

  /** The greatest number of calls of a group that are under way at once. */
  static final int IN_FLIGHT = 8;

  /**
   * The number of calls by which a group may be ahead of its first call that has not ended: a call
   * is begun only when that of so many numbers before, and all earlier ones, have ended.
   */
  static final int WINDOW = Long.SIZE;

  private static final int MOST_MESSAGES = 16;
  private static final Comparator<Statistics.Kind> ROWS =
      Comparator.comparing(Statistics.Kind::group)
          .thenComparing(Statistics.Kind::collective)
          .thenComparing(Statistics.Kind::algorithm)
          .thenComparing(Statistics.Kind::mostBytes);

  private final HeldFrames heldFrames;
  private final MemoryFaults memoryFaults;
  private final FlightRecorder recorder;
  private final TraceLog trace;
  private final Long2ObjectHashMap<Group> groups = new Long2ObjectHashMap<>();
  private final Traffic traffic;
  private final ClosedGroups closed = new ClosedGroups();
  private final List<Call> underWay = new ArrayList<>();
  private int inSlabs;
  private final Deque<Group> withRoom = new ArrayDeque<>();
  private final Deque<Call> ended = new ArrayDeque<>();
  private volatile int failures;
  private @Nullable Failure lastFailure;

  private final List<String> failureMessages = new ArrayList<>();

  /** The time as of the last start or poll; an end needs no better. */
  long now;

  /** The counters of groups that this rank has left. */
  private final Map<Statistics.Kind, Statistics.Totals> left = new HashMap<>();

  Calls(
      HeldFrames heldFrames,
      MemoryFaults memoryFaults,
      FlightRecorder recorder,
      Traffic traffic,
      TraceLog trace) {
    this.memoryFaults = memoryFaults;
    this.heldFrames = heldFrames;
    this.recorder = recorder;
    this.traffic = traffic;
    this.trace = trace;
  }

  /** The counts of what has passed between this rank and its peers. */
  Traffic traffic() {
    return traffic;
  }

  void add(Group group) {
    groups.put(group.id, group);
  }

  @Nullable Group group(long id) {
    return groups.get(id);
  }

  /** Forgets a group that this rank has left, but for its end. */
  void remove(Group group) {
    if (groups.remove(group.id) != null) {
      closed.add(group);
      group.addStatisticsTo(left, Statistics.CLOSED_GROUPS);
    }
  }

  /** Returns the counters of the calls that have ended, by kind. */
  List<Statistics.Row> statistics() {
    Map<Statistics.Kind, Statistics.Totals> sums = new HashMap<>(left);
    for (Group group : groups.values()) {
      group.addStatisticsTo(sums, group.isWorld() ? "world" : Long.toHexString(group.id));
    }
    return sums.entrySet().stream()
        .map(row -> new Statistics.Row(row.getKey(), row.getValue()))
        .sorted(Comparator.comparing(Statistics.Row::kind, ROWS))
        .toList();
  }

  /** The groups that this rank has left not long ago. */
  ClosedGroups closed() {
    return closed;
  }

  Collection<Group> groups() {
    return groups.values();
  }

  /** The calls under way, for looping by index while calls end. */
  List<Call> underWay() {
    return underWay;
  }

  /** Returns the share that each call has of so many slabs in flight: one at least. */
  int share(int slabsInFlight) {
    return inSlabs < 2 ? slabsInFlight : Math.max(1, slabsInFlight / inSlabs);
  }

  /** The call of a group that has been under way for longest. */
  @Nullable Call oldest(Group group) {
    for (int i = 0; i < underWay.size(); i++) {
      if (underWay.get(i).group == group) {
        return underWay.get(i);
      }
    }
    return null;
  }

  /** Returns whether a call under way, or waiting for its turn, uses a region. */
  boolean uses(Region region) {
    return underWay.stream().anyMatch(call -> call.uses(region))
        || groups.values().stream()
            .flatMap(group -> group.waiting.stream())
            .anyMatch(call -> call.uses(region));
  }

  @Nullable Call underWay(Group group, long sequence) {
    for (int i = 0; i < underWay.size(); i++) {
      Call call = underWay.get(i);
      if (call.sequence == sequence && call.group == group) {
        return call;
      }
    }
    return null;
  }

  /** Numbers a new call. Returns whether it may start; else it waits for its turn. */
  boolean enter(Call call) {
    Group group = call.group;
    call.sequence = group.nextSequence++;
    recorder.begun(call);
    if (!group.waiting.isEmpty() || !mayBegin(call)) {
      group.waiting.add(call);
      return false;
    }
    begin(call);
    return true;
  }

  private static boolean mayBegin(Call call) {
    Group group = call.group;
    return group.callsUnderWay < IN_FLIGHT && call.sequence - group.completed() < WINDOW;
  }

  /** The next call whose turn has come, now under way; nothing if there is none. */
  @Nullable Call nextWaiting() {
    while (!withRoom.isEmpty()) {
      Group group = withRoom.peek();
      if (!group.waiting.isEmpty() && mayBegin(group.waiting.peek())) {
        Call call = group.waiting.remove();
        call.begunNanos = now;
        begin(call);
        return call;
      }
      withRoom.remove();
    }
    return null;
  }

  private void begin(Call call) {
    call.group.callsUnderWay++;
    underWay.add(call);
    if (call.isInline) {
      call.group.inlineCalls.add(call);
    } else {
      inSlabs++;
    }
  }

  /** Takes a call from those under way, if it is. */
  private void remove(Call call) {
    Group group = call.group;
    if (underWay.remove(call)) {
      group.callsUnderWay--;
      if (call.isInline) {
        group.inlineCalls.remove(call);
      } else {
        inSlabs--;
      }
      if (!group.waiting.isEmpty()) {
        withRoom.add(group);
      }
    }
  }

  /** Ends a call that is under way, has stopped or was refused. */
  void end(Call call, @Nullable Failure why) {
    Group group = call.group;
    if (why == null && !memoryFaults.settle()) {
      throw new InternalError("shared memory that " + call + " used is gone");
    }
    remove(call);
    // By index here and wherever calls pass: an iterator is an allocation unless the compiler is in
    // luck.
    for (int i = 0; i < call.held.size(); i++) {
      heldFrames.discard(call.held.get(i));
    }
    call.held.clear();
    if (why == null) {
      group.complete(call.sequence, call.fingerprint);
    }
    group.callsEnded++;
    // If any are left the call has failed. Who still reads them must learn that before the user can
    // write to this memory again.
    for (int i = 0; i < call.views.size(); i++) {
      call.views.get(i).revoke();
    }
    call.views.clear();
    call.leaveLanding();
    recorder.ended(call, why, now);
    if (trace.isOn) {
      trace.ended(call, why != null);
    }
    call.end(why, now);
    if (call.hasCompletion()) {
      ended.add(call);
    }
  }

  /**
   * Returns the number of groups that have broken by a failure, as opposed to having been closed.
   */
  int failures() {
    return failures;
  }

  /** Returns why a group has broken last, nothing if none has. */
  @Nullable String lastFailure() {
    return lastFailure == null ? null : lastFailure.message();
  }

  /** Returns the reasons for which the first groups have broken. */
  List<String> failureMessages() {
    return List.copyOf(failureMessages);
  }

  /** Breaks a group: its calls stop, and end when it is known why. */
  void stopAll(Group group) {
    heldFrames.forgetGroup(group.id);
    for (int i = underWay.size() - 1; i >= 0; i--) {
      if (underWay.get(i).group == group) {
        stop(underWay.get(i));
      }
    }
    while (!group.waiting.isEmpty()) {
      stop(group.waiting.remove());
    }
  }

  /** Lets a call of a broken group wait until it is known why that is. */
  void stop(Call call) {
    remove(call);
    call.stop();
    call.group.stopped.add(call);
  }

  /** Ends all calls of a group, for a reason that stays. */
  void endAll(Group group, Failure why) {
    if (group.broken == null && why.kind() != Failure.Kind.CLOSED) {
      failures++;
      lastFailure = why;
      if (failureMessages.size() < MOST_MESSAGES) {
        failureMessages.add(why.message());
      }
      group.cause = why;
    }
    group.end(why);
    stopAll(group);
    while (!group.stopped.isEmpty()) {
      end(group.stopped.remove(), why);
    }
  }

  boolean hasEnded() {
    return !ended.isEmpty();
  }

  /** Takes a call with a completion that has ended. */
  @Nullable Call takeEnded() {
    return ended.poll();
  }
}
