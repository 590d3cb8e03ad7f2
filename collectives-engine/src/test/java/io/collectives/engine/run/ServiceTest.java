package io.collectives.engine.run;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.CollectiveException;
import io.collectives.ElementType;
import io.collectives.MismatchException;
import io.collectives.Payload;
import io.collectives.RankFailedException;
import io.collectives.ReduceOp;
import io.collectives.engine.memory.Memories;
import io.collectives.engine.memory.Memory;
import io.collectives.engine.memory.ShapeMemory;
import io.collectives.engine.run.SimulatedNetwork.Carrier;
import io.collectives.plan.Effect;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.plan.PlanVerifier;
import io.collectives.plan.Rounds;
import io.collectives.spi.BodyViews;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.Link;
import io.collectives.spi.Transport;
import io.collectives.testkit.ForwardingLink;
import io.collectives.testkit.ForwardingTransport;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Ranks that contribute nothing: what they add, when they send it, and how they come to know. */
@Tag("once")
class ServiceTest {
  private static final Algorithm SERVED = Algorithm.named("served");

  /** Workers, of which the first {@code shared} serve, too, and dedicated servers after them. */
  static Plan plan(int workers, int shared, int dedicated) {
    int servers = shared + dedicated;
    Rounds in =
        Rounds.of(
            1, (round, sink) -> pairs(workers, shared, servers, Effect.REDUCE, sink::transfer));
    Rounds out =
        Rounds.of(
            1, (round, sink) -> pairs(workers, shared, servers, Effect.REPLACE, sink::transfer));
    PlanRequest request = PlanRequest.of(Collective.ALL_REDUCE, workers + dedicated);
    Plan plan = Plan.of(request, workers, servers, in.then(out));
    PlanVerifier.verify(plan);
    return plan;
  }

  /**
   * A server of two proxies, the last ranks, each of which owns a chunk and speaks with every other
   * worker (Herring, section III-3).
   */
  private static Plan planOfProxies(int workers) {
    Rounds in =
        Rounds.of(
            1,
            (round, sink) -> {
              for (int worker = 0; worker < workers; worker++) {
                int proxy = workers + worker % 2;
                int other = workers + 1 - worker % 2;
                sink.transfer(worker, proxy, proxy - workers, 1, Effect.REDUCE);
                sink.relayed(worker, proxy, other, other - workers, 1, Effect.REDUCE);
              }
            });
    Rounds between =
        Rounds.of(
            1,
            (round, sink) -> {
              sink.transfer(workers, workers + 1, 0, 1, Effect.REPLACE);
              sink.transfer(workers + 1, workers, 1, 1, Effect.REPLACE);
            });
    Rounds out =
        Rounds.of(
            1,
            (round, sink) -> {
              for (int worker = 0; worker < workers; worker++) {
                sink.transfer(workers + worker % 2, worker, 0, 2, Effect.REPLACE);
              }
            });
    PlanRequest request = PlanRequest.of(Collective.ALL_REDUCE, workers + 2);
    Plan plan = Plan.of(request, workers, 2, in.then(between).then(out));
    PlanVerifier.verify(plan);
    return plan;
  }

  private interface Sink {
    void transfer(int from, int to, int first, int count, Effect effect);
  }

  private static void pairs(int workers, int shared, int servers, Effect effect, Sink sink) {
    for (int chunk = 0; chunk < servers; chunk++) {
      int server = chunk < shared ? chunk : workers + chunk - shared;
      for (int worker = 0; worker < workers; worker++) {
        if (worker != server) {
          boolean in = effect == Effect.REDUCE;
          sink.transfer(in ? worker : server, in ? server : worker, chunk, 1, effect);
        }
      }
    }
  }

  /** The first numbers of generators with seeds that follow each other are much alike. */
  private static Random random(long seed) {
    return new Random(seed * 0x9E3779B97F4A7C15L);
  }

  /** A job of engines on one thread. */
  private static final class Job {
    final Bench bench;
    final int workers;
    final List<Program> programs = new ArrayList<>();
    final List<@Nullable RuntimeException> ends = new ArrayList<>();
    int ended;

