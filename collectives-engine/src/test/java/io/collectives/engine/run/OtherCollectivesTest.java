package io.collectives.engine.run;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.CollectiveException;
import io.collectives.Mesh;
import io.collectives.MismatchException;
import io.collectives.Payload;
import io.collectives.ProtocolException;
import io.collectives.ReduceOp;
import io.collectives.engine.memory.Memories;
import io.collectives.engine.memory.Memory;
import io.collectives.plan.Plan;
import io.collectives.plan.PlanRequest;
import io.collectives.spi.Algorithms;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.FrameSink;
import io.collectives.spi.Link;
import io.collectives.spi.Transport;
import io.collectives.testkit.ForwardingSink;
import io.collectives.testkit.ForwardingTransport;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Collectives with roots and parts, in an order and at times that the test decides. */
@Tag("once")
class OtherCollectivesTest {
  private static final Memory NOTHING = Memories.of(Payload.of(new int[0]));

  private final List<CountingTransport> transports = new ArrayList<>();

  private Bench bench(int ranks, Algorithm algorithm) {
    return new Bench(
        ranks,
        algorithm,
        (rank, transport) -> {
          CountingTransport counting = new CountingTransport(transport);
          transports.add(counting);
          return counting;
        });
  }

  private static Program program(
      Algorithm algorithm, Collective collective, int ranks, int rank, int root) {
    Plan plan = Algorithms.onClassPath().plan(algorithm, new PlanRequest(collective, ranks, root));
    return ProgramCompiler.compile(algorithm, plan, rank);
  }

  private static Call submit(Bench bench, int rank, Program program, Memory in, Memory out) {
    return bench.submit(rank, bench.groups.get(rank), program, in, out, ReduceOp.SUM);
  }

  private static Memory ints(int count) {
    return Memories.of(Payload.of(new int[count]));
  }

  /**
   * A rank that is stopped gets no more than its window, from a sender that needs nothing of it.
   */
  @ParameterizedTest
  @EnumSource(
      value = Collective.class,
      names = {"BROADCAST", "SCATTER", "REDUCE", "GATHER"})
  void nobodyRunsAhead(Collective collective) {
    boolean toRoot = collective == Collective.REDUCE || collective == Collective.GATHER;
    Bench bench = bench(4, Algorithm.ring());
    bench.frozen = toRoot ? 0 : 1;
    List<Call> calls = new ArrayList<>();
    for (int rank = 0; rank < 4; rank++) {
      Program program = program(Algorithm.ring(), collective, 4, rank, 0);
      int whole = 16 * 40;
      boolean inParts = collective == Collective.GATHER || collective == Collective.SCATTER;
      Memory in = ints(collective == Collective.GATHER ? whole / 4 : whole);
      Memory out =
          collective == Collective.BROADCAST
              ? in
              : ints(collective == Collective.SCATTER ? whole / 4 : whole);
      calls.add(submit(bench, rank, program, in, out));
      assertTrue(!inParts || calls.get(rank).slabs == 10);
    }
    for (int i = 0; i < 50; i++) {
      bench.settle();
    }
    long most = (long) bench.slabsInFlight * bench.frameLength;
    for (int rank = 0; rank < 4; rank++) {
      for (int peer = 0; peer < 4; peer++) {
        boolean stopped = rank == bench.frozen || peer == bench.frozen;
        if (peer != rank && stopped) {
          long sent = transports.get(rank).sentTo(peer);
          assertTrue(sent <= most, rank + " sent " + sent + " bytes to " + peer);
        }
      }
    }
    bench.frozen = -1;
    bench.settle();
    for (Call call : calls) {
      assertTrue(call.isDone());
      assertNull(call.error());
    }
  }

