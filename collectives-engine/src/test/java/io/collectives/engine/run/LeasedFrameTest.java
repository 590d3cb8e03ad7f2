package io.collectives.engine.run;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.Algorithm;
import io.collectives.ProtocolException;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.FrameSink;
import io.collectives.spi.LeasedBody;
import io.collectives.spi.Link;
import io.collectives.spi.MemoryLeases;
import io.collectives.spi.Region;
import io.collectives.spi.Transport;
import io.collectives.spi.ViewSink;
import io.collectives.testkit.ForwardingSink;
import io.collectives.testkit.ForwardingTransport;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Objects;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The engine takes in frames that are leased to it, alone and among others. */
class LeasedFrameTest {
  private static final int COUNT = 300;

  private int leased;
  private int notReleased;

  /** The part of a body that is made wrong. */
  enum Wrong {
    NOTHING,
    PIECES,
    LENGTH,
    OFFSET,
    TARGET_OFFSET
  }

  /** From none to all of the frames are leased, whichever they are. */
  @ParameterizedTest
  @CsvSource({"2, 0", "2, 50", "2, 100", "4, 20", "4, 80", "4, 100"})
  void leasedFramesAndOthersMeetInAnyMixture(int ranks, int percent) {
    for (long seed = 0; seed < 40; seed++) {
      Random random = new Random(seed);
      Algorithm algorithm = seed % 4 == 0 ? Algorithm.ring() : Algorithm.direct();
      Bench bench =
          new Bench(
              ranks,
              algorithm,
              (rank, transport) -> new LeasingTransport(transport, random, percent, Wrong.NOTHING));
      int[][] values = new int[ranks][COUNT];
      Call[] calls = new Call[ranks];
      for (int rank = 0; rank < ranks; rank++) {
        Arrays.fill(values[rank], 1 << rank);
        calls[rank] = bench.sum(rank, values[rank]);
        if (random.nextBoolean()) {
          bench.settle(); // The others' frames come before this rank calls.
        }
      }
      bench.settle();
      int[] expected = new int[COUNT];
      Arrays.fill(expected, (1 << ranks) - 1);
      for (int rank = 0; rank < ranks; rank++) {
        assertTrue(calls[rank].isDone(), "rank " + rank + ", seed " + seed);
        assertArrayEquals(expected, values[rank], "rank " + rank + ", seed " + seed);
      }
      assertEquals(0, notReleased, "seed " + seed);
    }
    assertEquals(percent == 0, leased == 0);
  }

  @ParameterizedTest
  @ValueSource(strings = {"PIECES", "LENGTH", "OFFSET", "TARGET_OFFSET"})
  void memoryThatIsNotThatOfTheTransferFailsTheCallOnAllRanks(Wrong wrong) {
    for (boolean early : new boolean[] {false, true}) {
      for (Algorithm algorithm : new Algorithm[] {Algorithm.direct(), Algorithm.ring()}) {
        Bench bench =
            new Bench(
                2,
                algorithm,
                (rank, transport) ->
                    rank == 1
                        ? new LeasingTransport(transport, new Random(1), 100, wrong)
                        : transport);
        Call first = bench.sum(0, new int[COUNT]);
        if (early) {
          bench.settle();
        }
        Call second = bench.sum(1, new int[COUNT]);
        bench.settle();
        for (Call call : new Call[] {first, second}) {
          assertTrue(call.isDone());
          ProtocolException error = assertInstanceOf(ProtocolException.class, call.error());
          assertTrue(error.getMessage().contains("rank 0 leases to rank 1"), error.getMessage());
        }
        assertEquals(0, notReleased);
      }
    }
  }

  /** Turns bodies that arrive into leased ones, in a region among other bytes, or into bytes. */
  private final class LeasingTransport extends ForwardingTransport implements MemoryLeases {
    private final Random random;
    private final int percent;
    private final Wrong wrong;
    private @Nullable ViewSink views;

    LeasingTransport(Transport inner, Random random, int percent, Wrong wrong) {
      super(inner);
      this.random = random;
      this.percent = percent;
      this.wrong = wrong;
    }

    @Override
    public <C> @Nullable C capability(Class<C> kind) {
      return kind == MemoryLeases.class ? kind.cast(this) : null;
    }

    @Override
    public void viewBy(ViewSink sink) {
      views = sink;
    }

    @Override
    public Region createRegion(int length, int[] peers) throws IOException {
      throw new IOException("what arrives is leased whatever it lies in");
    }

    @Override
    public int poll(FrameSink sink) {
      return inner.poll(new LeasingSink(sink));
    }

    private final class LeasingSink extends ForwardingSink {
      private final FrameHeader head = new FrameHeader();
      private @Nullable TestBody body;

      LeasingSink(FrameSink sink) {
        super(sink);
      }

      @Override
      public void header(Link link, FrameHeader header) {
        body = null;
        head.copyFrom(header);
        if (header.kind == FrameHeader.Kind.DATA
            && header.length > 0
            && random.nextInt(100) < percent) {
          body = new TestBody(header.length, wrong);
          leased++;
          notReleased++;
          return;
        }
        super.header(link, header);
      }

      @Override
      public void bytes(Link link, FrameBytes source, int at, int length) {
        TestBody to = body;
        if (to != null) {
          assertEquals(head.length, length, "threads of one process hand over whole bodies");
          to.region.bytes().put(TestBody.OFFSET, source.bytes(), at, length);
          Objects.requireNonNull(views).view(link, head, to);
        } else {
          super.bytes(link, source, at, length);
        }
      }
    }
  }

  private final class TestBody implements LeasedBody {
    private static final int OFFSET = 64;

    private final FrameBytes region;
    private final int length;
    private final Wrong wrong;

    TestBody(int length, Wrong wrong) {
      this.length = length;
      this.wrong = wrong;
      region = new FrameBytes(ByteBuffer.allocateDirect(length + 2 * OFFSET));
    }

    @Override
    public int length() {
      return length;
    }

    @Override
    public void store(FrameBytes target, int at) {
      target.bytes().put(at, region.bytes(), OFFSET, length);
    }

    @Override
    public void release() {
      notReleased--;
    }

    @Override
    public int pieces() {
      return wrong == Wrong.PIECES ? 2 : 1;
    }

    @Override
    public FrameBytes region(int piece) {
      return region;
    }

    @Override
    public int offset(int piece) {
      return wrong == Wrong.OFFSET ? OFFSET + 2 : OFFSET;
    }

    @Override
    public int length(int piece) {
      return wrong == Wrong.LENGTH ? length - 4 : length;
    }

    @Override
    public @Nullable FrameBytes targetRegion(int piece) {
      return null;
    }

    @Override
    public int targetOffset(int piece) {
      return wrong == Wrong.TARGET_OFFSET ? 1 : 0;
    }

    @Override
    public boolean isPlaced() {
      return false;
    }

    @Override
    public boolean holdOpen() {
      return true;
    }

    @Override
    public boolean isRevoked() {
      return false;
    }
  }
}