    /** Data frames in the order in which they were sent. */
    final List<Frame> sent = new ArrayList<>();

    Job(int workers, int shared, int dedicated) {
      this(workers, shared, dedicated, AddOrder.OF_PLAN);
    }

    Job(int workers, int shared, int dedicated, AddOrder order) {
      this.workers = workers;
      int ranks = workers + dedicated;
      Plan plan = plan(workers, shared, dedicated);
      bench =
          new Bench(ranks, Algorithm.direct(), (rank, inner) -> new Recording(inner, rank, sent));
      for (int rank = 0; rank < ranks; rank++) {
        programs.add(ProgramCompiler.compile(SERVED, plan, rank, order));
        ends.add(null);
      }
    }

    Call call(int rank, Memory in, Memory out, ReduceOp op) {
      return bench.submit(rank, bench.groups.get(rank), programs.get(rank), in, out, op);
    }

    void serve() {
      for (int rank = workers; rank < programs.size(); rank++) {
        int server = rank;
        bench
            .engines
            .get(rank)
            .serve(
                bench.groups.get(rank),
                programs.get(server),
                (op, type, level) -> programs.get(server),
                List.of(),
                Bench.plain(bench.frameLength, bench.slabsInFlight, bench.timeoutNanos),
                error -> {
                  ends.set(server, error);
                  ended++;
                });
      }
    }

    void settle() {
      bench.settle();
      for (Engine engine : bench.engines) {
        for (Service service = engine.takeEndedService();
            service != null;
            service = engine.takeEndedService()) {
          service.runCompletion();
        }
      }
    }
  }

  private record Frame(int from, int to, int slab, int round) {}

  /** Every one in turn, and of different seeds different ones. */
  private static AddOrder order(long seed) {
    return AddOrder.values()[(int) (seed % AddOrder.values().length)];
  }

  /** Whatever the roles and the schedule, the sums are right and servers hold no payload. */
  @Test
  void anyScheduleSums() {
    for (long seed = 0; seed < 100; seed++) {
      Random random = random(seed);
      int workers = 1 + random.nextInt(4);
      int dedicated = 1 + random.nextInt(3);
      int shared = random.nextInt(workers + 1);
      Job job = new Job(workers, shared, dedicated, order(seed));
      job.bench.slabsInFlight = 1 + random.nextInt(3);
      int calls = 1 + random.nextInt(2 * Calls.IN_FLIGHT);
      int count = random.nextInt(300);
      ReduceOp op = random.nextBoolean() ? ReduceOp.SUM : ReduceOp.AVERAGE;
      boolean inPlace = random.nextBoolean();
      boolean served = random.nextBoolean();
      int ranks = workers + dedicated;
      double[][][] in = new double[workers][calls][count];
      double[][][] out = inPlace ? in : new double[workers][calls][count];
      List<List<Call>> made = new ArrayList<>();
      for (int rank = 0; rank < ranks; rank++) {
        made.add(new ArrayList<>());
        for (int call = 0; call < calls && rank < workers; call++) {
          int value = (rank + 1) * (call + 1);
          Arrays.setAll(in[rank][call], i -> value + i);
        }
      }
      int callers = served ? workers : ranks;
      if (served) {
        job.serve();
      }
      for (int left = callers * calls; left > 0; ) {
        int rank = random.nextInt(ranks);
        int call = made.get(rank).size();
        if (random.nextInt(4) == 0 && rank < callers && call < calls) {
          Memory shape = new ShapeMemory(ElementType.FLOAT64, count);
          Memory from = rank < workers ? Memories.of(Payload.of(in[rank][call])) : shape;
          Memory to = rank >= workers || inPlace ? from : Memories.of(Payload.of(out[rank][call]));
          made.get(rank).add(job.call(rank, from, to, op));
          left--;
        } else {
          job.bench.engines.get(rank).poll();
        }
      }
      job.settle();
      String what =
          "seed "
              + seed
              + ", workers "
              + workers
              + ", shared "
              + shared
              + ", dedicated "
              + dedicated;
      for (List<Call> ofRank : made) {
        for (Call call : ofRank) {
          assertTrue(call.isDone(), what);
          assertNull(call.error(), what);
        }
      }
      for (int rank = 0; rank < workers; rank++) {
        for (int call = 0; call < calls; call++) {
          double sum = workers * (workers + 1) / 2.0 * (call + 1);
          double divisor = op == ReduceOp.SUM ? 1 : workers;
          double[] expected =
              IntStream.range(0, count).mapToDouble(i -> (sum + workers * i) / divisor).toArray();
          assertArrayEquals(expected, out[rank][call], what + ", rank " + rank);
        }
      }
    }
  }

