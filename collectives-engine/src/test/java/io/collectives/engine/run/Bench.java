package io.collectives.engine.run;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.Repeatability;
import io.collectives.WireType;
import io.collectives.engine.inprocess.InProcessFabric;
import io.collectives.engine.memory.Memories;
import io.collectives.engine.memory.Memory;
import io.collectives.plan.Plan;
import io.collectives.spi.Algorithms;
import io.collectives.spi.Transport;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;

/** Engines of some ranks on one thread and a clock that stands still until it is told otherwise. */
final class Bench {
  static final long SECOND = 1_000_000_000L;
  static final long SILENCE = 5 * SECOND;

  final List<Transport> transports = new ArrayList<>();
  final List<Engine> engines = new ArrayList<>();
  final List<Group> groups = new ArrayList<>();
  final List<Program> programs = new ArrayList<>();
  final List<String> warnings = new ArrayList<>();
  final List<Program> barriers = new ArrayList<>();
  long now = 1;
  int frameLength = 64;
  int slabsInFlight = 2;
  long timeoutNanos = SECOND;

  /** A rank that is not polled, as if its process were stopped; -1 if there is none. */
  int frozen = -1;

  /** Ranks in one process; {@code wrap} may put something between an engine and its transport. */
  Bench(int ranks, Algorithm algorithm, BiFunction<Integer, Transport, Transport> wrap) {
    InProcessFabric fabric = new InProcessFabric(ranks);
    for (int rank = 0; rank < ranks; rank++) {
      Transport transport = wrap.apply(rank, fabric.transport(rank));
      transports.add(transport);
      Engine engine = new Engine(transport, () -> now, 1 << 20, SILENCE, warnings::add);
      Group group = Group.world(ranks, rank);
      engine.add(group);
      engines.add(engine);
      groups.add(group);
      programs.add(program(algorithm, Collective.ALL_REDUCE, ranks, rank));
      barriers.add(program(algorithm, Collective.BARRIER, ranks, rank));
    }
  }

  Bench(int ranks, Algorithm algorithm) {
    this(ranks, algorithm, (rank, transport) -> transport);
  }

  static Program program(Algorithm algorithm, Collective collective, int ranks, int rank) {
    return ProgramCompiler.compile(algorithm, plan(algorithm, collective, ranks), rank);
  }

  static Plan plan(Algorithm algorithm, Collective collective, int ranks) {
    return Algorithms.onClassPath().plan(algorithm, collective, ranks);
  }

  /** Starts an all-reduce of a rank in place. */
  Call sum(int rank, int[] values) {
    Memory memory = Memories.of(Payload.of(values));
    return submit(rank, programs.get(rank), memory, ReduceOp.SUM);
  }

  Call submit(int rank, Program program, Memory memory, ReduceOp op) {
    return submit(rank, groups.get(rank), program, memory, memory, op);
  }

  Call submit(int rank, Group group, Program program, Memory in, Memory out, ReduceOp op) {
    return submit(
        engines.get(rank), group, program, in, out, op, frameLength, slabsInFlight, timeoutNanos);
  }

  /** The options of calls whose elements cross the links as they are in memory. */
  static CallOptions plain(int frameLength, int slabsInFlight, long timeoutNanos) {
    return new CallOptions(
        WireType.AS_IN_MEMORY,
        Repeatability.FASTEST,
        false,
        frameLength,
        slabsInFlight,
        timeoutNanos);
  }

  /** Starts a call of elements as they are. */
  static Call submit(
      Engine engine,
      Group group,
      Program program,
      Memory in,
      Memory out,
      ReduceOp op,
      int frameLength,
      int slabsInFlight,
      long timeoutNanos) {
    Call call = engine.call(group, program, slabsInFlight, false);
    call.describe(plain(frameLength, slabsInFlight, timeoutNanos), in, out, op, null);
    engine.start(call, timeoutNanos, null);
    return call;
  }

  /** Polls the engines in turn until none has anything to do. */
  void settle() {
    int quiet = 0;
    while (quiet < 3) {
      int work = 0;
      for (int rank = 0; rank < engines.size(); rank++) {
        work += rank == frozen ? 0 : engines.get(rank).poll();
      }
      quiet = work == 0 ? quiet + 1 : 0;
    }
  }

  /** Lets time pass, and the engines do what they do then. */
  void pass(long nanos) {
    now += nanos;
    settle();
  }
}
