package io.collectives.engine.run;

import io.collectives.spi.Transport;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Finds the rank that keeps the others waiting: at the deadline of a call, to blame it, and much
 * earlier to warn of it.
 *
 * <p>A rank knows only whom it waits for itself, often an innocent neighbour. So each rank tells
 * whom it waits for; whoever hears of it and waits too joins in; a moment is left for the news to
 * travel; then everyone follows the chain to its end, the rank that told nothing because it never
 * made the call. A rank tells of its oldest call only: nobody who is done with a call is waited for
 * in it, so the chain has no circle. What was told of a call that this rank is done with has come
 * too late to matter.
 */
final class Lateness {
  private static final long VERDICT_NANOS = 200_000_000;
  private static final long LAG_NANOS = 2_000_000_000;

  /** For how long a warning waits after the last news: a busy rank answers late. */
  private static final long SETTLED_NANOS = 1_000_000_000;

  /** A call whose time limit is longer than this many times the lag may wait, as a server does. */
  private static final long LAGS = 1_000;

  private static final long WARNING_PAUSE_NANOS = 10_000_000_000L;

  private final Transport transport;
  private final Calls calls;
  private final Notices notices;
  private final Breaker breaker;
  private final Inbound[] inbound;
  private final Consumer<String> warnings;
  private final Map<Group, Questions> questions = new IdentityHashMap<>();
  private final List<Question> open = new ArrayList<>();

  Lateness(
      Transport transport,
      Calls calls,
      Notices notices,
      Breaker breaker,
      Inbound[] inbound,
      Consumer<String> warnings) {
    this.transport = transport;
    this.calls = calls;
    this.notices = notices;
    this.breaker = breaker;
    this.inbound = inbound;
    this.warnings = warnings;
  }

  /** Looks at the deadlines of calls, and judges where all have been heard. */
  void poll(long now) {
    List<Call> underWay = calls.underWay();
    for (int i = 0; i < underWay.size(); i++) {
      Call call = underWay.get(i);
      Group group = call.group;
      if (now - call.deadlineNanos >= 0 && !of(group).late.asked) {
        ask(of(group).late, now);
      } else if (now - call.startNanos >= lagNanos(call) && of(group).mayWarn(now)) {
        ask(of(group).lag, now);
      }
    }
    for (int i = open.size() - 1; i >= 0; i--) {
      Question question = open.get(i);
      of(question.group);
      if (!question.asked || question.group.isBroken()) {
        open.remove(i);
      } else if (now - question.verdictNanos >= 0) {
        open.remove(i);
        judge(question, now);
      }
    }
  }

  /** Returns the questions of a group, without those about calls that have ended since. */
  private Questions of(Group group) {
    Questions of = questions.computeIfAbsent(group, Questions::new);
    of.forgetEnded();
    return of;
  }

  /** This rank has left a group. */
  void forget(Group group) {
    questions.remove(group);
  }

  /** After how long it is worth a warning that a call waits. */
  private static long lagNanos(Call call) {
    return Math.max(LAG_NANOS, (call.deadlineNanos - call.startNanos) / LAGS);
  }

  private void ask(Question question, long now) {
    Group group = question.group;
    question.asked = true;
    question.verdictNanos = now + patience(question);
    open.add(question);
    Call call = calls.oldest(group);
    question.sequence = call == null ? -1 : call.sequence;
    if (call != null) {
      int me = transport.rank();
      int awaited = awaited(call);
      question.awaited.put(me, awaited);
      notices.tell(
          group,
          new Failure(
              question.kind,
              me,
              awaited,
              call.sequence,
              Waiting.describe(call, now, inbound),
              null));
    }
  }

  private static long patience(Question question) {
    return question.kind == Failure.Kind.LATE ? VERDICT_NANOS : SETTLED_NANOS;
  }

