package io.collectives.engine.run;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.Collective;
import io.collectives.ElementType;
import io.collectives.Payload;
import io.collectives.ReduceOp;
import io.collectives.engine.memory.Memories;
import io.collectives.engine.memory.Memory;
import io.collectives.engine.memory.ShapeMemory;
import io.collectives.engine.run.SimulatedNetwork.Carrier;
import io.collectives.plan.Plan;
import io.collectives.spi.BodyViews;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.FrameSink;
import io.collectives.spi.Link;
import io.collectives.spi.Transport;
import io.collectives.spi.ViewSink;
import io.collectives.testkit.ForwardingTransport;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.Random;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Contributions that come to one rank at once are added in the order that is asked for. */
class ArrivalOrderTest {
  private static final Algorithm SERVED = Algorithm.named("served");
  private static final int SLABS = 5;
  private static final int FRAME_LENGTH = 64;
  private static final int SLABS_IN_FLIGHT = 2;

  /** Engines on a network that hands over frames in pieces, one of each link at a time. */
  private static final class Job {
    final List<Engine> engines = new ArrayList<>();
    final List<Group> groups = new ArrayList<>();
    final List<Program> programs = new ArrayList<>();
    final List<Call> calls = new ArrayList<>();
    final List<DrippingTransport> transports = new ArrayList<>();
    private long now = 1;

    Job(Plan plan, AddOrder order, boolean views) {
      Random random = new Random(1);
      int ranks = plan.ranks();
      SimulatedNetwork network =
          new SimulatedNetwork(
              ranks, () -> now, random, 0, views ? Carrier.VIEWS : Carrier.BYTES, 0);
      for (int rank = 0; rank < ranks; rank++) {
        DrippingTransport transport = new DrippingTransport(network.transport(rank), ranks);
        Engine engine = new Engine(transport, () -> now, 1 << 20, Bench.SILENCE, text -> {});
        Group group = Group.world(ranks, rank);
        engine.add(group);
        engines.add(engine);
        groups.add(group);
        transports.add(transport);
        programs.add(ProgramCompiler.compile(SERVED, plan, rank, order));
        calls.add(null);
      }
    }

    Call call(int rank, Memory in, Memory out, ReduceOp op) {
      Call call =
          Bench.submit(
              engines.get(rank),
              groups.get(rank),
              programs.get(rank),
              in,
              out,
              op,
              FRAME_LENGTH,
              SLABS_IN_FLIGHT,
              Bench.SECOND);
      calls.set(rank, call);
      return call;
    }

    void settle() {
      for (int quiet = 0; quiet < 5; now++) {
        int work = 0;
        for (Engine engine : engines) {
          work += engine.poll();
        }
        quiet = work == 0 ? quiet + 1 : 0;
      }
    }

    void assertOver() {
      for (Call call : calls) {
        assertTrue(call.isDone(), call + " waits");
        assertNull(call.error());
      }
    }
  }

  private static Memory shape(int count) {
    return new ShapeMemory(ElementType.FLOAT32, count);
  }

