package io.collectives.engine.run;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.CollectiveException;
import io.collectives.MismatchException;
import io.collectives.Payload;
import io.collectives.ProtocolException;
import io.collectives.ReduceOp;
import io.collectives.Repeatability;
import io.collectives.WireType;
import io.collectives.engine.memory.Memories;
import io.collectives.engine.memory.Memory;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.FrameSink;
import io.collectives.spi.Link;
import io.collectives.spi.Transport;
import io.collectives.testkit.ForwardingSink;
import io.collectives.testkit.ForwardingTransport;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A receiver checks every field of a header against its own call and plan, before it applies a
 * byte.
 */
class HeaderCheckTest {
  private static final int COUNT = 300;

  /** A field that is made wrong on its way to rank 1. */
  record Tampering(
      String field,
      Class<? extends CollectiveException> error,
      String says,
      Consumer<FrameHeader> change) {
    @Override
    public String toString() {
      return field;
    }
  }

  static Stream<Tampering> fields() {
    return Stream.of(
        new Tampering(
            "slab, too far", ProtocolException.class, "slabs 0 to 3 are open", h -> h.slab += 4),
        new Tampering("slab, negative", ProtocolException.class, "are open", h -> h.slab = -1),
        new Tampering("call, negative", ProtocolException.class, "has ended", h -> h.sequence = -3),
        new Tampering(
            "call, far ahead",
            ProtocolException.class,
            "has to send its part of",
            h -> h.sequence += Calls.WINDOW),
        new Tampering("lane", ProtocolException.class, "no such transfer", h -> h.lane++),
        new Tampering(
            "lane, negative", ProtocolException.class, "no such transfer", h -> h.lane = -1),
        new Tampering("round", ProtocolException.class, "the plan expects round=0", h -> h.round++),
        new Tampering(
            "first chunk",
            ProtocolException.class,
            "the plan expects round=0 chunks=",
            h -> h.firstChunk++),
        new Tampering(
            "chunk count",
            ProtocolException.class,
            "the plan expects round=0 chunks=",
            h -> h.chunkCount++),
        new Tampering("length, longer", ProtocolException.class, "length=", h -> h.length += 4),
        new Tampering("length, shorter", ProtocolException.class, "length=", h -> h.length -= 4),
        new Tampering(
            "count",
            MismatchException.class,
            "rank 1 has count 300, rank 0 has count 301",
            h -> h.call[1]++),
        new Tampering(
            "op",
            MismatchException.class,
            "rank 1 has op sum, rank 0 has op max",
            h -> h.call[0] ^= 3L << 48),
        new Tampering(
            "element type",
            MismatchException.class,
            "rank 1 has element type int32, rank 0 has element type int64",
            h -> h.call[0] ^= 1L << 40),
        new Tampering(
            "collective",
            MismatchException.class,
            "rank 1 has collective all-reduce, rank 0 has collective barrier",
            h -> h.call[0] ^= 1L << 56),
        new Tampering(
            "further types",
            MismatchException.class,
            "rank 1 has number of further element types 0, rank 0 has number of further element"
                + " types 1",
            h -> h.call[0] ^= 1L << 44),
        new Tampering(
            "wire type", MismatchException.class, "wire type", h -> h.call[0] ^= 1L << 36),
        new Tampering(
            "repeatability", MismatchException.class, "repeatability", h -> h.call[0] ^= 1L << 32),
        new Tampering(
            "check", MismatchException.class, "check for finite", h -> h.call[0] ^= 1L << 35),
        new Tampering("slabs", MismatchException.class, "frameLength", h -> h.call[0]++),
        new Tampering(
            "algorithm",
            MismatchException.class,
            "algorithm ring, rank 0 has algorithm sing",
            h -> h.call[2] ^= 1L));
  }

  /** Frames that come before a rank has made any call are held, but not those of far calls. */
  @Test
  void aCallFarAheadOfARankThatHasMadeNoneIsAnError() {
    Bench bench =
        new Bench(
            2,
            Algorithm.ring(),
            (rank, transport) ->
                rank == 1
                    ? new TamperingTransport(transport, head -> head.sequence += 100_000)
                    : transport);
    Call call = bench.sum(0, new int[COUNT]);
    bench.settle();
    assertTrue(call.isDone());
    CollectiveException error = assertInstanceOf(ProtocolException.class, call.error());
    assertTrue(error.getMessage().contains("65536 calls ahead"), error.getMessage());
  }

  @ParameterizedTest
  @MethodSource("fields")
  void aWrongFieldFailsTheCallOnBothRanks(Tampering tampering) {
    Bench bench =
        new Bench(
            2,
            Algorithm.ring(),
            (rank, transport) ->
                rank == 1 ? new TamperingTransport(transport, tampering.change) : transport);
    int[][] values = {new int[COUNT], new int[COUNT]};
    Call[] calls = {bench.sum(0, values[0]), bench.sum(1, values[1])};
    bench.settle();
    for (int rank = 0; rank < 2; rank++) {
      assertTrue(calls[rank].isDone(), "rank " + rank);
      CollectiveException error = calls[rank].error();
      assertNotNull(error, "rank " + rank);
      assertInstanceOf(tampering.error, error);
      assertTrue(error.getMessage().contains(tampering.says), error.getMessage());
    }
    assertArrayEquals(new int[COUNT], values[1], "nothing was reduced");
  }