  /** A rank tells whom it, or another one, waits for. */
  void told(Group group, Failure failure, long now) {
    Questions asked = of(group);
    Question question = failure.kind() == Failure.Kind.LAGGING ? asked.lag : asked.late;
    boolean warned = question == asked.lag && now - asked.nextWarningNanos < 0;
    if (group.isBroken()
        || warned
        || failure.sequence() < group.completed()
        || question.awaited.putIfAbsent(failure.reporter(), failure.culprit()) != null) {
      return;
    }
    notices.tell(group, failure);
    if (question.first == null) {
      question.first = failure;
    }
    if (!question.asked) {
      ask(question, now);
    } else if (question == asked.lag) {
      question.verdictNanos = now + SETTLED_NANOS;
    }
  }

  private void judge(Question question, long now) {
    Group group = question.group;
    Call call = calls.oldest(group);
    Failure first = question.first;
    boolean goesOn = call != null && call.sequence != question.sequence;
    if (goesOn && question.kind == Failure.Kind.LAGGING) {
      question.forget();
    } else if (call != null) {
      conclude(
          question, transport.rank(), awaited(call), Waiting.describe(call, now, inbound), now);
    } else if (first != null && question.kind == Failure.Kind.LATE) {
      // What others wait for is a call that this rank has not made.
      int me = transport.rank();
      breaker.fail(
          group,
          new Failure(
              Failure.Kind.TIMEOUT,
              me,
              me,
              "rank " + me + " has not made the call in which others wait: " + first.message()));
    } else {
      question.forget();
    }
  }

  private void conclude(Question question, int reporter, int start, String waiting, long now) {
    Group group = question.group;
    int culprit = endOfChain(question, start);
    if (question.kind == Failure.Kind.LAGGING && question.awaited.containsKey(culprit)) {
      question.forget(); // All wait for each other: the call goes on, if slowly.
      return;
    }
    String message =
        culprit == start
            ? waiting
            : waiting
                + "; rank "
                + start
                + " waits in turn, and the chain ends at rank "
                + culprit
                + ", which has not made this call or is stuck in it";
    if (question.kind == Failure.Kind.LATE) {
      breaker.fail(group, new Failure(Failure.Kind.TIMEOUT, reporter, culprit, message));
    } else {
      of(group).nextWarningNanos = now + WARNING_PAUSE_NANOS;
      question.forget();
      warnings.accept("rank " + culprit + " lags: " + message);
    }
  }

  private int awaited(Call call) {
    return call.group.members[Waiting.member(call, inbound)];
  }

  private static int endOfChain(Question question, int start) {
    int culprit = start;
    for (int hops = 0;
        hops < question.group.size() && question.awaited.containsKey(culprit);
        hops++) {
      culprit = question.awaited.get(culprit);
    }
    return question.awaited.containsKey(culprit) ? start : culprit;
  }

  /** The questions that are asked in one group. */
  private static final class Questions {
    private final Group group;

    /** The question which rank waits for which, asked at the deadline of a call. */
    final Question late;

    /** The question which rank waits for which, asked when a call takes long. */
    final Question lag;

    /** The time from which a rank that lags may be warned of again. */
    long nextWarningNanos = Long.MIN_VALUE / 2;

    private long callsEnded;

    Questions(Group group) {
      this.group = group;
      this.late = new Question(group, Failure.Kind.LATE);
      this.lag = new Question(group, Failure.Kind.LAGGING);
      this.callsEnded = group.callsEnded;
    }

    void forgetEnded() {
      if (callsEnded != group.callsEnded) {
        callsEnded = group.callsEnded;
        late.forget();
        lag.forget();
      }
    }

    boolean mayWarn(long now) {
      return now - nextWarningNanos >= 0 && !lag.asked;
    }
  }

  /**
   * The answers of a group to the question which rank waits for which, as far as they came. Ranks
   * are those of the job.
   */
  private static final class Question {
    final Group group;
    final Failure.Kind kind;
    final Map<Integer, Integer> awaited = new HashMap<>();

    /** The answer that came first. */
    @Nullable Failure first;

    long verdictNanos;

    /** The oldest call of this rank when it joined in; -1 if there was none. */
    long sequence;

    boolean asked;

    Question(Group group, Failure.Kind kind) {
      this.group = group;
      this.kind = kind;
    }

    void forget() {
      awaited.clear();
      first = null;
      asked = false;
    }
  }
}