  /** Whatever the order in which ranks enter calls and are polled, all get what they should. */
  @ParameterizedTest
  @EnumSource(
      value = Collective.class,
      names = {"BROADCAST", "REDUCE", "REDUCE_SCATTER", "ALL_GATHER"})
  void anySchedule(Collective collective) {
    for (long seed = 0; seed < 60; seed++) {
      Random random = new Random(seed);
      int ranks = 1 + random.nextInt(7);
      List<Algorithm> algorithms =
          List.of(
              Algorithm.ring(),
              Algorithm.shortestWayRing(),
              Algorithm.torus(Mesh.torusOf(ranks)),
              Algorithm.direct(),
              Algorithm.doubleBinaryTree(),
              Algorithm.halvingDoubling());
      Algorithm algorithm = algorithms.get(random.nextInt(algorithms.size()));
      Bench bench = new Bench(ranks, algorithm);
      bench.slabsInFlight = 1 + random.nextInt(3);
      int root = collective.rooted() ? random.nextInt(ranks) : 0;
      int each = random.nextInt(90);
      int whole = each * ranks;
      int calls = 1 + random.nextInt(2 * Calls.IN_FLIGHT);
      Program[] programs = new Program[ranks];
      List<List<Call>> made = new ArrayList<>();
      int[][][] outputs = new int[ranks][calls][];
      for (int rank = 0; rank < ranks; rank++) {
        programs[rank] = program(algorithm, collective, ranks, rank, root);
        made.add(new ArrayList<>());
      }
      for (int left = ranks * calls; left > 0; ) {
        int rank = random.nextInt(ranks);
        int call = made.get(rank).size();
        if (random.nextInt(4) != 0 || call == calls) {
          bench.engines.get(rank).poll();
          continue;
        }
        int[] in = new int[collective == Collective.ALL_GATHER ? each : whole];
        Arrays.fill(in, (rank + 1) * (call + 1));
        int[] out =
            collective == Collective.BROADCAST
                ? in
                : new int[collective == Collective.REDUCE_SCATTER ? each : whole];
        outputs[rank][call] = out;
        Memory input = Memories.of(Payload.of(in));
        Memory output = out == in ? input : Memories.of(Payload.of(out));
        made.get(rank).add(submit(bench, rank, programs[rank], input, output));
        left--;
      }
      bench.settle();
      for (int rank = 0; rank < ranks; rank++) {
        for (int call = 0; call < calls; call++) {
          String where = "seed " + seed + ", rank " + rank + ", call " + call + ", " + algorithm;
          assertTrue(made.get(rank).get(call).isDone(), where);
          assertNull(made.get(rank).get(call).error(), where);
          int[] out = outputs[rank][call];
          int sum = ranks * (ranks + 1) / 2 * (call + 1);
          int number = call + 1;
          int[] expected =
              switch (collective) {
                case BROADCAST -> filled((root + 1) * number, whole);
                case REDUCE -> rank == root ? filled(sum, whole) : new int[whole];
                case REDUCE_SCATTER -> filled(sum, each);
                default -> IntStream.range(0, whole).map(i -> (i / each + 1) * number).toArray();
              };
          assertArrayEquals(expected, out, where);
        }
      }
    }
  }

  private static int[] filled(int value, int count) {
    int[] array = new int[count];
    Arrays.fill(array, value);
    return array;
  }

  /** A rank that does not say that it has what it was sent is named. */
  @Test
  void aMissingEchoIsNamed() {
    Bench bench =
        new Bench(2, Algorithm.ring(), (rank, transport) -> new EchoTransport(transport, 0));
    Call[] calls = new Call[2];
    for (int rank = 0; rank < 2; rank++) {
      Program program = program(Algorithm.ring(), Collective.BROADCAST, 2, rank, 0);
      Memory memory = ints(10);
      calls[rank] = submit(bench, rank, program, memory, memory);
    }
    bench.settle();
    assertTrue(calls[1].isDone(), "it has all that it needs");
    assertNull(calls[1].error());
    // Asked, rank 1 says that it has ended the call.
    bench.pass(Call.WORD_NANOS);
    CollectiveException error = assertInstanceOf(ProtocolException.class, calls[0].error());
    assertTrue(
        error.getMessage().startsWith("rank 1 sent to rank 0 a frame that cannot be"),
        error.getMessage());
    assertTrue(error.getMessage().contains("it has ended the call"), error.getMessage());
  }

  @Test
  void anEchoTooManyIsAnError() {
    Bench bench =
        new Bench(2, Algorithm.ring(), (rank, transport) -> new EchoTransport(transport, 2));
    Call[] calls = new Call[2];
    for (int rank = 0; rank < 2; rank++) {
      Program program = program(Algorithm.ring(), Collective.BROADCAST, 2, rank, 0);
      Memory memory = ints(100);
      calls[rank] = submit(bench, rank, program, memory, memory);
    }
    bench.settle();
    for (Call call : calls) {
      CollectiveException error = call.error();
      assertInstanceOf(ProtocolException.class, error);
      assertTrue(error.getMessage().contains("needs no echo"), error.getMessage());
    }
  }

  /** Each waits for the other, and nobody sends: still they find out why. */
  @Test
  void aDifferenceWithoutFramesIsFound() {
    Bench bench = bench(2, Algorithm.ring());
    Call[] calls = new Call[2];
    for (int rank = 0; rank < 2; rank++) {
      Program program = program(Algorithm.ring(), Collective.BROADCAST, 2, rank, 1 - rank);
      Memory memory = ints(10);
      calls[rank] = submit(bench, rank, program, memory, memory);
    }
    bench.settle();
    assertTrue(!calls[0].isDone() && !calls[1].isDone());
    bench.pass(Call.WORD_NANOS);
    for (Call call : calls) {
      CollectiveException error = call.error();
      assertNotNull(error);
      assertInstanceOf(MismatchException.class, error);
      assertTrue(error.getMessage().contains("has root 1"), error.getMessage());
      assertTrue(error.getMessage().contains("has root 0"), error.getMessage());
    }
  }

  // ------------------------------------------------------------------- bytes

