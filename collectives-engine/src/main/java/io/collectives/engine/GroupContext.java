package io.collectives.engine;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.Communicator;
import io.collectives.ElementType;
import io.collectives.Payload;
import io.collectives.engine.choice.AlgorithmTable;
import io.collectives.engine.choice.AlgorithmTable.Row;
import io.collectives.engine.choice.BufferRows;
import io.collectives.engine.choice.Chooser;
import io.collectives.engine.choice.Locality;
import io.collectives.engine.choice.Placement;
import io.collectives.engine.memory.ArrayMemory;
import io.collectives.engine.memory.Memory;
import io.collectives.engine.run.AddOrder;
import io.collectives.engine.run.Group;
import io.collectives.engine.run.InlineChannel;
import io.collectives.engine.run.Program;
import io.collectives.engine.run.ProgramCompiler;
import io.collectives.internal.CallFingerprint;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.Rounds;
import io.collectives.spi.Algorithms;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The parts that all views of a communicator share: the group, this rank's part of its plans, and
 * objects for reuse.
 */
final class GroupContext {
  private static final int PAIRWISE = -1;
  private static final long PAIR = 0x70616972L << 8;
  private static final Algorithm.Auto NOTHING_SAID = new Algorithm.Auto("", "");
  private static final Algorithm MESSAGE = Algorithm.named(CallFingerprint.MESSAGE);
  private static final Plan ONE_HOP =
      Plan.of(
          Collective.BROADCAST,
          2,
          1,
          Rounds.of(1, (round, sink) -> sink.transfer(0, 1, 0, 1, Effect.REPLACE)));

  final Driver driver;
  final Group group;
  final Overlaps overlaps = new Overlaps();
  final Placement placement;
  private final Job job;

  /** Its own lock, as services ask for programs while they hold the driver's. */
  private final Map<Key, Program> programs = new HashMap<>();

  private final Map<ElementType, Deque<ArrayMemory>> memories = new EnumMap<>(ElementType.class);
  private final Deque<Batch> batches = new ArrayDeque<>();
  private final MemoryCache payloadMemories = new MemoryCache();
  private final Map<String, Integer> sameRanks = new HashMap<>();
  private final Set<EngineBuffer> buffers = new HashSet<>();
  private int splits;
  private @Nullable GroupContext survivors;

  /** By the rank that messages go to. */
  private final @Nullable GroupContext[] sending;

  /** By the rank that messages come from. */
  private final @Nullable GroupContext[] receiving;

  private @Nullable Program message;
  private volatile Known known;

  /** Makes the context of the group of all ranks of a job. */
  GroupContext(Driver driver, Job job, Group world) {
    this(driver, job, world, null);
  }

  private GroupContext(Driver driver, Job job, Group group, @Nullable Group survivorsOf) {
    this.driver = driver;
    this.job = job;
    this.group = group;
    int[] members = IntStream.range(0, group.size()).map(group::worldRank).toArray();
    this.placement = driver.placement(job.hosts, members);
    this.sending = new GroupContext[group.size()];
    this.receiving = new GroupContext[group.size()];
    for (ElementType type : ElementType.values()) {
      memories.put(type, new ArrayDeque<>());
    }
    driver.lock();
    try {
      if (survivorsOf == null) {
        driver.engine().add(group);
      } else {
        driver.engine().add(group, survivorsOf);
      }
    } finally {
      driver.unlock();
    }
    Set<Locality> traits = EnumSet.of(placement.locality());
    if (group.inlineChannel() != null) {
      traits.add(Locality.SLOTS);
    }
    if (group.hasExchangeBuffers()) {
      traits.add(Locality.BUFFERS);
    }
    this.known = new Known(traits, null);
    Jfr.group(driver.rank(), group.id(), members);
  }

  /**
   * The settings that the groups of a job have in common.
   *
   * @param hosts by rank the number of its host; nothing if that does not matter
   * @param auto what the settings of the job say of {@code auto}
   * @param tables what users have written, as far as it was read
   */
  record Job(
      Algorithms algorithms,
      int[] hosts,
      Algorithm.Auto auto,
      Map<Algorithm.Auto, AlgorithmTable> tables) {

    /**
     * A job with these settings.
     *
     * @throws IllegalArgumentException if they have rows that are wrong
     */
    static Job of(int[] hosts, Algorithm algorithm) {
      return new Job(
          Algorithms.onClassPath(),
          hosts,
          algorithm instanceof Algorithm.Auto auto ? auto : NOTHING_SAID,
          new ConcurrentHashMap<>());
    }

    AlgorithmTable table(Algorithm.Auto some) {
      return tables.computeIfAbsent(some, one -> AlgorithmTable.parse(one, algorithms));
    }
  }

