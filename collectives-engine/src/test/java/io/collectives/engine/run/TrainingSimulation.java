package io.collectives.engine.run;

import io.collectives.AbortedException;
import io.collectives.CallTimeoutException;
import io.collectives.Collective;
import io.collectives.CollectiveException;
import io.collectives.ElementType;
import io.collectives.MismatchException;
import io.collectives.Payload;
import io.collectives.ProtocolException;
import io.collectives.RankFailedException;
import io.collectives.RankFailedException.Verdict;
import io.collectives.ReduceOp;
import io.collectives.engine.memory.ArrayMemory;
import io.collectives.engine.memory.Memories;
import io.collectives.engine.memory.Memory;
import io.collectives.engine.run.SimulatedNetwork.Carrier;
import io.collectives.internal.CallFingerprint;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A seeded run of a small job on a simulated network and clock, with a fault at a random moment.
 *
 * <p>Each rank wants the sums of a few payloads, several under way at once; when a call fails it
 * shrinks the group and makes its calls again from where the survivors agreed to go on; after the
 * last it waits in a barrier. In the end: no live rank waits; what every survivor holds are exact
 * sums over one and the same set of ranks for each payload; inputs are as they were; the groups are
 * the same everywhere; nobody is left out who did nothing wrong; and the errors on the way name the
 * culprit.
 *
 * <p>With late joiners the job has two runs, as with {@code grow}: who is left meets the process
 * that takes the victim's place, and all sum other payloads of the same shape in calls of the same
 * numbers, while the first run still ends.
 */
final class TrainingSimulation extends Simulation {
  private static final long JOIN_TIMEOUT = 10 * SECOND;

  /** The value that a user writes into memory that it has got back. */
  private static final int MINE = 0x5a5a5a5a;

  private static final int MOST_KEPT = 64;