  /**
   * The first result leaves a server before the last input has left the workers, and each sum as
   * soon as the last contribution to it is there (Herring, section IV-A).
   */
  @ParameterizedTest
  @EnumSource
  void resultsLeaveWhileInputsStillCome(AddOrder order) {
    Job job = new Job(3, 0, 2, order);
    job.bench.slabsInFlight = 2;
    job.serve();
    int slabs = 12;
    float[][] values = new float[3][slabs * 2 * 16];
    for (int rank = 0; rank < 3; rank++) {
      Memory memory = Memories.of(Payload.of(values[rank]));
      job.call(rank, memory, memory, ReduceOp.SUM);
    }
    job.settle();
    for (int server = 3; server < 5; server++) {
      int at = server;
      int firstOut = first(job.sent, frame -> frame.from == at);
      int lastIn = last(job.sent, frame -> frame.to == at);
      assertTrue(firstOut < lastIn, "server " + at + " waits for everything");
      for (int s = 0; s < slabs; s++) {
        int slab = s;
        int complete = last(job.sent, frame -> frame.to == at && frame.slab == slab);
        int result = first(job.sent, frame -> frame.from == at && frame.slab == slab);
        assertTrue(complete < result, "a sum that lacks a contribution");
        int laterIn = last(job.sent, frame -> frame.to == at && frame.slab <= slab + 2);
        assertTrue(
            slab + 2 >= slabs || result < laterIn, "slab " + slab + " of server " + at + " waits");
      }
    }
  }

  private static int first(List<Frame> frames, Predicate<Frame> wanted) {
    return IntStream.range(0, frames.size())
        .filter(i -> wanted.test(frames.get(i)))
        .min()
        .orElseThrow();
  }

  private static int last(List<Frame> frames, Predicate<Frame> wanted) {
    return IntStream.range(0, frames.size())
        .filter(i -> wanted.test(frames.get(i)))
        .max()
        .orElseThrow();
  }

  /** No deadline runs between calls, and none is left when the workers have gone. */
  @Test
  void aServerWaitsWithoutADeadlineUntilAllWorkersHaveLeft() {
    Job job = new Job(2, 0, 2);
    job.serve();
    sum(job);
    job.bench.timeoutNanos = Bench.SECOND;
    for (int i = 0; i < 20; i++) {
      job.bench.pass(Bench.SECOND);
    }
    sum(job);
    job.bench.engines.get(0).leave(job.bench.groups.get(0));
    job.settle();
    assertEquals(0, job.ended, "a worker is left");
    job.bench.engines.get(1).leave(job.bench.groups.get(1));
    job.settle();
    assertEquals(2, job.ended);
    assertEquals(Arrays.asList(null, null, null, null), job.ends);
  }

  private static void sum(Job job) {
    int[][] values = {{1, 2, 3}, {10, 20, 30}};
    List<Call> calls = new ArrayList<>();
    for (int rank = 0; rank < 2; rank++) {
      Memory memory = Memories.of(Payload.of(values[rank]));
      calls.add(job.call(rank, memory, memory, ReduceOp.SUM));
    }
    job.settle();
    for (int rank = 0; rank < 2; rank++) {
      assertTrue(calls.get(rank).isDone());
      assertNull(calls.get(rank).error());
      assertArrayEquals(new int[] {11, 22, 33}, values[rank]);
    }
  }