  /**
   * The facts that are known of the group; another object once one of them changes.
   *
   * @param traits by what its ranks reach each other
   * @param tuned what {@link Communicator#tune} has found, if it was called and found anything out
   */
  record Known(Set<Locality> traits, @Nullable List<Row> tuned) {}

  /**
   * The algorithm with all that its name leaves open, for this group.
   *
   * @throws IllegalArgumentException if it does not fit the group
   */
  Algorithm resolved(Algorithm algorithm) {
    return job.algorithms.forRanks(algorithm, group.size());
  }

  /** Returns whether an algorithm can run in this group. */
  boolean suits(Algorithm algorithm) {
    return algorithm instanceof Algorithm.Auto || job.algorithms.suits(algorithm, group.size());
  }

  /** This rank's part of a plan, compiled when it is first asked for. */
  Program program(Algorithm algorithm, Collective collective, int root, AddOrder order) {
    synchronized (programs) {
      return programs.computeIfAbsent(
          new Key(algorithm, collective, root, order),
          key -> {
            Plan plan =
                job.algorithms.plan(algorithm, new PlanRequest(collective, group.size(), root));
            return ProgramCompiler.compile(algorithm, plan, group.rank(), order);
          });
    }
  }

  /** This rank's part of an all-to-all in which each pair of ranks has counts of its own. */
  Program pairwise(Algorithm algorithm) {
    synchronized (programs) {
      return programs.computeIfAbsent(
          new Key(algorithm, Collective.ALL_TO_ALL, PAIRWISE, AddOrder.OF_PLAN),
          key -> ProgramCompiler.pairwise(algorithm, group.size(), group.rank()));
    }
  }

  /**
   * Returns the context of the group of a sender and a receiver, one of which is this rank. It is
   * no part of the sequence of groups that {@link #of} makes.
   */
  synchronized GroupContext pair(int from, int to) {
    int other = from == group.rank() ? to : from;
    if (other == group.rank() || other < 0 || other >= group.size()) {
      throw new IllegalArgumentException(
          "rank "
              + group.rank()
              + " with rank "
              + other
              + ": the other one must be another of ranks 0 to "
              + (group.size() - 1));
    }
    GroupContext[] contexts = from == group.rank() ? sending : receiving;
    if (contexts[other] == null) {
      contexts[other] = of(new int[] {from, to}, PAIR, null, null);
    }
    return contexts[other];
  }

  /** This rank's part of a message in the group of a sender and a receiver. */
  synchronized Program message() {
    if (message == null) {
      message = ProgramCompiler.compile(MESSAGE, ONE_HOP, group.rank());
    }
    return message;
  }

  /** Returns the facts by which the next call is chosen. */
  Known known() {
    return known;
  }

  /** From the next call on this counts, on all ranks of the group. */
  void tuned(List<Row> rows) {
    known = new Known(known.traits, rows);
  }

  /**
   * Returns the chooser between algorithms.
   *
   * @param asked {@code auto} with rows of its own, or all else for what the job says
   * @param buffers which rows of exchange buffers count
   * @throws IllegalArgumentException if the rows of the algorithm are wrong
   */
  Chooser chooser(Algorithm asked, Known of, BufferRows buffers) {
    boolean says = asked instanceof Algorithm.Auto own && !own.rows().isEmpty();
    Algorithm.Auto auto = says ? (Algorithm.Auto) asked : job.auto;
    List<Row> users = List.of();
    List<Row> tuned = of.tuned == null ? List.of() : of.tuned;
    if (auto.rows().equals(Algorithm.Auto.SHIPPED)) {
      tuned = List.of();
    } else if (!auto.rows().isEmpty()) {
      users = job.table(auto).rows();
    }
    return new Chooser(
        job.algorithms,
        placement,
        of.traits,
        group.size(),
        buffers,
        AlgorithmTable.inOrder(users, tuned));
  }

  /**
   * The ranks of the group have allocated memory that all of them reach, and are taken to use it
   * from the next call on, which is the same one on all ranks.
   */
  void leaseMemory() {
    group.leaseMemory();
    Set<Locality> traits = EnumSet.copyOf(known.traits);
    if (traits.add(Locality.LEASES)) {
      known = new Known(traits, known.tuned);
    }
  }

  /** This group and those of the pairs in it that have exchanged messages. */
  synchronized void forEachGroup(Consumer<Group> action) {
    action.accept(group);
    for (int other = 0; other < group.size(); other++) {
      if (sending[other] != null) {
        action.accept(sending[other].group);
      }
      if (receiving[other] != null) {
        action.accept(receiving[other].group);
      }
    }
  }

