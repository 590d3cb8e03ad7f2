package io.collectives.engine.run;

import io.collectives.AbortedException;
import io.collectives.Algorithm;
import io.collectives.CallTimeoutException;
import io.collectives.Collective;
import io.collectives.CollectiveException;
import io.collectives.ElementType;
import io.collectives.Mesh;
import io.collectives.MismatchException;
import io.collectives.Payload;
import io.collectives.ProtocolException;
import io.collectives.RankFailedException;
import io.collectives.RankFailedException.Verdict;
import io.collectives.ReduceOp;
import io.collectives.engine.memory.ArrayMemory;
import io.collectives.engine.memory.Memory;
import io.collectives.spi.FrameHeader;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * One seeded run of a small job on a simulated network and clock, with a fault at a random moment.
 *
 * <p>Each rank wants the sums of a few payloads, several under way at once; when a call fails it
 * shrinks the group and makes its calls again from where the survivors agreed to go on; after the
 * last it waits in a barrier. In the end: no live rank waits; what every survivor holds are exact
 * sums over one and the same set of ranks for each payload; inputs are as they were; the groups are
 * the same everywhere; nobody is left out who did nothing wrong; and the errors on the way name the
 * culprit.
 */
final class Simulation {
  private static final long MILLI = 1_000_000L;
  private static final long SECOND = 1_000 * MILLI;
  private static final long SILENCE = 5 * SECOND;
  private static final long LONGEST = 300 * SECOND;
  private static final int LONGEST_EVENTS = 3_000_000;

  /** What goes wrong. */
  enum Fault {
    NONE,
    SLOW_NETWORK,
    SHORT_STALL,
    KILL,
    KILL_TWO,
    KILL_WHILE_SHRINKING,
    KILL_LEADER_WHILE_SHRINKING,
    LONG_STALL,
    HALF_OPEN,
    CUT,
    PARTITION,
    PARTITION_WHILE_SHRINKING,
    LATE,
    MISMATCH,
    THROWING_OP,
    INTERRUPT,
    ABORT,
    LEAVE,
    GARBAGE
  }

  final Fault fault;
  private final String name;
  private final Random random;
  private final int size;
  private final int payloads;
  private final int count;
  private final int depth;
  private final int algorithm;
  private final long timeout;
  private final SimulatedNetwork network;
  private final List<Rank> ranks = new ArrayList<>();
  private final List<String> warnings = new ArrayList<>();
  private final Set<Integer> killed = new TreeSet<>();

  /** What the survivors of a group have agreed on, by its id. */
  private final Map<Long, String> decisions = new HashMap<>();

  /** Who may be left out, and whom errors may name. */
  private final Set<Integer> suspects = new TreeSet<>();

  private final int victim;
  private final int other;
  private long faultEvent;
  private boolean struck;

  /** When the second fault strikes: 0 if that is not known yet, -1 if it has struck. */
  private int secondEvent;

  private long now = 1;
  private int events;
  private long trace = 17;

  /** The run of a seed, which decides everything. */
  static Simulation of(long seed) {
    Random random = new Random(seed);
    Fault fault = Fault.values()[random.nextInt(Fault.values().length)];
    int size = fault == Fault.NONE ? 1 + random.nextInt(6) : 2 + random.nextInt(5);
    return new Simulation("seed " + seed, random, fault, size, random.nextInt(600), -1);
  }

  /** A run in which a rank dies at a given event. */
  static Simulation ofKill(long seed, int size, int victim, int event) {
    return new Simulation(
        "seed " + seed + ", " + size + " ranks, rank " + victim + " dies at event " + event,
        new Random(seed),
        Fault.KILL,
        size,
        event,
        victim);
  }

