package io.collectives.engine.run;

import io.collectives.CallTimeoutException;
import io.collectives.CollectiveException;
import io.collectives.MismatchException;
import io.collectives.ProtocolException;
import io.collectives.engine.run.Script.Step;
import io.collectives.engine.run.Script.Team;
import io.collectives.engine.run.SimulatedNetwork.Carrier;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * A job whose ranks do what a {@link Script} says, each at a pace of its own: calls of any
 * collectives in groups that are made and closed. A rank leaves as soon as it is done, or after an
 * error, as a program does; or in some runs all stay until everybody is done, so that what engines
 * still hold can be counted.
 */
final class ScriptedSimulation extends Simulation {
  private static final long TIMEOUT = 20 * SECOND;

  /**
   * The time for which a rank may compute between its calls, in all: for longer than the limit of
   * silence.
   */
  private static final long LONGEST_LATENESS = 6 * SECOND;

  /** In most runs, since whoever waits makes events. */
  private static final long USUAL_LATENESS = 50 * MILLI;

  private static final long NEWS_LIMIT = SECOND;

  /** A fault that is planted. */
  enum Fault {
    NONE,
    SHORT_STALL,
    /** No frame passes between two sides for less than the limit of silence. */
    SHORT_SPLIT,
    /** A rank leaves before it has done all that others wait for. */
    DESERTS,
    KILL,
    /** A rank dies while it uses memory that another one has leased to it. */
    KILL_LESSEE,
    LONG_STALL,
    CUT,
    HALF_OPEN,
    /** Two or three of those before. */
    SEVERAL,
    /** A rank sends what makes no sense. */
    PROTOCOL_ERROR
  }

  private enum State {
    RUNNING,
    WAITING,
    LEAVING,
    GONE
  }

  private final Fault fault;
  private final Carrier carrier;
  private final Script script;
  final SimulatedNetwork network;
  private final List<Rank> ranks = new ArrayList<>();
  private final int frameLength;
  private final int slabsInFlight;
  private final int depth;
  private final long mostLateness;

  /** If true, all stay until everybody is done. */
  private final boolean stay;

  private final int victim;
  private final int other;

  /**
   * The number of steps that the victim has begun when the fault strikes, and how many events
   * later.
   */
  private final int strikesAt;

  private int strikesIn;
  private int strikes;
  private final Set<Integer> killed = new TreeSet<>();

  /** The ranks that were at fault. */
  private final Set<Integer> suspects = new TreeSet<>();

  /** The number of ended connections of ranks that live; of two, nothing is promised. */
  private int severed;

  /** The ranks that left after an error, or because they deserted. */
  private final Set<Integer> leavers = new TreeSet<>();

  private final @Nullable ProtocolErrors protocolErrors;
  private boolean quiet;
  private boolean checkedBooks;

  /** By group: what the first rank that got an error was told. */
  private final Map<Long, String> reasons = new HashMap<>();

  static ScriptedSimulation of(String name, Dice random, SimulatedPrograms programs) {
    Fault fault = random.nextInt(3) == 0 ? Fault.NONE : random.any(Fault.values());
    boolean single = fault == Fault.NONE || fault == Fault.SHORT_STALL;
    int size = single ? 1 + random.nextInt(6) : 2 + random.nextInt(5);
    return new ScriptedSimulation(name, random, fault, size, programs);
  }