  /**
   * A rank that goes on after a worker has left hears who it was, though it never spoke with that
   * one.
   */
  @Test
  void aCallWithoutAWorkerThatHasLeftFails() {
    Job job = new Job(2, 0, 1);
    job.serve();
    sum(job);
    job.bench.engines.get(0).leave(job.bench.groups.get(0));
    job.settle();
    Memory memory = Memories.of(Payload.of(new int[3]));
    Call call = job.call(1, memory, memory, ReduceOp.SUM);
    job.settle();
    CollectiveException error = call.error();
    assertTrue(error instanceof RankFailedException failed && failed.worldRank() == 0, "" + error);
    assertInstanceOf(RankFailedException.class, job.ends.get(2));
  }

  /** Workers that differ are both told, and so is the server, which took the first for right. */
  @Test
  void workersThatDifferAreFound() {
    Job job = new Job(2, 0, 2);
    job.serve();
    Call one = job.call(0, ints(10), ints(10), ReduceOp.SUM);
    Call other = job.call(1, ints(11), ints(11), ReduceOp.SUM);
    job.settle();
    assertInstanceOf(MismatchException.class, one.error());
    assertInstanceOf(MismatchException.class, other.error());
    assertEquals(2, job.ended);
    for (int server = 2; server < 4; server++) {
      RuntimeException error = job.ends.get(server);
      assertInstanceOf(MismatchException.class, error);
      assertTrue(error.getMessage().contains("count 10"), error.getMessage());
      assertTrue(error.getMessage().contains("count 11"), error.getMessage());
    }
  }

  /** A call that is no all-reduce cannot be served. */
  @Test
  void anotherCollectiveIsFound() {
    Job job = new Job(2, 0, 1);
    job.serve();
    Program barrier = Bench.program(Algorithm.direct(), Collective.BARRIER, 3, 0);
    Memory nothing = Memories.of(Payload.of(new float[0]));
    Call call = job.bench.submit(0, barrier, nothing, ReduceOp.SUM);
    Program of1 = Bench.program(Algorithm.direct(), Collective.BARRIER, 3, 1);
    job.bench.submit(1, of1, nothing, ReduceOp.SUM);
    job.settle();
    assertInstanceOf(MismatchException.class, call.error());
    assertInstanceOf(MismatchException.class, job.ends.get(2));
  }

  /**
   * A rank dies at any moment after all have met, between calls or in one, or nobody does and the
   * workers leave: nobody waits for ever, every error names the victim, and what is summed is
   * right.
   */
  @Test
  void whoeverDiesTheOthersNameIt() {
    int named = 0;
    for (long seed = 0; seed < 200; seed++) {
      Random random = random(seed);
      int workers = 1 + random.nextInt(3);
      int dedicated = 1 + random.nextInt(2);
      int ranks = workers + dedicated;
      int victim = random.nextInt(4) == 0 ? -1 : random.nextInt(ranks);
      Carrier carrier = random.nextBoolean() ? Carrier.VIEWS : Carrier.BYTES;
      Plan plan = plan(workers, random.nextInt(workers + 1), dedicated);
      named += new Fault(seed, random, carrier, plan, victim).run();
    }
    assertTrue(named > 150, named + " errors");
  }

  /**
   * Proxies pass on what workers contribute, in any way, and a rank dies: what was leased is not
   * written before it is given back, and nobody waits for what a dead rank had leased.
   */
  @ParameterizedTest
  @EnumSource
  void whoeverDiesWhileProxiesPassOnTheOthersNameIt(Carrier carrier) {
    int named = 0;
    for (long seed = 0; seed < 100; seed++) {
      Random random = random(seed);
      int workers = 2 + random.nextInt(3);
      int victim = random.nextInt(3) == 0 ? -1 : random.nextInt(workers + 2);
      Fault job = new Fault(seed, random, carrier, planOfProxies(workers), victim);
      named += job.run();
      if (victim < 0) {
        boolean landed = job.engines.get(workers).memoryLimit() > (1 << 20) * 5 / 4;
        assertEquals(carrier == Carrier.LEASES_AND_SLOTS, landed, job.what);
      }
    }
    assertTrue(named > 75, named + " errors");
  }