  private Simulation(
      String name, Random random, Fault fault, int size, int faultEvent, int victim) {
    this.name = name + " (" + fault + ")";
    this.random = random;
    this.fault = fault;
    this.size = size;
    this.faultEvent = faultEvent;
    this.payloads = 1 + random.nextInt(6);
    this.count = random.nextInt(120);
    this.depth = 1 + random.nextInt(3);
    this.algorithm = random.nextInt(5);
    // Longer than the limit of silence, so that a rank that lives but is cut off is found first.
    this.timeout = fault == Fault.LATE ? 4 * SECOND : 20 * SECOND;
    this.victim = victim >= 0 ? victim : random.nextInt(size);
    this.other = (this.victim + 1 + random.nextInt(Math.max(1, size - 1))) % size;
    long delay = fault == Fault.SLOW_NETWORK ? 200 * MILLI : random.nextInt(3) * MILLI;
    // Memory that throws would throw at whoever reads it.
    boolean views = random.nextInt(3) == 0 && fault != Fault.THROWING_OP;
    this.network = new SimulatedNetwork(size, () -> now, random, delay, views);
    for (int rank = 0; rank < size; rank++) {
      ranks.add(new Rank(rank));
    }
  }

  /** Runs to the end, checks everything, and returns a number that stands for all that happened. */
  long run() {
    int idle = 0;
    while (!isOver()) {
      if (events++ > LONGEST_EVENTS || now > LONGEST) {
        throw new AssertionError(name + ": a hang at " + now / MILLI + " ms\n" + this);
      }
      if (events >= faultEvent && !struck) {
        struck = true;
        strike();
      }
      strikeAgain();
      Rank rank = ranks.get(random.nextInt(size));
      now += random.nextInt(20_000);
      int work = rank.isRunning() ? rank.step() : 0;
      note(rank.number, work, rank.state.ordinal());
      idle = work > 0 ? 0 : idle + 1;
      if (idle > 4 * size) {
        idle = 0;
        long next = network.nextArrival();
        now =
            next == Long.MAX_VALUE
                ? now + 100 * MILLI
                : Math.max(now, Math.min(next, now + 100 * MILLI));
      }
    }
    check();
    return trace;
  }

  private void note(long a, long b, long c) {
    trace = ((trace * 31 + a) * 31 + b) * 31 + c;
    trace = trace * 31 + now;
  }

  int events() {
    return events;
  }

  private boolean isOver() {
    for (Rank rank : ranks) {
      if (!killed.contains(rank.number) && !rank.isAtRest()) {
        return false;
      }
    }
    return !network.hasNews();
  }

  private void strike() {
    Rank rank = ranks.get(victim);
    switch (fault) {
      case NONE, SLOW_NETWORK, MISMATCH, LATE, THROWING_OP -> {}
      case SHORT_STALL -> rank.stalledUntil = now + random.nextLong(2 * SECOND);
      case KILL, KILL_WHILE_SHRINKING, KILL_LEADER_WHILE_SHRINKING, PARTITION_WHILE_SHRINKING ->
          kill(victim);
      case KILL_TWO -> {
        kill(victim);
        if (other != victim) {
          kill(other);
        }
      }
      case LONG_STALL -> {
        suspects.add(victim);
        if (size == 2) {
          suspects.add(
              other); // Alone with the doubt whether the victim lives, it may have to stop.
        }
        rank.stalledUntil = now + 2 * SILENCE + random.nextLong(10 * SECOND);
      }
      case HALF_OPEN -> {
        suspects.add(victim);
        suspects.add(other);
        network.silence(victim, other);
      }
      case CUT -> {
        if (other != victim) {
          suspects.add(Math.max(victim, other));
          network.cut(victim, other);
        }
      }
      case PARTITION -> split();
      case INTERRUPT -> rank.interrupt();
      case ABORT -> rank.engine.abort(rank.group, "planted");
      case LEAVE -> {
        suspects.add(victim);
        rank.leave();
      }
      case GARBAGE -> {
        FrameHeader header = new FrameHeader();
        header.group = rank.group.id;
        header.sequence = rank.group.nextSequence();
        header.round = 77;
        header.length = 8;
        network.inject(victim, other, header, new byte[8]);
      }
    }
  }

  /** From now on the ranks of two sides hear nothing of each other. */
  private void split() {
    int sides = 1 << victim | random.nextInt(1 << size);
    for (int a = 0; a < size; a++) {
      suspects.add(a);
      for (int b = 0; b < size; b++) {
        if ((sides >> a & 1) != (sides >> b & 1)) {
          network.silence(a, b);
        }
      }
    }
  }

