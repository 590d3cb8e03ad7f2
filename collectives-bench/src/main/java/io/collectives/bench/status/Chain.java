package io.collectives.bench.status;

import io.collectives.bench.status.RankAnswer.Call;
import io.collectives.bench.status.RankAnswer.Group;
import io.collectives.bench.status.RankAnswer.InCall;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The way from a rank that waits to the rank that keeps it waiting: the rank for which it waits,
 * for whom that one waits, and so on.
 *
 * @param ranks from the one that waits to the end
 * @param waits the calls in which they wait, one for each rank but the last; the last as well if
 *     the end is itself in a call
 * @param end why it goes no further
 */
public record Chain(List<Integer> ranks, List<InCall> waits, End end) {
  /** The reason for which a chain ends. */
  public enum End {
    /** The last rank is in no call. */
    IN_NO_CALL,
    /** The last rank does not answer. */
    SILENT,
    /** A thread of the last rank has kept its engine for itself for long. */
    BUSY,
    /** The last rank is in a call for which all others have done their part. */
    BEHIND,
    /** The last rank waits for one that comes before it, in a call of another group. */
    CIRCLE,
    /** Ranks wait for each other in one call, or what is awaited is under way: the call goes on. */
    MOVING,
    /** The group is broken. */
    BROKEN
  }

  /** Keeps copies of the lists. */
  public Chain {
    ranks = List.copyOf(ranks);
    waits = List.copyOf(waits);
  }

  /** The rank that waits. */
  public int start() {
    return ranks.get(0);
  }

  /** The rank at the end. */
  public int last() {
    return ranks.get(ranks.size() - 1);
  }

  /** Returns whether the rank at the end keeps the others waiting. */
  public boolean blames() {
    return end != End.MOVING && end != End.BROKEN && ranks.size() > 1;
  }

  /** Returns for how long the rank has waited. */
  public long micros() {
    return waits.get(0).call().micros();
  }

  /**
   * Follows the waits of a rank.
   *
   * @param answers of all ranks that have answered
   * @return null if the rank waits for nobody
   */
  static @Nullable Chain from(int rank, Map<Integer, RankAnswer> answers) {
    RankAnswer answer = answers.get(rank);
    InCall waits = answer == null ? null : answer.oldest();
    if (waits == null) {
      return null;
    }
    List<Integer> ranks = new ArrayList<>(List.of(rank));
    List<InCall> calls = new ArrayList<>();
    while (true) {
      calls.add(waits);
      if (waits.group().broken()) {
        return new Chain(ranks, calls, End.BROKEN);
      }
      int next = waits.call().awaited();
      RankAnswer of = answers.get(next);
      End end = of == null ? End.SILENT : of.busyMillis() > 0 ? End.BUSY : null;
      if (of == null || end != null) {
        return end(ranks, next, calls, end == null ? End.SILENT : end);
      }
      Group group = of.group(waits.group().id());
      Call same = group == null ? null : call(group, waits.call().sequence());
      if (same != null && same.waits()) {
        waits = new InCall(group == null ? waits.group() : group, same);
        if (ranks.contains(next)) {
          return end(ranks, next, calls, isOneCall(calls) ? End.MOVING : End.CIRCLE);
        }
      } else if (group != null && same == null && group.begun() > waits.call().sequence()) {
        // It has done its part, and this rank has not taken it yet.
        return new Chain(ranks, calls, ranks.size() > 1 ? End.BEHIND : End.MOVING);
      } else {
        InCall other = of.oldest();
        if (other == null) {
          return end(ranks, next, calls, End.IN_NO_CALL);
        }
        waits = other;
        if (ranks.contains(next)) {
          return end(ranks, next, calls, End.CIRCLE);
        }
      }
      ranks.add(next);
    }
  }

  private static Chain end(List<Integer> ranks, int last, List<InCall> calls, End why) {
    ranks.add(last);
    return new Chain(ranks, calls, why);
  }

  private static @Nullable Call call(Group group, long sequence) {
    for (Call call : group.calls()) {
      if (call.sequence() == sequence) {
        return call;
      }
    }
    return null;
  }

  private static boolean isOneCall(List<InCall> calls) {
    InCall first = calls.get(0);
    for (InCall other : calls) {
      if (!other.group().id().equals(first.group().id())
          || other.call().sequence() != first.call().sequence()) {
        return false;
      }
    }
    return true;
  }
}