  /** A job on a simulated network and clock, one of whose ranks dies. */
  private static final class Fault {
    private static final int CALLS = 6;
    private static final int COUNT = 150;

    private final String what;
    private final Random random;
    private final int workers;
    private final int ranks;
    private final int victim;
    private final ReduceOp op;
    private final SimulatedNetwork network;
    private final List<Engine> engines = new ArrayList<>();
    private final List<Group> groups = new ArrayList<>();
    private final List<Program> programs = new ArrayList<>();
    private final List<List<Call>> calls = new ArrayList<>();
    private final boolean[] left;
    private final boolean[] over;
    private final int[][][] values;
    private final List<@Nullable RuntimeException> ends = new ArrayList<>();
    private long now = 1;
    private boolean dead;

    Fault(long seed, Random random, Carrier carrier, Plan plan, int victim) {
      this.workers = plan.contributors();
      this.ranks = plan.ranks();
      this.what =
          "seed "
              + seed
              + ", "
              + workers
              + " workers, "
              + (ranks - workers)
              + " servers, victim "
              + victim
              + ", "
              + carrier;
      this.random = random;
      this.victim = victim;
      this.op = random.nextBoolean() ? ReduceOp.SUM : ReduceOp.AVERAGE;
      this.left = new boolean[workers];
      this.over = new boolean[ranks];
      this.values = new int[workers][CALLS][COUNT];
      network = new SimulatedNetwork(ranks, () -> now, random, 200_000, carrier, 0);
      for (int rank = 0; rank < ranks; rank++) {
        Engine engine =
            new Engine(network.transport(rank), () -> now, 1 << 20, Bench.SILENCE, text -> {});
        Group group = Group.world(ranks, rank);
        engine.add(group);
        engines.add(engine);
        groups.add(group);
        programs.add(ProgramCompiler.compile(SERVED, plan, rank, order(seed)));
        calls.add(new ArrayList<>());
        ends.add(null);
      }
    }

    private Call submit(int rank, Memory memory) {
      return Bench.submit(
          engines.get(rank),
          groups.get(rank),
          programs.get(rank),
          memory,
          memory,
          op,
          64,
          2,
          60 * Bench.SECOND);
    }

    /** Returns how many errors there were. */
    int run() {
      List<Call> first = new ArrayList<>();
      for (int rank = 0; rank < ranks; rank++) {
        first.add(submit(rank, ints(0)));
      }
      while (!first.stream().allMatch(Call::isDone)) {
        step();
      }
      for (int rank = workers; rank < ranks; rank++) {
        int server = rank;
        engines
            .get(rank)
            .serve(
                groups.get(rank),
                programs.get(server),
                (op, type, level) -> programs.get(server),
                List.of(),
                Bench.plain(64, 2, 60 * Bench.SECOND),
                error -> {
                  ends.set(server, error);
                  over[server] = true;
                });
      }
      long kill = victim < 0 ? Long.MAX_VALUE : random.nextInt(600);
      for (long step = 0; !isOver(); step++) {
        assertTrue(step < 2_000_000 && now < 200 * Bench.SECOND, what + ": somebody waits");
        if (step == kill) {
          network.kill(victim, random.nextBoolean());
          dead = true;
        }
        if (random.nextInt(8) == 0) {
          call(random.nextInt(workers));
        }
        step();
      }
      return check();
    }

    private void step() {
      int rank = random.nextInt(ranks);
      int work = rank == victim && dead ? 0 : engines.get(rank).poll();
      for (Service ended = engines.get(rank).takeEndedService();
          ended != null;
          ended = engines.get(rank).takeEndedService()) {
        ended.runCompletion();
      }
      now += 1 + random.nextInt(work > 0 ? 2_000 : 50_000);
    }