  /** A second fault, a random moment after the survivors of the first have begun to agree. */
  private void strikeAgain() {
    boolean split = fault == Fault.PARTITION_WHILE_SHRINKING;
    boolean leader = fault == Fault.KILL_LEADER_WHILE_SHRINKING;
    if (secondEvent < 0 || !leader && !split && fault != Fault.KILL_WHILE_SHRINKING) {
      return;
    }
    List<Rank> live = ranks.stream().filter(rank -> !killed.contains(rank.number)).toList();
    if (secondEvent == 0 && live.stream().anyMatch(rank -> rank.state == State.SHRINKING)) {
      secondEvent = events + random.nextInt(400);
    } else if (secondEvent > 0 && events >= secondEvent && !live.isEmpty()) {
      secondEvent = -1;
      if (split) {
        split();
        return;
      }
      kill(live.get(leader ? 0 : random.nextInt(live.size())).number);
    }
  }

  private void kill(int rank) {
    killed.add(rank);
    suspects.add(rank);
    network.kill(rank, random.nextBoolean());
  }

  private void fail(String what) {
    throw new AssertionError(name + ": " + what + "\n" + this);
  }

  private void check() {
    int left = size - killed.size();
    for (Rank rank : ranks) {
      for (int i = 0; i < payloads; i++) {
        if (!Arrays.equals(rank.inputs[i], input(rank.number, i))) {
          fail("an input of rank " + rank.number + " has changed");
        }
      }
      if (killed.contains(rank.number) || rank.state == State.OUT) {
        left -= rank.state == State.OUT && !killed.contains(rank.number) ? 1 : 0;
        if (!suspects.contains(rank.number)) {
          fail(
              "rank " + rank.number + " is out, though nothing was wrong with it: " + rank.outcome);
        }
        continue;
      }
      for (Rank peer : ranks) {
        boolean both = !killed.contains(peer.number) && peer.state == State.DONE;
        // Who was done before it was cut off cannot know that others were not.
        both &=
            fault != Fault.CUT
                    && fault != Fault.PARTITION
                    && fault != Fault.PARTITION_WHILE_SHRINKING
                || rank.generation > 1 && peer.generation == rank.generation;
        if (both && !Arrays.equals(peer.group.members, rank.group.members)) {
          fail("ranks " + rank.number + " and " + peer.number + " are in different groups");
        }
        if (both && !Arrays.deepEquals(peer.outputs, rank.outputs)) {
          fail("ranks " + rank.number + " and " + peer.number + " have different results");
        }
      }
      for (int member = 0; member < size; member++) {
        if (rank.group.rankOf(member) < 0 && !suspects.contains(member)) {
          fail("rank " + member + " was left out, though nothing was wrong with it");
        }
      }
    }
    boolean harmless =
        fault == Fault.NONE || fault == Fault.SLOW_NETWORK || fault == Fault.SHORT_STALL;
    for (Rank rank : ranks) {
      if (harmless && !rank.errors.isEmpty()) {
        fail("an error without a fault: " + rank.errors);
      }
    }
    if (left < 1
        && killed.size() < size
        && fault != Fault.HALF_OPEN
        && fault != Fault.PARTITION
        && fault != Fault.PARTITION_WHILE_SHRINKING
        && size > 2) {
      fail("nobody is left");
    }
  }

  /** What an error may be, given what was done. */
  private void judge(Rank rank, CollectiveException error) {
    boolean fits;
    if (error instanceof RankFailedException lost) {
      Verdict expected =
          fault == Fault.LONG_STALL
                  || fault == Fault.HALF_OPEN
                  || fault == Fault.PARTITION
                  || fault == Fault.PARTITION_WHILE_SHRINKING && lost.worldRank() != victim
              ? Verdict.UNRESPONSIVE
              : Verdict.DEAD;
      fits =
          suspects.contains(lost.worldRank())
              && (lost.verdict() == expected || ranks.get(lost.worldRank()).state == State.OUT);
    } else if (error instanceof AbortedException aborted) {
      // Who shrinks aborts for those who have not heard yet of what it has heard.
      fits =
          fault == Fault.INTERRUPT || fault == Fault.ABORT || fault == Fault.THROWING_OP
              ? aborted.worldRank() == victim
              : false;
    } else if (error instanceof CallTimeoutException late) {
      fits = fault == Fault.LATE && late.worldRank() == victim;
    } else if (error instanceof MismatchException) {
      fits = fault == Fault.MISMATCH || fault == Fault.GARBAGE;
    } else {
      fits = fault == Fault.GARBAGE && error instanceof ProtocolException;
    }
    if (!fits) {
      fail("rank " + rank.number + " got " + error + ", suspects are " + suspects);
    }
  }