  private ScriptedSimulation(
      String name, Dice random, Fault fault, int size, SimulatedPrograms programs) {
    super(name, random, size, programs);
    this.fault = fault;
    this.carrier =
        fault == Fault.KILL_LESSEE ? Carrier.LEASES_AND_SLOTS : random.any(Carrier.values());
    this.script = new Script(random, size);
    this.frameLength = random.any(64, 128, 512);
    this.slabsInFlight = 1 + random.nextInt(2);
    this.depth = 1 + random.nextInt(3);
    this.mostLateness = random.oneIn(4) ? LONGEST_LATENESS : USUAL_LATENESS;
    this.stay = random.nextBoolean();
    this.victim = random.nextInt(size);
    this.other = (victim + 1 + random.nextInt(Math.max(1, size - 1))) % size;
    this.strikesAt = random.nextInt(1 + script.steps.size());
    this.strikesIn = random.nextInt(120);
    long delay = random.nextInt(3) * MILLI;
    this.network = new SimulatedNetwork(size, () -> now, random, delay, carrier, 0);
    for (int rank = 0; rank < size; rank++) {
      ranks.add(new Rank(rank));
    }
    this.protocolErrors = fault == Fault.PROTOCOL_ERROR ? new ProtocolErrors(this, victim) : null;
    if (protocolErrors != null) {
      suspects.add(victim);
    }
  }

  @Override
  void listen() {
    network.listen(this::tell);
  }

  @Override
  boolean isOver() {
    for (Rank rank : ranks) {
      if (rank.state != State.GONE && !killed.contains(rank.number)) {
        return false;
      }
    }
    return true;
  }

  @Override
  void turn() {
    if (strikes == 0 && fault != Fault.NONE && ranks.get(victim).begun >= strikesAt) {
      if (strikesIn-- <= 0) {
        strikes++;
        strike(fault, victim, other);
      }
    }
    if (stay && !quiet && isQuiet()) {
      quiet = true;
      checkBooks();
    }
  }

  /** Returns whether all are done, and nothing is under way. */
  private boolean isQuiet() {
    if (network.hasNews()) {
      return false;
    }
    for (Rank rank : ranks) {
      if (!rank.isQuiet()) {
        return false;
      }
    }
    int work = 0;
    for (Rank rank : ranks) {
      if (rank.state == State.WAITING && !killed.contains(rank.number)) {
        work += rank.poll();
      }
    }
    return work == 0 && !network.hasNews();
  }

  private void strike(Fault what, int who, int with) {
    if (killed.contains(who) || ranks.get(who).state == State.GONE) {
      return;
    }
    tell(what + " of rank " + who + ", other " + with);
    switch (what) {
      case NONE -> {}
      case SHORT_STALL -> ranks.get(who).stalledUntil = now + random.nextLong(2 * SECOND);
      case SHORT_SPLIT -> holdUp();
      case DESERTS -> {
        suspects.add(who);
        ranks.get(who).deserts = true;
      }
      case KILL -> kill(who);
      case KILL_LESSEE -> network.dieHolding(who, () -> kill(who));
      case LONG_STALL -> {
        suspects.add(who);
        ranks.get(who).stalledUntil = now + 2 * SILENCE + random.nextLong(10 * SECOND);
      }
      case CUT -> {
        // What a rank has sent before it left is not lost any more.
        if (who != with && ranks.get(with).state != State.GONE) {
          suspects.add(Math.max(who, with));
          severed++;
          network.cut(who, with);
        }
      }
      case HALF_OPEN -> {
        suspects.add(who);
        suspects.add(with);
        severed++;
        network.silence(who, with);
      }
      case SEVERAL -> {
        Fault[] kinds = {Fault.KILL, Fault.LONG_STALL, Fault.CUT, Fault.HALF_OPEN, Fault.DESERTS};
        for (int i = 2 + random.nextInt(2); i > 0; i--) {
          int next = random.nextInt(size);
          strike(random.any(kinds), next, (next + 1 + random.nextInt(size - 1)) % size);
        }
      }
      case PROTOCOL_ERROR -> network.tamper(who, protocolErrors);
    }
  }

  private void kill(int rank) {
    tell("rank " + rank + " dies");
    killed.add(rank);
    suspects.add(rank);
    network.kill(rank, random.nextBoolean());
  }

  private void holdUp() {
    int sides = 1 << victim | random.nextInt(1 << size);
    long until = now + random.nextLong(SILENCE * 3 / 4);
    for (int a = 0; a < size; a++) {
      for (int b = 0; b < size; b++) {
        if ((sides >> a & 1) != (sides >> b & 1)) {
          network.holdUp(a, b, until);
        }
      }
    }
  }