    /** Lets a worker do what comes next: a call, or, after the last or an error, it leaves. */
    private void call(int worker) {
      List<Call> made = calls.get(worker);
      if (left[worker] || worker == victim && dead) {
        return;
      }
      boolean failed = made.stream().anyMatch(call -> call.isDone() && call.error() != null);
      if (!failed && made.size() < CALLS) {
        int call = made.size();
        int[] mine = values[worker][call];
        Arrays.setAll(mine, i -> (worker + 1) * (i + 7 * call));
        made.add(submit(worker, Memories.of(Payload.of(mine))));
      } else if (made.stream().allMatch(Call::isDone)) {
        engines.get(worker).leave(groups.get(worker));
        left[worker] = true;
      }
    }

    private boolean isOver() {
      for (int rank = 0; rank < ranks; rank++) {
        boolean done = rank < workers ? left[rank] : over[rank];
        if (!done && !(rank == victim && dead)) {
          return false;
        }
      }
      return true;
    }

    private int check() {
      int errors = 0;
      int sum = workers * (workers + 1) / 2;
      int divisor = op == ReduceOp.SUM ? 1 : workers;
      for (int worker = 0; worker < workers; worker++) {
        for (int call = 0; call < calls.get(worker).size(); call++) {
          if (worker == victim && dead) {
            continue;
          }
          CollectiveException error = calls.get(worker).get(call).error();
          errors += error == null ? 0 : named(error);
          if (error == null) {
            int shift = 7 * call;
            int[] expected =
                IntStream.range(0, COUNT).map(i -> sum * (i + shift) / divisor).toArray();
            assertArrayEquals(expected, values[worker][call], what + ", call " + call);
          }
        }
      }
      for (int server = workers; server < ranks; server++) {
        CollectiveException error = (CollectiveException) ends.get(server);
        if (error != null) {
          errors += named(error);
        } else {
          boolean lost = dead && victim < workers && !left[victim];
          assertFalse(lost, what + ": server " + server + " did not notice");
        }
      }
      return errors;
    }

    private int named(CollectiveException error) {
      assertInstanceOf(RankFailedException.class, error, what);
      assertEquals(victim, ((RankFailedException) error).worldRank(), what + ": " + error);
      return 1;
    }
  }

  private static Memory ints(int count) {
    return Memories.of(Payload.of(new int[count]));
  }

  /** Memory for a server's part of what is under way, not of the payload. */
  @Test
  void onlyARankThatServesDoesNotContribute() {
    Plan plan = plan(3, 1, 2);
    for (int rank = 0; rank < 5; rank++) {
      Program program = ProgramCompiler.compile(SERVED, plan, rank);
      assertEquals(rank < 3, program.contributes());
      assertEquals(rank < 3 ? 0 : 1, program.workSlotCount, "rank " + rank);
      assertEquals(rank == 1 || rank == 2 ? 0 : 1, program.fusedReductions.length, "rank " + rank);
    }
    assertFalse(ProgramCompiler.compile(SERVED, plan(1, 0, 1), 1).contributes());
  }

  private static final class Recording extends ForwardingTransport {
    private final int rank;
    private final List<Frame> sent;

    Recording(Transport inner, int rank, List<Frame> sent) {
      super(inner);
      this.rank = rank;
      this.sent = sent;
    }

    @Override
    public <C> @Nullable C capability(Class<C> kind) {
      return kind == BodyViews.class ? inner.capability(kind) : null;
    }

    @Override
    public Link link(int peer) {
      return new ForwardingLink(inner.link(peer)) {
        @Override
        public boolean trySend(FrameHeader header, FrameBody body) {
          Frame frame = new Frame(rank, peer, header.slab, header.round);
          boolean taken = inner.trySend(header, body);
          if (taken && header.kind == FrameHeader.Kind.DATA) {
            sent.add(frame);
          }
          return taken;
        }
      };
    }
  }
}
