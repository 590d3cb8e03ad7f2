package io.collectives.engine;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.ElementType;
import io.collectives.Payload;
import io.collectives.engine.memory.ArrayMemory;
import io.collectives.engine.memory.Memory;
import io.collectives.engine.run.Group;
import io.collectives.engine.run.Program;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What all views of a communicator share: the group, this rank's part of its plans, and objects for
 * reuse.
 */
final class Seat {
  final Driver driver;
  final Group group;
  private final Plans plans;
  private final Map<Key, Program> programs = new HashMap<>();
  private final Map<ElementType, Deque<ArrayMemory>> memories = new EnumMap<>(ElementType.class);
  private final MemoryCache payloadMemories = new MemoryCache();
  private final Map<String, Integer> sameRanks = new HashMap<>();
  private int splits;
  private @Nullable Seat survivors;

  Seat(Driver driver, Plans plans, Group group) {
    this(driver, plans, group, null);
  }

  private Seat(Driver driver, Plans plans, Group group, @Nullable Group survivorsOf) {
    this.driver = driver;
    this.plans = plans;
    this.group = group;
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
  }

  /** This rank's part of a plan, compiled when it is first asked for. */
  synchronized Program program(Algorithm algorithm, Collective collective) {
    return programs.computeIfAbsent(
        new Key(algorithm, collective),
        key ->
            Program.compile(
                algorithm, plans.plan(algorithm, collective, group.size()), group.rank()));
  }

  /** The memory of a payload. */
  Memory memory(Payload payload) {
    return payloadMemories.memory(payload);
  }

  /** A memory to bind to a user's array. */
  synchronized ArrayMemory borrow(ElementType type) {
    ArrayMemory memory = memories.get(type).poll();
    return memory == null ? new ArrayMemory(type) : memory;
  }

  synchronized void giveBack(ArrayMemory memory) {
    memory.unbind();
    memories.get(memory.type()).push(memory);
  }

  /**
   * A seat in the group of some ranks of this one; all of them make the same sequence of such
   * groups.
   */
  synchronized Seat of(int[] ranks) {
    int number = sameRanks.merge(Arrays.toString(ranks), 1, Integer::sum);
    return of(ranks, Arrays.hashCode(ranks) * 31L + number, null);
  }

  /** A seat in the group that a split gave this rank. */
  synchronized Seat ofSplit(int[] ranks, int colour) {
    return of(ranks, (long) ++splits << 32 ^ colour ^ Long.MIN_VALUE, null);
  }

  /** A seat in the group of the survivors of this one, which are agreed on once. */
  synchronized Seat ofSurvivors(int[] ranks, long resumeAt) {
    if (survivors == null) {
      survivors = of(ranks, ~resumeAt, group);
    }
    return survivors;
  }

  private Seat of(int[] ranks, long distinction, @Nullable Group survivorsOf) {
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
    return new Seat(driver, plans, new Group(id, members, own), survivorsOf);
  }

  /** The finalizer of SplitMix64: every input bit changes half of the output bits. */
  private static long mix(long value) {
    long z = value + 0x9e3779b97f4a7c15L;
    z = (z ^ z >>> 30) * 0xbf58476d1ce4e5b9L;
    z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
    return z ^ z >>> 31;
  }

  private record Key(Algorithm algorithm, Collective collective) {}
}