  private static int[] input(int rank, int payload, int count) {
    int[] values = new int[count];
    Arrays.setAll(values, i -> (rank + 1) * 1_000_003 * (payload + 1) + i * (rank + 7));
    return values;
  }

  private int[] input(int rank, int payload) {
    return input(rank, payload, count);
  }

  private int[] sum(int[] members, int payload) {
    int[] sum = new int[count];
    for (int member : members) {
      int[] values = input(member, payload);
      for (int i = 0; i < count; i++) {
        sum[i] += values[i];
      }
    }
    return sum;
  }

  private Algorithm algorithm(int members) {
    return switch (algorithm) {
      case 0 -> Algorithm.ring();
      case 1 -> Algorithm.direct();
      case 2 -> Algorithm.bidirectionalRing();
      case 3 -> Algorithm.torus(Mesh.torusOf(members));
      default -> Algorithm.halvingDoubling();
    };
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    text.append(size)
        .append(" ranks, ")
        .append(payloads)
        .append(" payloads of ")
        .append(count)
        .append(", ")
        .append(depth)
        .append(" at once, ")
        .append(algorithm(size))
        .append(", fault at event ")
        .append(faultEvent)
        .append(" of ")
        .append(events)
        .append(", victim ")
        .append(victim)
        .append(", other ")
        .append(other)
        .append(", warnings ")
        .append(warnings)
        .append('\n');
    for (Rank rank : ranks) {
      text.append("rank ")
          .append(rank.number)
          .append(killed.contains(rank.number) ? " killed " : " ")
          .append(rank.state)
          .append(" next ")
          .append(rank.next)
          .append(" in ")
          .append(rank.group)
          .append(" base ")
          .append(rank.base)
          .append(' ')
          .append(rank.outcome)
          .append(' ')
          .append(rank.errors)
          .append('\n');
    }
    return text.toString();
  }

  private enum State {
    CALLING,
    SHRINKING,
    DONE,
    OUT
  }

  private record Made(int payload, Call call, @Nullable ArrayMemory thrower) {}

  /** One rank's training loop. */
  private final class Rank {
    final int number;
    final Engine engine;
    final int[][] inputs = new int[payloads][];
    final int[][] outputs = new int[payloads][];
    final List<String> errors = new ArrayList<>();
    final Deque<Made> made = new ArrayDeque<>();
    final Map<Integer, Program> programs = new HashMap<>();
    Group group;
    State state = State.CALLING;
    String outcome = "";

    /** The payload of the present group's first call. */
    int base;

    /** The next payload to sum; the barrier comes after the last. */
    int next;

    long stalledUntil;
    private long mayCallAt;
    private boolean hasDeviated;
    private @Nullable Agreement agreement;
    private int generation = 1;

    Rank(int number) {
      this.number = number;
      engine = new Engine(network.transport(number), () -> now, 1 << 20, SILENCE, warnings::add);
      group = new Group(generation, IntStream.range(0, size).toArray(), number);
      engine.add(group);
      for (int i = 0; i < payloads; i++) {
        inputs[i] = input(number, i);
        outputs[i] = new int[count];
      }
      if (fault == Fault.LATE && number == victim) {
        boolean tooLate = random.nextBoolean();
        mayCallAt = now + timeout + random.nextLong(SECOND) + (tooLate ? timeout : 0);
        if (tooLate) {
          suspects.add(victim); // The others need not wait for it when they shrink.
          if (size == 2) {
            suspects.add(1 - victim); // Alone it may have to stop.
          }
        }
      }
    }

    boolean isRunning() {
      return !killed.contains(number) && now >= stalledUntil;
    }

    boolean isAtRest() {
      return now >= stalledUntil
          && (state == State.OUT || state == State.DONE && group.broken == null);
    }