  @Test
  void anUntouchedHeaderPasses() {
    Bench bench =
        new Bench(
            2,
            Algorithm.ring(),
            (rank, transport) -> new TamperingTransport(transport, header -> {}));
    int[][] values = {{1, 2, 3}, {10, 20, 30}};
    Call[] calls = {bench.sum(0, values[0]), bench.sum(1, values[1])};
    bench.settle();
    for (int rank = 0; rank < 2; rank++) {
      assertTrue(calls[rank].isDone());
      assertArrayEquals(new int[] {11, 22, 33}, values[rank]);
    }
  }

  /** A rank that is none, or an index beyond the payload. */
  @ParameterizedTest
  @ValueSource(longs = {2L << 43, 300L << 2, 3, -1})
  void aFindingThatMakesNoSenseFailsTheCall(long finding) {
    Bench bench =
        new Bench(
            2,
            Algorithm.ring(),
            (rank, transport) ->
                rank == 1 ? new TamperingTransport(transport, h -> h.tag = finding) : transport);
    Call[] calls = {checked(bench, 0), checked(bench, 1)};
    bench.settle();
    for (Call call : calls) {
      assertTrue(call.isDone());
      assertNull(call.nonFinite());
      CollectiveException error = assertInstanceOf(ProtocolException.class, call.error());
      assertTrue(error.getMessage().contains("makes no sense: " + finding), error.getMessage());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"ring", "direct", "exchange", "halving-doubling"})
  void aCheckAddsNoFrame(String algorithm) {
    int[] frames = new int[2];
    for (int i = 0; i < 2; i++) {
      int counted = i;
      Bench bench =
          new Bench(
              4,
              switch (algorithm) {
                case "ring" -> Algorithm.ring();
                case "direct" -> Algorithm.direct();
                case "exchange" -> Algorithm.exchange();
                default -> Algorithm.halvingDoubling();
              },
              (rank, transport) -> new TamperingTransport(transport, header -> frames[counted]++));
      for (int rank = 0; rank < 4; rank++) {
        Call call =
            i == 0
                ? bench.submit(rank, bench.programs.get(rank), Memories.of(FLOATS), ReduceOp.SUM)
                : checked(bench, rank);
        assertEquals(i == 1, call.checksFinite);
      }
      bench.settle();
    }
    assertTrue(frames[0] > 0);
    assertEquals(frames[0], frames[1]);
  }

  private static final Payload FLOATS = Payload.of(new float[COUNT]);

  private static Call checked(Bench bench, int rank) {
    Memory memory = Memories.of(FLOATS);
    Engine engine = bench.engines.get(rank);
    Call call =
        engine.call(bench.groups.get(rank), bench.programs.get(rank), bench.slabsInFlight, false);
    CallOptions options =
        new CallOptions(
            WireType.AS_IN_MEMORY,
            Repeatability.FASTEST,
            true,
            bench.frameLength,
            bench.slabsInFlight,
            Bench.SECOND);
    call.describe(options, memory, memory, ReduceOp.SUM, null);
    engine.start(call, Bench.SECOND, null);
    return call;
  }

  @Test
  void aFrameOfACallThatHasEndedIsAnError() {
    Bench bench =
        new Bench(
            2,
            Algorithm.ring(),
            (rank, transport) ->
                rank == 1 ? new TamperingTransport(transport, h -> h.sequence = 0) : transport);
    bench.sum(0, new int[1]);
    bench.sum(1, new int[1]);
    bench.settle();
    Call second = bench.sum(1, new int[1]);
    bench.sum(0, new int[1]);
    bench.settle();
    assertTrue(second.isDone());
    CollectiveException error = second.error();
    assertNotNull(error);
    assertTrue(error.getMessage().contains("call #0 has ended"), error.getMessage());
  }

  /** Changes the headers of data frames that arrive. */
  private static final class TamperingTransport extends ForwardingTransport {
    private final Consumer<FrameHeader> change;

    TamperingTransport(Transport inner, Consumer<FrameHeader> change) {
      super(inner);
      this.change = change;
    }

    @Override
    public int poll(FrameSink sink) {
      return inner.poll(
          new ForwardingSink(sink) {
            @Override
            public void header(Link link, FrameHeader header) {
              FrameHeader changed = new FrameHeader();
              changed.copyFrom(header);
              if (header.kind == FrameHeader.Kind.DATA) {
                change.accept(changed);
              }
              sink.header(link, changed);
            }
          });
    }
  }
}