  /**
   * A server has three workers, of which the first is late: the others' segments are added, or held
   * until it comes. Floats show in which order they were added.
   */
  @ParameterizedTest
  @CsvSource({
    "OF_ARRIVAL, false, 1",
    "OF_ARRIVAL, true, 1",
    "OF_PLAN, false, 0",
    "OF_PLAN, true, 0",
    "OF_RANKS, false, 0",
    "OF_RANKS, true, 0"
  })
  void aLateWorkerHoldsUpNobodyElseInTheOrderOfArrival(
      AddOrder order, boolean views, float expected) {
    Job job = new Job(ServiceTest.plan(3, 0, 1), order, views);
    int count = SLABS * FRAME_LENGTH / Float.BYTES;
    float[] contributions = {1, 1 << 30, -(1 << 30)};
    float[][] values = new float[3][count];
    for (int rank = 0; rank < 3; rank++) {
      Arrays.fill(values[rank], contributions[rank]);
    }
    Call server = job.call(3, shape(count), shape(count), ReduceOp.SUM);
    for (int rank = 1; rank < 3; rank++) {
      Memory memory = Memories.of(Payload.of(values[rank]));
      job.call(rank, memory, memory, ReduceOp.SUM);
    }
    job.settle();
    boolean arrival = order == AddOrder.OF_ARRIVAL;
    assertEquals(arrival ? 0 : 2 * SLABS_IN_FLIGHT, server.held.size(), "frames that wait");
    for (int slab = 0; slab < SLABS_IN_FLIGHT; slab++) {
      assertEquals(arrival ? 2 : 0, server.run(slab).writes[0], "contributions that are added");
    }
    for (int rank = 1; rank < 3; rank++) {
      int leased = arrival || !views ? 0 : SLABS_IN_FLIGHT;
      assertEquals(leased, job.calls.get(rank).views.size(), "frames that are not given back");
    }
    Memory memory = Memories.of(Payload.of(values[0]));
    job.call(0, memory, memory, ReduceOp.SUM);
    job.settle();
    job.assertOver();
    float[] sum = new float[count];
    // What has not come before all are there is added as it comes then.
    Arrays.fill(sum, expected);
    for (int rank = 0; rank < 3; rank++) {
      float[] first = Arrays.copyOf(values[rank], SLABS_IN_FLIGHT * FRAME_LENGTH / Float.BYTES);
      assertArrayEquals(Arrays.copyOf(sum, first.length), first);
      assertArrayEquals(values[0], values[rank], "all have the same bits");
    }
  }

  /** A worker that stops in the middle of a frame holds up no other, and the sum is right. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aFrameThatIsNotWholeLetsOthersPass(boolean isAverage) {
    ReduceOp op = isAverage ? ReduceOp.AVERAGE : ReduceOp.SUM;
    Job job = new Job(ServiceTest.plan(3, 0, 1), AddOrder.OF_ARRIVAL, false);
    int count = FRAME_LENGTH / Float.BYTES;
    float[][] values = new float[3][count];
    Call server = job.call(3, shape(count), shape(count), op);
    job.transports.get(3).stalled = 0;
    job.transports.get(3).piecesBeforeStall = 3;
    for (int rank = 0; rank < 3; rank++) {
      int factor = rank + 1;
      for (int i = 0; i < count; i++) {
        values[rank][i] = 3 * factor * i;
      }
      Memory memory = Memories.of(Payload.of(values[rank]));
      job.call(rank, memory, memory, op);
    }
    job.settle();
    assertEquals(0, job.transports.get(3).piecesBeforeStall, "worker 0 has begun");
    assertEquals(2, server.run(0).writes[0]);
    assertTrue(server.held.isEmpty());
    assertFalse(server.isDone());
    job.transports.get(3).stalled = -1;
    job.settle();
    job.assertOver();
    for (float[] result : values) {
      for (int i = 0; i < count; i++) {
        assertEquals((isAverage ? 6 : 18) * i, result[i]);
      }
    }
  }

  /** Owners among the contributors, input and output apart, frames that cross each other. */
  @Test
  void ownersAddWhatComesToTheirOwn() {
    for (boolean views : new boolean[] {false, true}) {
      int ranks = 4;
      int count = 300;
      Plan plan = Bench.plan(Algorithm.direct(), Collective.ALL_REDUCE, ranks);
      Job job = new Job(plan, AddOrder.OF_ARRIVAL, views);
      int[][] in = new int[ranks][count];
      int[][] out = new int[ranks][count];
      for (int rank = 0; rank < ranks; rank++) {
        int factor = rank + 1;
        Arrays.setAll(in[rank], i -> 4 * factor * i);
        job.transports.get(rank).stalled = (rank + 1) % ranks;
        job.transports.get(rank).piecesBeforeStall = 2;
        job.call(
            rank,
            Memories.of(Payload.of(in[rank])),
            Memories.of(Payload.of(out[rank])),
            ReduceOp.AVERAGE);
      }
      job.settle();
      job.transports.forEach(transport -> transport.stalled = -1);
      job.settle();
      job.assertOver();
      int[] expected = IntStream.range(0, count).map(i -> 10 * i).toArray();
      for (int rank = 0; rank < ranks; rank++) {
        int factor = rank + 1;
        assertArrayEquals(expected, out[rank]);
        assertArrayEquals(
            IntStream.range(0, count).map(i -> 4 * factor * i).toArray(), in[rank], "an input");
      }
    }
  }