  /** All are done and nothing is under way: an engine holds the job, and what is open, only. */
  private void checkBooks() {
    if (protocolErrors != null || carrier.views && !killed.isEmpty()) {
      // What made no sense may be held; a thread that ends gives nothing back that it holds.
      return;
    }
    for (Rank rank : ranks) {
      if (killed.contains(rank.number) || rank.state == State.GONE) {
        continue;
      }
      checkedBooks = true;
      Books books = Books.of(rank.engine);
      if (!books.hold(rank.open())) {
        fail(
            "rank " + rank.number + " is done with " + rank.open() + " groups, and holds " + books);
      }
    }
  }

  @Override
  int step(int rank) {
    Rank at = ranks.get(rank);
    if (killed.contains(rank) || at.state == State.GONE || now < at.stalledUntil) {
      return 0;
    }
    return at.step();
  }

  @Override
  int state(int rank) {
    return ranks.get(rank).state.ordinal() * 100 + ranks.get(rank).next;
  }

  @Override
  long nextArrival() {
    return network.nextArrival();
  }

  Rank rank(int number) {
    return ranks.get(number);
  }

  @Override
  void check() {
    for (Rank rank : ranks) {
      for (Operation.Made made : rank.returned) {
        if (!made.in.isAsFilled() || !made.out.isAsFilled()) {
          fail(
              "somebody wrote to memory of "
                  + made.operation()
                  + " that rank "
                  + rank.number
                  + "'s user had got back");
        }
      }
    }
    boolean harmless = suspects.isEmpty();
    for (Rank rank : ranks) {
      if (harmless && rank.error != null) {
        fail("an error without a fault: " + rank.error);
      }
    }
    if (fault == Fault.DESERTS) {
      checkWhoNeedsTheDeserter();
    }
    if (protocolErrors != null) {
      protocolErrors.check();
    }
    if (stay && harmless && !checkedBooks) {
      fail("nobody has looked into the books");
    }
  }

  /**
   * Checks that a rank that has nothing to do with a rank that left, nor with others that left for
   * that, ends well.
   */
  private void checkWhoNeedsTheDeserter() {
    Set<Integer> touched = new TreeSet<>(suspects);
    boolean more = true;
    while (more) {
      more = false;
      for (Step step : script.steps) {
        for (int rank : step.team().ranks) {
          boolean isTouched = touched.contains(rank) && step.kind() == Script.Kind.CALL;
          for (int mate : isTouched ? step.team().ranks : new int[0]) {
            more |= touched.add(mate);
          }
        }
      }
    }
    for (Rank rank : ranks) {
      if (rank.error != null && !touched.contains(rank.number)) {
        fail("rank " + rank.number + " needs nobody who left, but got " + rank.error);
      }
    }
  }

  /** Judges whether an error may be, given what was done. */
  private void judge(Rank rank, Group group, CollectiveException error) {
    boolean fits;
    if (error instanceof ProtocolException || error instanceof MismatchException) {
      fits =
          protocolErrors != null
              && (rank.number == victim || protocolErrors.isNamedBy(error))
              && protocolErrors.hasStruck();
    } else if (error instanceof CallTimeoutException late) {
      // Who was stopped again and again is late, too.
      fits = fault == Fault.SEVERAL && suspects.contains(late.worldRank());
    } else {
      // A rank may have left after an error in another group.
      int culprit = culprit(error);
      fits = suspects.contains(culprit) || leavers.contains(culprit);
    }
    if (!suspects.contains(rank.number) && severed < 2) {
      String reason = error.getClass().getSimpleName() + " of rank " + culprit(error);
      String first = reasons.putIfAbsent(group.id, reason);
      if (first != null && !first.equals(reason)) {
        fail("rank " + rank.number + " got " + error + ", others of " + group + " a " + first);
      }
    }
    if (!fits) {
      fail(
          "rank "
              + rank.number
              + " got "
              + error
              + ", suspects are "
              + suspects
              + ", who has left is "
              + leavers);
    }
  }