  /** Runs a collective of {@code count} int32 in all, from root 0. */
  private void run(int ranks, Algorithm algorithm, Collective collective, int count) {
    Bench bench = bench(ranks, algorithm);
    List<Call> calls = new ArrayList<>();
    for (int rank = 0; rank < ranks; rank++) {
      Memory whole = ints(count);
      Memory part = ints(count / ranks);
      Program program = program(algorithm, collective, ranks, rank, 0);
      calls.add(
          switch (collective) {
            case REDUCE_SCATTER -> submit(bench, rank, program, whole, part);
            case ALL_GATHER, GATHER -> submit(bench, rank, program, part, whole);
            case SCATTER -> submit(bench, rank, program, rank == 0 ? whole : part, part);
            case ALL_TO_ALL, REDUCE ->
                submit(bench, rank, program, whole, rank == 0 ? ints(count) : NOTHING);
            default -> submit(bench, rank, program, whole, whole);
          });
    }
    bench.settle();
    for (Call call : calls) {
      assertTrue(call.isDone());
      assertNull(call.error());
    }
  }

  private long sent(int from, int to) {
    return transports.get(from).sentTo(to);
  }

  private long sent(int from) {
    return IntStream.range(0, transports.size())
        .filter(to -> to != from)
        .mapToLong(to -> sent(from, to))
        .sum();
  }

  @ParameterizedTest
  @EnumSource(
      value = Collective.class,
      names = {"REDUCE_SCATTER", "ALL_GATHER"})
  void aRingSendsEachHalfToItsRightNeighbour(Collective collective) {
    run(8, Algorithm.ring(), collective, 800);
    for (int rank = 0; rank < 8; rank++) {
      assertEquals(3200 * 7 / 8, sent(rank, (rank + 1) % 8));
      assertEquals(3200 * 7 / 8, sent(rank));
    }
  }

  @Test
  void aChainSendsThePayloadOnce() {
    run(8, Algorithm.ring(), Collective.BROADCAST, 800);
    for (int rank = 0; rank < 8; rank++) {
      assertEquals(rank == 7 ? 0 : 3200, sent(rank), "echoes carry nothing");
    }
  }

  @Test
  void gathersAndScattersGoStraight() {
    run(5, Algorithm.ring(), Collective.GATHER, 500);
    for (int rank = 1; rank < 5; rank++) {
      assertEquals(400, sent(rank, 0));
      assertEquals(400, sent(rank));
    }
    transports.clear();
    run(5, Algorithm.ring(), Collective.SCATTER, 500);
    for (int rank = 1; rank < 5; rank++) {
      assertEquals(400, sent(0, rank));
      assertEquals(0, sent(rank));
    }
  }

  /** DESIGN's halves: M(Y-1)/Y along the column, (M/Y)(X-1)/X along the row. */
  @ParameterizedTest
  @EnumSource(
      value = Collective.class,
      names = {"REDUCE_SCATTER", "ALL_GATHER"})
  void aTorusSendsLessAlongItsRows(Collective collective) {
    run(16, Algorithm.torus(Mesh.torus(4, 4)), collective, 1600);
    for (int rank = 0; rank < 16; rank++) {
      int column = rank % 4;
      int from = rank;
      long alongColumn =
          IntStream.range(0, 16)
              .filter(to -> to != from && to % 4 == column)
              .mapToLong(to -> sent(from, to))
              .sum();
      assertEquals(6400 * 3 / 4, alongColumn);
      assertEquals(alongColumn / 2, sent(rank, (rank + 4) % 16), "half each way");
      assertEquals(1600 * 3 / 4 / 2, sent(rank, rank / 4 * 4 + (rank + 1) % 4));
      assertEquals(6400 * 3 / 4 + 1600 * 3 / 4, sent(rank));
    }
  }

  @Test
  void aTorusAllReduceUsesFourLinksEvenly() {
    run(16, Algorithm.torus(Mesh.torus(4, 4)), Collective.ALL_REDUCE, 1600);
    for (int rank = 0; rank < 16; rank++) {
      int column = rank % 4;
      int row = rank / 4;
      long alongRow = 0;
      long alongColumn = 0;
      for (int to = 0; to < 16; to++) {
        if (to != rank && sent(rank, to) > 0) {
          assertTrue(to % 4 == column || to / 4 == row);
          assertEquals(6400 * 15 / 16 / 2, sent(rank, to), "on each of its four links");
          alongRow += to / 4 == row ? sent(rank, to) : 0;
          alongColumn += to % 4 == column ? sent(rank, to) : 0;
        }
      }
      assertEquals(6400 * 15 / 16, alongRow);
      assertEquals(6400 * 15 / 16, alongColumn);
    }
  }

  /** Gives the engine every echo so many times. */
  private static final class EchoTransport extends ForwardingTransport {
    private final int times;

    EchoTransport(Transport inner, int times) {
      super(inner);
      this.times = times;
    }

    @Override
    public int poll(FrameSink sink) {
      return inner.poll(
          new ForwardingSink(sink) {
            @Override
            public void header(Link link, FrameHeader header) {
              int count = header.kind == FrameHeader.Kind.ECHO ? times : 1;
              for (int i = 0; i < count; i++) {
                sink.header(link, header);
              }
            }
          });
    }
  }
}