  /** All ranks that take the sum take it in one order, or bits would differ. */
  @Test
  void anExchangeStaysInTheOrderOfRanks() {
    Plan plan = Bench.plan(Algorithm.exchange(), Collective.ALL_REDUCE, 3);
    Program program = ProgramCompiler.compile(SERVED, plan, 1, AddOrder.OF_ARRIVAL);
    assertEquals(1, program.fusedReductions.length);
    assertTrue(program.fusedReductions[0].inRankOrder);
    for (Program.Step[] ofPeer : program.lanes[0].receives) {
      assertFalse(ofPeer[0].anyOrder);
    }
  }

  /** A single contribution is in order, whatever is asked for. */
  @Test
  void oneWorkerHasNobodyToWaitFor() {
    for (AddOrder order : AddOrder.values()) {
      Job job = new Job(ServiceTest.plan(1, 0, 1), order, true);
      float[] values = {3, 4};
      Memory memory = Memories.of(Payload.of(values));
      job.call(0, memory, memory, ReduceOp.AVERAGE);
      job.call(1, shape(2), shape(2), ReduceOp.AVERAGE);
      job.settle();
      job.assertOver();
      assertArrayEquals(new float[] {3, 4}, values);
    }
  }

  /**
   * Delivers bodies of bytes in pieces of 8, one of each peer in a poll, as sockets of several
   * peers may; and, if told so, no more from one peer after some pieces.
   */
  private static final class DrippingTransport extends ForwardingTransport
      implements FrameSink, ViewSink {
    private @Nullable ViewSink viewed;

    int stalled = -1;
    int piecesBeforeStall;
    private final List<Queue<Piece>> waiting = new ArrayList<>();

    DrippingTransport(Transport inner, int ranks) {
      super(inner);
      for (int rank = 0; rank < ranks; rank++) {
        waiting.add(new ArrayDeque<>());
      }
    }

    /** A header, or bytes, or a header and a view. */
    private record Piece(
        Link link, @Nullable FrameHeader header, byte[] bytes, @Nullable FrameBody view) {}

    @Override
    public int poll(FrameSink sink) {
      int work = inner.poll(this);
      for (int peer = 0; peer < waiting.size(); peer++) {
        if (waiting.get(peer).isEmpty() || peer == stalled && piecesBeforeStall == 0) {
          continue;
        }
        piecesBeforeStall -= peer == stalled ? 1 : 0;
        Piece piece = waiting.get(peer).remove();
        if (piece.view != null) {
          Objects.requireNonNull(viewed).view(piece.link, piece.header, piece.view);
        } else if (piece.header != null) {
          sink.header(piece.link, piece.header);
        } else {
          FrameBytes bytes = new FrameBytes(ByteBuffer.wrap(piece.bytes));
          sink.bytes(piece.link, bytes, 0, piece.bytes.length);
        }
        work++;
      }
      return work;
    }

    @Override
    public void header(Link link, FrameHeader header) {
      FrameHeader copy = new FrameHeader();
      copy.copyFrom(header);
      waiting.get(link.peer()).add(new Piece(link, copy, new byte[0], null));
    }

    @Override
    public void bytes(Link link, FrameBytes source, int at, int length) {
      for (int done = 0; done < length; done += 8) {
        byte[] bytes = new byte[Math.min(8, length - done)];
        source.bytes().get(at + done, bytes);
        waiting.get(link.peer()).add(new Piece(link, null, bytes, null));
      }
    }

    @Override
    public void view(Link link, FrameHeader header, FrameBody source) {
      FrameHeader copy = new FrameHeader();
      copy.copyFrom(header);
      waiting.get(link.peer()).add(new Piece(link, copy, new byte[0], source));
    }

    @Override
    public void lost(Link link, @Nullable Throwable cause) {
      throw new AssertionError("nobody leaves", cause);
    }

    @Override
    public <C> @Nullable C capability(Class<C> kind) {
      BodyViews views = inner.capability(BodyViews.class);
      return kind != BodyViews.class || views == null
          ? null
          : kind.cast(
              (BodyViews)
                  sink -> {
                    viewed = sink;
                    views.viewBy(this);
                  });
    }
  }
}