  @Override
  String kind() {
    boolean struck =
        switch (fault) {
          case KILL_LESSEE -> !killed.isEmpty();
          case PROTOCOL_ERROR -> protocolErrors != null && protocolErrors.hasStruck();
          default -> strikes > 0;
        };
    return "scripted, " + fault + (struck ? " strikes" : "");
  }

  @Override
  String describe() {
    StringBuilder text = new StringBuilder();
    text.append(size)
        .append(" ranks, ")
        .append(carrier)
        .append(", ")
        .append(depth)
        .append(" at once, frames of ")
        .append(frameLength)
        .append(", ")
        .append(slabsInFlight)
        .append(" slabs in flight, ")
        .append(stay ? "all stay" : "who is done leaves")
        .append(", victim ")
        .append(victim)
        .append(", other ")
        .append(other)
        .append(" after step ")
        .append(strikesAt)
        .append(protocolErrors == null ? "" : ", " + protocolErrors)
        .append(", at ")
        .append(now / MILLI)
        .append(" ms\n");
    for (int i = 0; i < script.steps.size(); i++) {
      text.append("  ").append(i).append(": ").append(script.steps.get(i)).append('\n');
    }
    for (Rank rank : ranks) {
      text.append("rank ")
          .append(rank.number)
          .append(killed.contains(rank.number) ? " killed " : " ")
          .append(rank.state)
          .append(" next ")
          .append(rank.next)
          .append(", under way ")
          .append(rank.made.stream().map(made -> made.call.toString()).toList())
          .append(rank.error == null ? "" : ", " + rank.error)
          .append('\n');
    }
    return text.append("warnings ").append(warnings).toString();
  }

  /** The process of one rank. */
  final class Rank {
    final int number;
    final Engine engine;
    final Group[] groups = new Group[script.teams.size()];
    State state = State.RUNNING;
    @Nullable CollectiveException error;
    long stalledUntil;
    boolean deserts;

    /** The next step. */
    int next;

    /** The number of steps it has begun that are its own or others'. */
    int begun;

    private final Deque<Operation.Made> made = new ArrayDeque<>();

    /** Calls whose memory belongs to the user again. */
    private final List<Operation.Made> returned = new ArrayList<>();

    private long pausedUntil;
    private long lateness;
    private boolean hasPaused;
    private long leavesUntil;

    Rank(int number) {
      this.number = number;
      long held = Engine.heldLimit(size, frameLength, slabsInFlight);
      engine =
          new Engine(
              network.transport(number),
              clock(number),
              held,
              SILENCE,
              ScriptedSimulation.this.warnings::add);
      engine.inlineChannels().leaveInSlots(Math.max(1, frameLength / 2));
      groups[0] = script.teams.get(0).group(number);
      engine.add(groups[0]);
    }

    boolean isQuiet() {
      return state == State.WAITING && !engine.hasNews() && now >= stalledUntil
          || state == State.GONE
          || killed.contains(number);
    }

    /** Returns how many groups it has made and not closed. */
    int open() {
      int open = 0;
      for (Group group : groups) {
        open += group == null ? 0 : 1;
      }
      return open;
    }

    /** Returns whether it is still to begin a call in one of its groups. */
    boolean isToCallIn(Group group) {
      for (int i = next; i < script.steps.size(); i++) {
        Step step = script.steps.get(i);
        if (step.kind() == Script.Kind.CALL && groups[step.team().number] == group) {
          return state == State.RUNNING;
        }
      }
      return false;
    }

    /** Returns one of its calls in a group that is under way, nothing if there is none. */
    @Nullable Call callUnderWay(Group group) {
      for (Operation.Made call : made) {
        if (call.call.group == group && !call.call.isDone() && group.waiting.isEmpty()) {
          return call.call;
        }
      }
      return null;
    }

    private int poll() {
      try {
        return engine.poll();
      } catch (RuntimeException | Error e) {
        AssertionError failure = new AssertionError("rank " + number + " threw " + e, e);
        try {
          fail("rank " + number + " threw " + e);
        } catch (AssertionError more) {
          failure.addSuppressed(more);
        }
        throw failure;
      }
    }