  /** The group has allocated a buffer, which ends with the group. */
  synchronized void remember(EngineBuffer buffer) {
    buffers.add(buffer);
  }

  synchronized void forget(EngineBuffer buffer) {
    buffers.remove(buffer);
  }

  /** The buffers that the group has allocated, and that are not closed. */
  synchronized List<EngineBuffer> buffers() {
    return List.copyOf(buffers);
  }

  /**
   * The memory of a payload of one type.
   *
   * @throws IllegalArgumentException if it is of several
   * @throws IllegalStateException if a buffer in it is closed
   */
  Memory memory(Payload payload) {
    check(payload);
    return payloadMemories.memory(payload);
  }

  /** Returns room for the calls of a payload of several types. */
  synchronized Batch takeBatch() {
    Batch batch = batches.poll();
    return batch == null ? new Batch() : batch;
  }

  synchronized void giveBack(Batch batch) {
    batch.clear();
    batches.push(batch);
  }

  private static void check(Payload payload) {
    Shapes.oneType(payload);
    if (payload instanceof Payload.OfCollectiveBuffer range) {
      if (range.buffer() instanceof EngineBuffer buffer && buffer.isClosed()) {
        throw new IllegalStateException(buffer + " is closed");
      }
    } else if (payload instanceof Payload.OfStrided strided) {
      check(strided.base());
    } else if (payload instanceof Payload.OfParts several) {
      List<Payload> parts = several.parts();
      for (int i = 0; i < parts.size(); i++) {
        check(parts.get(i));
      }
    }
  }

  /** Returns a memory that is bound to a user's array. To be called with the engine's lock held. */
  ArrayMemory takeMemory(ElementType type, Object array, int length) {
    ArrayMemory free = freeMemories(type).poll();
    ArrayMemory memory = free == null ? new ArrayMemory(type) : free;
    memory.bind(array, 0, length);
    return memory;
  }

  /** To be called with the engine's lock held. */
  void giveBack(ArrayMemory memory) {
    memory.unbind();
    freeMemories(memory.type()).push(memory);
  }

  private Deque<ArrayMemory> freeMemories(ElementType type) {
    return Objects.requireNonNull(memories.get(type), "each type has a deque");
  }

  /**
   * Makes the context of the group of some ranks of this one; all of them make the same sequence of
   * such groups.
   */
  synchronized GroupContext of(int[] ranks) {
    int number = sameRanks.merge(Arrays.toString(ranks), 1, Integer::sum);
    return of(ranks, Arrays.hashCode(ranks) * 31L + number, null, null);
  }

  /** Makes the context of the group that a split gave this rank. */
  synchronized GroupContext ofSplit(int[] ranks, int color, @Nullable InlineChannel channel) {
    return of(ranks, (long) ++splits << 32 ^ color ^ Long.MIN_VALUE, channel, null);
  }

  /** Returns the context of the survivors of this group, which are agreed on once. */
  synchronized GroupContext ofSurvivors(int[] ranks, long resumeAt) {
    if (survivors == null) {
      InlineChannel channel = group.inlineChannel();
      survivors =
          of(ranks, ~resumeAt, channel == null ? null : channel.ofSurvivors(resumeAt), group);
    }
    return survivors;
  }

  private GroupContext of(
      int[] ranks, long distinction, @Nullable InlineChannel channel, @Nullable Group survivorsOf) {
    int[] members = new int[ranks.length];
    int own = -1;
    for (int i = 0; i < ranks.length; i++) {
      members[i] = group.worldRank(ranks[i]);
      own = ranks[i] == group.rank() ? i : own;
    }
    long id = mix(group.id() ^ mix(distinction));
    for (int member : members) {
      id = mix(id + member);
    }
    Group made = new Group(id, members, own, channel);
    return new GroupContext(driver, job, made, survivorsOf);
  }

  /** The finalizer of SplitMix64: every input bit changes half of the output bits. */
  private static long mix(long value) {
    long z = value + 0x9e3779b97f4a7c15L;
    z = (z ^ z >>> 30) * 0xbf58476d1ce4e5b9L;
    z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
    return z ^ z >>> 31;
  }

  private record Key(Algorithm algorithm, Collective collective, int root, AddOrder order) {
    // See Algorithm.Named.

    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof Key key
          && algorithm.equals(key.algorithm)
          && collective == key.collective
          && root == key.root
          && order == key.order;
    }

    @Override
    public int hashCode() {
      return Objects.hash(algorithm, collective, root, order);
    }
  }
}