    void interrupt() {
      engine.interrupt(group, "a planted interrupt");
    }

    void leave() {
      engine.leave(group);
      state = State.OUT;
      outcome = "left";
    }

    int step() {
      int work = engine.poll();
      switch (state) {
        case CALLING -> work += call();
        case SHRINKING -> work += shrink();
        case DONE -> {
          if (group.broken != null) {
            beginToShrink();
            work++;
          }
        }
        case OUT -> {}
      }
      return work;
    }

    private int call() {
      int work = 0;
      while (!made.isEmpty() && made.peek().call.isDone()) {
        Made first = made.remove();
        CollectiveException error = first.call.error();
        work++;
        if (error != null) {
          errors.add(error.toString());
          judge(this, error);
          // A user may do what they like with what belongs to them again.
          for (int i = first.payload; i < payloads; i++) {
            Arrays.fill(outputs[i], 0x5a5a5a5a);
          }
          made.clear();
          beginToShrink();
          return work;
        }
        engine.recycle(first.call);
        if (first.payload == payloads) {
          state = State.DONE;
          return work;
        }
        if (!Arrays.equals(outputs[first.payload], sum(group.members, first.payload))) {
          fail("rank " + number + " got a wrong sum of payload " + first.payload);
        }
      }
      if (next <= payloads && made.size() < depth && now >= mayCallAt && random.nextInt(2) == 0) {
        made.add(submit(next));
        next++;
        work++;
      }
      return work;
    }

    private Made submit(int payload) {
      if (payload == payloads) {
        Memory nothing = Memory.of(Payload.of(new float[0]));
        Program barrier = program(Collective.BARRIER);
        Call call =
            engine.submit(group, barrier, nothing, nothing, ReduceOp.SUM, 64, 2, timeout, null);
        return new Made(payload, call, null);
      }
      Memory in = Memory.of(Payload.of(inputs[payload]));
      boolean deviate = number == victim && !hasDeviated && payload == payloads / 2;
      if (fault == Fault.MISMATCH && deviate) {
        hasDeviated = true;
        in = Memory.of(Payload.of(new int[count + 1]));
        Memory out = Memory.of(Payload.of(new int[count + 1]));
        return new Made(payload, submit(in, out), null);
      }
      ArrayMemory out = new ArrayMemory(ElementType.INT32);
      out.bind(outputs[payload], 0, count);
      Call call = submit(in, out);
      if (fault == Fault.THROWING_OP && deviate && count > 0 && !call.isDone()) {
        hasDeviated = true;
        out.unbind(); // From now on whatever touches it throws.
      }
      return new Made(payload, call, out);
    }

    private Call submit(Memory in, Memory out) {
      return engine.submit(
          group, program(Collective.ALL_REDUCE), in, out, ReduceOp.SUM, 128, 2, timeout, null);
    }

    private Program program(Collective collective) {
      return programs.computeIfAbsent(
          collective.ordinal() + 100 * generation,
          key -> Bench.program(algorithm(group.size()), collective, group.size(), group.rank()));
    }

    private void beginToShrink() {
      state = State.SHRINKING;
      agreement = engine.shrink(group, timeout);
    }

    private int shrink() {
      Agreement present = agreement;
      if (present == null || !present.isOver()) {
        return 0;
      }
      CollectiveException error = present.error();
      if (error != null) {
        outcome = error.toString();
        state = State.OUT;
        engine.leave(group);
        return 1;
      }
      int[] survivors = present.survivors();
      String decision = Arrays.toString(survivors) + " from " + present.resumeAt();
      String known = decisions.putIfAbsent(group.id, decision);
      if (known != null && !known.equals(decision)) {
        fail("the survivors of " + group + " decided " + known + " and " + decision);
      }
      int[] members = IntStream.of(survivors).map(member -> group.members[member]).toArray();
      int own = Arrays.binarySearch(survivors, group.rank());
      base += (int) present.resumeAt();
      next = base;
      generation++;
      Group old = group;
      group = new Group(old.id * 31 + Arrays.hashCode(members), members, own);
      engine.add(group, old);
      state = next > payloads ? State.DONE : State.CALLING;
      return 1;
    }
  }
}