  /** A fault that is planted. */
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
    /**
     * A split that ends, before or after the ranks of one side have given up those of the other.
     */
    PARTITION_THAT_HEALS,
    /** Two or three of kill, cut, stop, silence, abort, interrupt and leave. */
    SEVERAL,
    LATE,
    MISMATCH,
    THROWING_OP,
    INTERRUPT,
    ABORT,
    LEAVE,
    GARBAGE,
    /** A rank dies in the first run or the second, or nobody does; a process takes its place. */
    LATE_JOINER,
    /** A rank dies likewise, and frames of the first run are sent into the second. */
    WRONG_EPOCH,
    /** The victim sends a frame that is of no call or group of the receiver. */
    WRONG_TOKEN
  }

  /** The ways in which a frame may be wrong. */
  private enum Token {
    UNKNOWN_GROUP,
    UNKNOWN_GROUP_WAITS,
    UNKNOWN_GROUP_FAILED,
    UNKNOWN_GROUP_ECHO,
    CALL_THAT_HAS_ENDED,
    ANOTHER_CALL
  }

  final Fault fault;
  private final int payloads;
  private final int count;
  private final int depth;
  private final int algorithm;
  private final long timeout;
  private final long delay;
  private final Carrier carrier;
  private final SimulatedNetwork network;
  private final List<Rank> ranks = new ArrayList<>();
  private final Join join = new Join();

  /** The network of the second run, when that has begun. */
  private @Nullable SimulatedNetwork second;

  /** The time at which a process comes to take the victim's place; never if it is not needed. */
  private long joinerAt = Long.MAX_VALUE;

  /** The way in which a frame that was sent is wrong, and whether that is to break a group. */
  private @Nullable Token sent;

  private boolean mustFail;
  private final Set<Integer> killed = new TreeSet<>();

  /** At which events the next of several faults strike. */
  private final List<Integer> pending = new ArrayList<>();

  /** The ranks that have aborted a group. */
  private final Set<Integer> aborters = new TreeSet<>();

  /**
   * Whom the first error of a group has named that a rank got which was not at fault, by its id.
   */
  private final Map<Long, Integer> named = new HashMap<>();

  /** The agreement of the survivors of a group, by its id. */
  private final Map<Long, Decision> decisions = new HashMap<>();

  /** The ranks that may be left out, and that errors may name. */
  private final Set<Integer> suspects = new TreeSet<>();

  /** The number of several faults that have ended connections of ranks that live. */
  private int severed;

  private final int victim;
  private final int other;
  private long faultEvent;
  private boolean struck;

  /**
   * The event at which the second fault strikes: 0 if that is not known yet, -1 if it has struck.
   */
  private int secondEvent;

  static TrainingSimulation of(String name, Dice random, SimulatedPrograms programs) {
    Fault fault = Fault.values()[random.nextInt(Fault.values().length)];
    int size = fault == Fault.NONE ? 1 + random.nextInt(6) : 2 + random.nextInt(5);
    return new TrainingSimulation(name, random, fault, size, random.nextInt(600), -1, programs);
  }

  /** A run in which a rank dies at a given event. */
  static TrainingSimulation ofKill(
      long seed, int size, int victim, int event, SimulatedPrograms programs) {
    return new TrainingSimulation(
        "seed " + seed + ", " + size + " ranks, rank " + victim + " dies at event " + event,
        new Dice(seed),
        Fault.KILL,
        size,
        event,
        victim,
        programs);
  }

  private TrainingSimulation(
      String name,
      Dice random,
      Fault fault,
      int size,
      int faultEvent,
      int victim,
      SimulatedPrograms programs) {
    super(name, random, size, programs);
    this.fault = fault;
    this.faultEvent = faultEvent;
    this.payloads = 1 + random.nextInt(6);
    this.count = random.nextInt(120);
    this.depth = 1 + random.nextInt(3);
    this.algorithm = random.nextInt(SimulatedPrograms.ALGORITHMS);
    // Longer than the limit of silence, so that a rank that lives but is cut off is found first.
    this.timeout = fault == Fault.LATE ? 4 * SECOND : 20 * SECOND;
    this.victim = victim >= 0 ? victim : random.nextInt(size);
    this.other = (this.victim + 1 + random.nextInt(Math.max(1, size - 1))) % size;
    long delay = fault == Fault.SLOW_NETWORK ? 200 * MILLI : random.nextInt(3) * MILLI;
    // Memory that throws would throw at whoever reads it.
    Carrier carrier = fault == Fault.THROWING_OP ? Carrier.BYTES : random.any(Carrier.values());
    this.delay = delay;
    this.carrier = carrier;
    this.network =
        new SimulatedNetwork(
            size, () -> now, random, delay, carrier, fault == Fault.WRONG_EPOCH ? MOST_KEPT : 0);
    if (grows() && random.nextInt(4) == 0) {
      this.faultEvent = Long.MAX_VALUE; // All grow, and nobody is new.
    }
    for (int rank = 0; rank < size; rank++) {
      ranks.add(new Rank(rank));
    }
  }

  @Override
  void turn() {
    if (events() >= faultEvent && !struck) {
      struck = true;
      strike();
    }
    strikeAgain();
    strikeOneOfSeveral();
    if (grows()) {
      join.poll();
      knock();
    }
  }

  @Override
  int step(int rank) {
    return ranks.get(rank).isRunning() ? ranks.get(rank).step() : 0;
  }

  @Override
  int state(int rank) {
    return ranks.get(rank).state.ordinal();
  }

  @Override
  long nextArrival() {
    return network.nextArrival();
  }

  @Override
  String kind() {
    return "training, " + fault + (tookInAnother() ? " and another joins" : "");
  }

  /** Returns whether the job had a second run, with a late joiner in it. */
  boolean tookInAnother() {
    return second != null && ranks.get(victim).isLate && ranks.get(victim).run > 0;
  }

  @Override
  void listen() {
    network.listen(this::tell);
  }

  @Override
  boolean isOver() {
    for (Rank rank : ranks) {
      if (!killed.contains(rank.number)
          && (!rank.isAtRest() || rank.run > 0 && rank.engine.hasNews())) {
        return false;
      }
    }
    return !network.hasNews() && (second == null || !second.hasNews());
  }

  private boolean grows() {
    return fault == Fault.LATE_JOINER || fault == Fault.WRONG_EPOCH;
  }

  /** A process of the first run, or whoever got hold of its frames, comes to the second. */
  private void knock() {
    if (fault == Fault.WRONG_EPOCH && second != null && random.nextInt(8) == 0) {
      SimulatedNetwork.Sent frame = network.anySent();
      if (frame != null) {
        second.knock(network.token, frame);
      }
    }
  }

  private void strike() {
    Rank rank = ranks.get(victim);
    switch (fault) {
      case NONE, SLOW_NETWORK, MISMATCH, LATE, THROWING_OP -> {}
      case SHORT_STALL -> rank.stalledUntil = now + random.nextLong(2 * SECOND);
      case KILL, KILL_WHILE_SHRINKING, KILL_LEADER_WHILE_SHRINKING, PARTITION_WHILE_SHRINKING ->
          kill(victim);
      case LATE_JOINER, WRONG_EPOCH -> {
        kill(victim);
        joinerAt = now + random.nextLong(2 * SILENCE);
      }
      case WRONG_TOKEN -> {
        if (other != victim) {
          sendWrongToken();
        }
      }
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
      case PARTITION_THAT_HEALS -> holdUp();
      case SEVERAL -> {
        for (int i = 2 + random.nextInt(2); i > 0; i--) {
          pending.add(events() + (random.nextBoolean() ? 0 : random.nextInt(800)));
        }
      }
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

  private void sendWrongToken() {
    Rank receiver = ranks.get(other);
    Group group = receiver.group;
    Token token = Token.values()[random.nextInt(Token.values().length)];
    FrameHeader header = new FrameHeader();
    header.group = random.nextLong();
    header.sequence = Math.max(0, group.nextSequence() - 1);
    header.chunkCount = 1;
    CallFingerprint.begin(header.call, Collective.ALL_REDUCE, ReduceOp.SUM, ElementType.INT32);
    CallFingerprint.size(header.call, count + 1, 1);
    long[] name = CallFingerprint.words(SimulatedPrograms.algorithm(algorithm, size).name());
    CallFingerprint.plan(header.call, name, 0, 0);
    byte[] body = new byte[0];
    boolean callsAgain = receiver.next <= payloads;
    switch (token) {
      case UNKNOWN_GROUP -> {
        header.length = 8;
        body = new byte[8];
      }
      case UNKNOWN_GROUP_WAITS -> {
        header.kind = FrameHeader.Kind.WAITING;
        header.chunkCount = 0;
      }
      case UNKNOWN_GROUP_FAILED -> {
        long unknown = header.group;
        header.clear();
        header.group = unknown;
        header.kind = FrameHeader.Kind.FAILURE;
        FrameBody notice = new Failure(Failure.Kind.ABORTED, victim, victim, "elsewhere").body();
        FrameBytes bytes = new FrameBytes(ByteBuffer.allocate(notice.length() + 7 & ~7));
        notice.store(bytes, 0);
        header.length = notice.length();
        body = bytes.bytes().array();
      }
      case UNKNOWN_GROUP_ECHO -> {
        header.kind = FrameHeader.Kind.ECHO;
        header.chunkCount = 0;
        suspects.add(victim); // Whoever says this is given up.
      }
      case CALL_THAT_HAS_ENDED -> {
        header.group = group.id;
        header.sequence = group.completed() - 1;
        if (header.sequence < 0) {
          return;
        }
        mustFail = true;
      }
      case ANOTHER_CALL -> {
        header.group = group.id;
        header.sequence = group.nextSequence();
        // The count is another one already; mostly something else is, too.
        header.call[2 + random.nextInt(CallFingerprint.WORDS - 2)] ^= 1L << random.nextInt(64);
        mustFail = callsAgain;
      }
    }
    sent = token;
    network.inject(victim, other, header, body);
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

  /** For a while nothing passes between the ranks of two sides; then all does. */
  private void holdUp() {
    int sides = 1 << victim | random.nextInt(1 << size);
    long until = now + random.nextLong(3 * SILENCE);
    for (int a = 0; a < size; a++) {
      suspects.add(a);
      for (int b = 0; b < size; b++) {
        if ((sides >> a & 1) != (sides >> b & 1)) {
          network.holdUp(a, b, until);
        }
      }
    }
  }

  /** Lets one of several faults strike, if the time of one has come. */
  private void strikeOneOfSeveral() {
    if (!pending.removeIf(event -> events() >= event)) {
      return;
    }
    int who = random.nextInt(size);
    int with = (who + 1 + random.nextInt(size - 1)) % size;
    Rank rank = ranks.get(who);
    if (killed.contains(who) || rank.state == State.OUT) {
      return;
    }
    int kind = random.nextInt(8);
    tell("fault " + kind + " at rank " + who + ", other " + with);
    switch (kind) {
      case 0, 1 -> kill(who);
      case 2 -> {
        suspects.add(Math.max(who, with));
        severed++;
        network.cut(who, with);
      }
      case 3 -> {
        suspects.add(who);
        rank.stalledUntil = now + 2 * SILENCE + random.nextLong(10 * SECOND);
      }
      case 4 -> {
        suspects.add(who);
        suspects.add(with);
        severed++;
        network.silence(who, with);
      }
      case 5 -> {
        aborters.add(who);
        rank.engine.abort(rank.group, "planted");
      }
      case 6 -> {
        aborters.add(who);
        suspects.add(who);
        rank.interrupt();
      }
      default -> {
        suspects.add(who);
        rank.leave();
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
      secondEvent = events() + random.nextInt(400);
    } else if (secondEvent > 0 && events() >= secondEvent && !live.isEmpty()) {
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
    if (second != null) {
      second.kill(rank, random.nextBoolean());
    }
  }

  @Override
  void check() {
    int left = size - killed.size();
    for (Rank rank : ranks) {
      for (int i = 0; i < payloads && rank.run > 0; i++) {
        if (!Arrays.equals(rank.inputs[i], input(rank.number, i, rank.run))) {
          fail("an input of rank " + rank.number + " has changed");
        }
      }
      if (killed.contains(rank.number) || rank.state == State.OUT) {
        left -= rank.state == State.OUT && !killed.contains(rank.number) ? 1 : 0;
        if (!suspects.contains(rank.number) && !rank.isInSmallerPart()) {
          fail(
              "rank " + rank.number + " is out, though nothing was wrong with it: " + rank.outcome);
        }
        continue;
      }
      for (Rank peer : ranks) {
        boolean both = !killed.contains(peer.number) && peer.state == State.DONE;
        if (both && peer.run != rank.run) {
          fail("ranks " + rank.number + " and " + peer.number + " are in different runs");
        }
        // Who was done before it was cut off cannot know that others were not.
        both &=
            fault != Fault.CUT
                    && fault != Fault.PARTITION
                    && fault != Fault.PARTITION_WHILE_SHRINKING
                    && fault != Fault.PARTITION_THAT_HEALS
                    && fault != Fault.SEVERAL
                || rank.generation > 1 && peer.generation == rank.generation;
        if (both && !Arrays.equals(peer.group.members, rank.group.members)) {
          fail("ranks " + rank.number + " and " + peer.number + " are in different groups");
        }
        if (both && !Arrays.deepEquals(peer.outputs, rank.outputs)) {
          fail("ranks " + rank.number + " and " + peer.number + " have different results");
        }
      }
      for (int member = 0; member < size; member++) {
        if (rank.group.rankOf(member) < 0
            && !suspects.contains(member)
            && !ranks.get(member).isInSmallerPart()) {
          fail("rank " + member + " was left out, though nothing was wrong with it");
        }
      }
    }
    boolean harmless =
        fault == Fault.NONE
            || fault == Fault.SLOW_NETWORK
            || fault == Fault.SHORT_STALL
            || fault == Fault.WRONG_TOKEN && !mustFail && sent != Token.UNKNOWN_GROUP_ECHO
            || grows() && killed.isEmpty() && suspects.isEmpty();
    if (mustFail && ranks.get(other).generation == 1 && ranks.get(other).state != State.OUT) {
      fail("a wrong frame was not noticed: " + sent);
    }
    if (grows() && suspects.isEmpty() && second == null) {
      fail("nobody died, and they did not meet again");
    }
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
        && fault != Fault.PARTITION_THAT_HEALS
        && fault != Fault.SEVERAL
        && size > 2) {
      fail("nobody is left");
    }
  }

  /** Judges whether an error may be, given what was done. */
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
          (suspects.contains(lost.worldRank()) || ranks.get(lost.worldRank()).isInSmallerPart())
              && (lost.verdict() == expected
                  || fault == Fault.SEVERAL
                  || fault == Fault.PARTITION_THAT_HEALS
                  || ranks.get(lost.worldRank()).state == State.OUT);
    } else if (error instanceof AbortedException aborted) {
      // Who shrinks aborts for those who have not heard yet of what it has heard.
      fits =
          fault == Fault.INTERRUPT || fault == Fault.ABORT || fault == Fault.THROWING_OP
              ? aborted.worldRank() == victim
              : aborters.contains(aborted.worldRank());
    } else if (error instanceof CallTimeoutException late) {
      fits =
          fault == Fault.LATE && late.worldRank() == victim
              || fault == Fault.SEVERAL && suspects.contains(late.worldRank());
    } else if (error instanceof MismatchException) {
      fits =
          fault == Fault.MISMATCH
              || fault == Fault.GARBAGE
              || (sent == Token.CALL_THAT_HAS_ENDED || sent == Token.ANOTHER_CALL)
                  && names(error, victim, other);
    } else if (error instanceof ProtocolException) {
      fits = fault == Fault.GARBAGE || sent == Token.UNKNOWN_GROUP_ECHO;
    } else {
      fits = false;
    }
    if (!fits) {
      fail("rank " + rank.number + " got " + error + ", suspects are " + suspects);
    }
    if (!suspects.contains(rank.number) && culprit(error) >= 0 && severed < 2) {
      Integer first = named.putIfAbsent(rank.group.id ^ rank.run, culprit(error));
      if (first != null && first != culprit(error)) {
        fail("rank " + rank.number + " got " + error + ", though another names rank " + first);
      }
    }
  }

  private static boolean names(CollectiveException error, int... culprits) {
    return IntStream.of(culprits)
        .allMatch(rank -> String.valueOf(error.getMessage()).contains("rank " + rank));
  }

  private int[] input(int rank, int payload, int run) {
    int[] values = new int[count];
    int factor = 1_000_003 * (payload + 1 + 100 * run);
    Arrays.setAll(values, i -> (rank + 1) * factor + i * (rank + 7));
    return values;
  }

  private int[] sum(int[] members, int payload, int run) {
    int[] sum = new int[count];
    for (int member : members) {
      int[] values = input(member, payload, run);
      for (int i = 0; i < count; i++) {
        sum[i] += values[i];
      }
    }
    return sum;
  }

  /** All contributions meet, of algorithms that can, in every second run, or nobody waits. */
  private AddOrder order() {
    if (count % 2 == 1
        && (algorithm == SimulatedPrograms.DIRECT || algorithm == SimulatedPrograms.EXCHANGE)) {
      return AddOrder.OF_RANKS;
    }
    return count % 4 == 0 ? AddOrder.OF_ARRIVAL : AddOrder.OF_PLAN;
  }

  @Override
  String describe() {
    StringBuilder text = new StringBuilder();
    text.append(size)
        .append(" ranks, ")
        .append(payloads)
        .append(" payloads of ")
        .append(count)
        .append(", ")
        .append(depth)
        .append(" at once, ")
        .append(SimulatedPrograms.algorithm(algorithm, size))
        .append(", fault at event ")
        .append(faultEvent)
        .append(" of ")
        .append(events())
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
          .append(" in run ")
          .append(rank.run)
          .append(", ")
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
    JOINING,
    DONE,
    OUT
  }

  /** A decision that some ranks have learned. */
  private record Decision(String text, Set<Integer> by) {}

  private record Made(int payload, Call call, @Nullable ArrayMemory thrower) {}

  /** A join of the ranks of the second run: all of them or none, as far as they live. */
  private final class Join {
    private final Map<Integer, Rank> here = new TreeMap<>();
    private long since;
    private long lostSince = Long.MAX_VALUE;

    void come(Rank rank) {
      if (here.isEmpty()) {
        since = now;
        lostSince = Long.MAX_VALUE;
      }
      here.put(rank.number, rank);
      rank.learnsAt = Long.MAX_VALUE;
      rank.met = null;
    }

    void poll() {
      if (now >= joinerAt && second == null) {
        joinerAt = Long.MAX_VALUE;
        killed.remove(victim);
        Rank joiner = new Rank(victim, true);
        ranks.set(victim, joiner);
        come(joiner);
      }
      if (here.isEmpty()) {
        return;
      }
      boolean lost = here.keySet().stream().anyMatch(killed::contains);
      lostSince = lost ? Math.min(lostSince, now) : Long.MAX_VALUE;
      if (!lost && here.size() == size) {
        second = new SimulatedNetwork(size, () -> now, random, delay, carrier, 0);
        if (tellsStory()) {
          second.listen(what -> tell("in the second run " + what));
        }
        dismiss();
      } else if (now - since >= JOIN_TIMEOUT || lost && now - lostSince >= SILENCE) {
        dismiss();
      }
    }

    /** Somebody's group has broken, so that the others need it to shrink. */
    void leave(Rank rank) {
      here.remove(rank.number);
    }

    private void dismiss() {
      for (Rank rank : here.values()) {
        rank.met = second;
        rank.learnsAt = now + random.nextLong(2 * SECOND);
      }
      here.clear();
    }
  }

  /** The training loop of one rank. */
  private final class Rank {
    final int number;
    final boolean isLate;
    Engine engine;
    final int[][] inputs = new int[payloads][];
    final int[][] outputs = new int[payloads][];
    final List<String> errors = new ArrayList<>();
    final Deque<Made> made = new ArrayDeque<>();
    Group group;
    State state = State.CALLING;
    String outcome = "";

    /** Outputs from this one on belong to the user and were written over after a failure. */
    private int mineFrom = Integer.MAX_VALUE;

    /** The payload of the present group's first call. */
    int base;

    /** The next payload to sum; the barrier comes after the last. */
    int next;

    long stalledUntil;
    private long mayCallAt;
    private boolean hasDeviated;
    private @Nullable Agreement agreement;
    private int generation = 1;

    /** The run of the job that this rank is in, from 1; 2 is the one with late joiners. */
    private int run;

    /**
     * The time at which it hears how the join ended, and then the network of the new run, if they
     * met.
     */
    private long learnsAt;

    private @Nullable SimulatedNetwork met;

    Rank(int number) {
      this(number, false);
    }

    Rank(int number, boolean isLate) {
      this.number = number;
      this.isLate = isLate;
      group = Group.world(size, number);
      if (isLate) {
        state = State.JOINING;
      } else {
        begin(network);
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

    /** Begins a run of the job. */
    private void begin(SimulatedNetwork transports) {
      run = transports == network ? 1 : 2;
      engine =
          new Engine(
              transports.transport(number),
              clock(number),
              1 << 20,
              SILENCE,
              TrainingSimulation.this.warnings::add);
      engine.inlineChannels().leaveInSlots(Long.BYTES);
      group = Group.world(size, number);
      engine.add(group);
      for (int i = 0; i < payloads; i++) {
        inputs[i] = input(number, i, run);
        outputs[i] = new int[count];
      }
      base = 0;
      next = 0;
      mineFrom = Integer.MAX_VALUE;
      state = State.CALLING;
    }

    /** The number of the last thing to do in this run: the barrier, or before growing another. */
    private int last() {
      return grows() && run == 1 ? payloads + 1 : payloads;
    }

    boolean isRunning() {
      return !killed.contains(number) && now >= stalledUntil;
    }

    /**
     * Returns whether it had to stop as several faults have left it with too few others, or with
     * one that does not hear all of them.
     */
    boolean isInSmallerPart() {
      return fault == Fault.SEVERAL
          && state == State.OUT
          && (outcome.contains("smaller part")
              || severed > 0 && outcome.contains("was given up by the others"));
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
      int work = run == 0 ? 0 : engine.poll();
      switch (state) {
        case CALLING -> work += call();
        case SHRINKING -> work += shrink();
        case JOINING -> work += meet();
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
            Arrays.fill(outputs[i], MINE);
          }
          mineFrom = Math.min(mineFrom, first.payload);
          made.clear();
          beginToShrink();
          return work;
        }
        engine.recycle(first.call);
        if (first.payload > payloads) {
          state = State.JOINING;
          join.come(this);
          return work;
        }
        if (first.payload == payloads) {
          state = last() == payloads ? State.DONE : State.CALLING;
          return work;
        }
        if (!Arrays.equals(outputs[first.payload], sum(group.members, first.payload, run))) {
          fail("rank " + number + " got a wrong sum of payload " + first.payload);
        }
      }
      if (next <= last() && made.size() < depth && now >= mayCallAt && random.nextInt(2) == 0) {
        made.add(submit(next));
        next++;
        work++;
      }
      return work;
    }

    /** Goes over to the new run when it has met, or stays in this one. */
    private int meet() {
      if (run > 0 && met == null && group.broken != null) {
        join.leave(this);
        beginToShrink();
        return 1;
      }
      if (now < learnsAt) {
        return 0;
      }
      if (met != null) {
        if (run > 0) {
          engine.close();
          network.close(number);
          generation++;
        }
        begin(met);
      } else if (run > 0) {
        state = State.DONE;
      } else {
        state = State.OUT;
        outcome = "met nobody";
      }
      return 1;
    }

    private Made submit(int payload) {
      if (payload >= payloads) {
        Memory nothing = Memories.of(Payload.of(new float[0]));
        Program barrier = program(Collective.BARRIER);
        Call call =
            Bench.submit(engine, group, barrier, nothing, nothing, ReduceOp.SUM, 64, 2, timeout);
        return new Made(payload, call, null);
      }
      if (payload >= mineFrom) {
        for (int value : outputs[payload]) {
          if (value != MINE) {
            fail("somebody wrote to memory that rank " + number + "'s user had got back");
          }
        }
        mineFrom = payload + 1;
      }
      Memory in = Memories.of(Payload.of(inputs[payload]));
      boolean deviate = number == victim && !hasDeviated && payload == payloads / 2;
      if (fault == Fault.MISMATCH && deviate) {
        hasDeviated = true;
        in = Memories.of(Payload.of(new int[count + 1]));
        Memory out = Memories.of(Payload.of(new int[count + 1]));
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
      Program program = program(Collective.ALL_REDUCE);
      return Bench.submit(engine, group, program, in, out, ReduceOp.SUM, 128, 2, timeout);
    }

    private Program program(Collective collective) {
      AddOrder order = collective == Collective.ALL_REDUCE ? order() : AddOrder.OF_PLAN;
      return programs.of(algorithm, collective, group.size(), group.rank(), 0, order);
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
      Decision known = decisions.get(group.id ^ run);
      // Who was stopped while others decided may decide for itself when all of these have died.
      if (known == null || fault == Fault.SEVERAL && killed.containsAll(known.by)) {
        known = new Decision(decision, new TreeSet<>());
        decisions.put(group.id ^ run, known);
      }
      if (!known.text.equals(decision)) {
        fail("the survivors of " + group + " decided " + known + " and " + decision);
      }
      known.by.add(number);
      int[] members = IntStream.of(survivors).map(member -> group.members[member]).toArray();
      int own = Arrays.binarySearch(survivors, group.rank());
      base += (int) present.resumeAt();
      next = base;
      generation++;
      Group old = group;
      InlineChannel channel = old.inlineChannel();
      group =
          new Group(
              old.id * 31 + Arrays.hashCode(members),
              members,
              own,
              channel == null ? null : channel.ofSurvivors(present.resumeAt()));
      engine.add(group, old);
      state = next > last() ? State.DONE : State.CALLING;
      return 1;
    }
  }
}