    int step() {
      int work = poll();
      if (killed.contains(number)) {
        return work; // It has died of what it did.
      }
      switch (state) {
        case RUNNING -> work += end() + begin();
        case WAITING -> {
          if (quiet || !stay || groups[0].broken != null) {
            leave();
            work++;
          }
        }
        case LEAVING -> {
          if (!engine.hasNews() || now >= leavesUntil) {
            network.close(number);
            state = State.GONE;
            work++;
          }
        }
        case GONE -> {}
      }
      return work;
    }

    /** Takes the results of calls that have ended. */
    private int end() {
      int work = 0;
      while (state == State.RUNNING && !made.isEmpty() && made.peek().call.isDone()) {
        Operation.Made first = made.remove();
        CollectiveException why = first.call.error();
        work++;
        if (why == null) {
          String wrong = first.fault();
          if (wrong != null) {
            fail("rank " + number + ", " + first.call + ", " + first.operation() + ": " + wrong);
          }
          engine.recycle(first.call);
          giveBack(first);
        } else {
          error = why;
          tell("rank " + number + " got " + why);
          judge(this, first.call.group, why);
          giveBack(first);
          leavers.add(number);
          leave();
        }
      }
      return work;
    }

    /** The user writes over it. */
    private void giveBack(Operation.Made call) {
      call.in.fill();
      call.out.fill();
      returned.add(call);
    }

    /** Closes the job, as try-with-resources does. */
    private void leave() {
      tell("rank " + number + " closes the job");
      state = State.LEAVING;
      leavesUntil = now + NEWS_LIMIT;
      engine.close();
      made.forEach(this::giveBack);
      made.clear();
    }

    private int begin() {
      int work = 0;
      while (state == State.RUNNING && work == 0 && now >= pausedUntil) {
        if (deserts && made.isEmpty()) {
          leavers.add(number);
          leave();
          return 1;
        }
        if (next == script.steps.size()) {
          if (!made.isEmpty()) {
            return 0;
          }
          state = State.WAITING;
          return 1;
        }
        Step step = script.steps.get(next);
        if (!step.team().has(number)) {
          next++;
          begun = next;
          hasPaused = false;
          continue;
        }
        if (!hasPaused && pauses()) {
          return 0;
        }
        if (deserts || !mayBegin(step)) {
          return 0;
        }
        begin(step);
        next++;
        begun = next;
        hasPaused = false;
        work++;
      }
      return work;
    }

    private boolean pauses() {
      hasPaused = true;
      long pause = random.oneIn(6) ? random.nextLong(mostLateness) : random.nextLong(MILLI);
      pause = Math.min(pause, mostLateness - lateness);
      lateness += pause;
      pausedUntil = now + pause;
      return pause > 0;
    }

    private boolean mayBegin(Step step) {
      return switch (step.kind()) {
        case MAKE -> true;
        case CALL -> made.size() < depth;
        case CLOSE ->
            made.stream()
                .noneMatch(
                    call ->
                        Script.closedWith(step.team()).stream()
                            .anyMatch(team -> groups[team.number] == call.call.group));
      };
    }

    private void begin(Step step) {
      if (tellsStory()) {
        tell("rank " + number + ": " + step);
      }
      Team team = step.team();
      switch (step.kind()) {
        case MAKE -> {
          groups[team.number] = team.group(number);
          engine.add(groups[team.number]);
        }
        case CALL ->
            made.add(
                step.call()
                    .start(
                        engine,
                        groups[team.number],
                        programs,
                        random,
                        carrier == Carrier.LEASES_AND_SLOTS,
                        frameLength,
                        slabsInFlight,
                        TIMEOUT));
        case CLOSE -> {
          for (Team closed : Script.closedWith(team)) {
            Group group = groups[closed.number];
            if (group != null) {
              engine.leave(group);
              groups[closed.number] = null;
            }
          }
        }
      }
    }
  }
}
