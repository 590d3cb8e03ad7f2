package io.collectives.netty;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import com.sun.management.ThreadMXBean;
import io.collectives.CallSettings;
import io.collectives.JobSettings;
import io.collectives.ProtocolException;
import io.collectives.Security;
import io.collectives.internal.FrameCodec;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.FrameSink;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Link;
import io.collectives.spi.Roster;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Two links with the real connections, codecs and Netty's channels, but a pipe between them that
 * cuts the stream anywhere, merges and delays pieces, and in some schedules damages them. All on
 * one thread and by a seed, which failures name. {@code -Dcollectives.schedules=100000} runs more
 * schedules than usual, {@code -Dcollectives.firstSchedule=17} begins with another seed.
 */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD) // A hang is a failure, too.
@Tag("once")
class BytePipeTest {
  private static final int SCHEDULES = Integer.getInteger("collectives.schedules", 250);
  private static final long FIRST = Long.getLong("collectives.firstSchedule", 0);
  private static final int BODY_LIMIT = 4096;
  private static final int SLOTS = 3;

  /** So that no schedule, however slow its pipe, goes on for ever. */
  private static final int STEPS = 100_000;

  /** Two transports need more, but nothing of it depends on what arrives. */
  private static final long HEAP_LIMIT = 4 << 20;

  private static final long DIRECT_LIMIT =
      TcpTransport.RECEIVE_LENGTH + SLOTS * (FrameCodec.HEADER_LENGTH + BODY_LIMIT);

  /** The damage to the stream of one direction, which comes once. */
  private enum Damage {
    NONE,
    BIT,
    BYTE,
    /** Some bytes are missing, and it goes on behind them. */
    GAP,
    /** Some bytes come twice. */
    REPEAT,
    NOISE,
    /** A header with right checksums that says anything. */
    FORGED,
    END
  }

  @Test
  void deliversAllFramesHoweverTheStreamIsCut() throws Exception {
    for (int i = 0; i < SCHEDULES; i++) {
      run(FIRST + i, Damage.NONE);
    }
  }

  @Test
  void findsDamage() throws Exception {
    int[] lost = new int[Damage.values().length];
    int[] byProtocol = new int[Damage.values().length];
    for (int i = 0; i < SCHEDULES; i++) {
      Damage damage = Damage.values()[1 + i % (Damage.values().length - 1)];
      Throwable cause = run(FIRST + i, damage);
      lost[damage.ordinal()] += cause == null ? 0 : 1;
      byProtocol[damage.ordinal()] += cause instanceof ProtocolException ? 1 : 0;
    }
    for (Damage damage : Damage.values()) {
      boolean isFound = damage != Damage.NONE && damage != Damage.END;
      int found = isFound ? byProtocol[damage.ordinal()] : lost[damage.ordinal()];
      assertTrue(damage == Damage.NONE || found > 0, "nobody was told of any " + damage);
    }
  }

  private static @Nullable Throwable run(long seed, Damage damage) throws Exception {
    try (Schedule schedule = new Schedule(seed, damage)) {
      return schedule.run();
    } catch (AssertionError | Exception e) {
      throw new AssertionError(
          "schedule "
              + seed
              + " with "
              + damage
              + "; repeat it by -Dcollectives.firstSchedule="
              + seed
              + " -Dcollectives.schedules=1",
          e);
    }
  }

  /** Two ranks and what is between them. */
  private static final class Schedule implements AutoCloseable {
    private final SplittableRandom random;
    private final boolean checksums;
    private final Damage damage;
    private final End[] ends = new End[2];

    /** The rank whose stream is damaged. */
    private final int damaged;

    /** The number of bytes of it that pass before. */
    private int until;

    private boolean isDone;

    /** The offset of the damaged bytes, for a changed byte. */
    private int damagedAt = -1;

    Schedule(long seed, Damage damage) {
      random = new SplittableRandom(seed * Damage.values().length + damage.ordinal());
      this.damage = damage;
      checksums = random.nextBoolean();
      damaged = random.nextInt(2);
      JobEpoch epoch = new JobEpoch(random.nextLong(), random.nextLong());
      PipedSockets sockets = new PipedSockets();
      for (int rank = 0; rank < 2; rank++) {
        ends[rank] = new End(rank, epoch, checksums, sockets, random.split());
      }
      for (int rank = 0; rank < 2; rank++) {
        ends[rank].meet(ends[1 - rank]);
        ends[rank].plan(random);
      }
      isDone = damage == Damage.NONE;
      until =
          damage == Damage.FORGED
              ? ends[damaged].startOf(random.nextInt(ends[damaged].toSend.size() + 1))
              : random.nextInt(Math.max(1, ends[damaged].streamLength()));
    }

    /** Lets it happen; returns why the damaged link was lost, if it was. */
    @Nullable Throwable run() throws IOException {
      int patience = STEPS;
      boolean drained = false;
      while (!drained) {
        assertTrue(patience-- > 0, "it does not end: " + ends[0] + ", " + ends[1]);
        End end = ends[random.nextInt(2)];
        switch (random.nextInt(3)) {
          case 0 -> end.send();
          case 1 -> end.poll();
          default -> move(end.rank, random.nextInt(4) == 0 ? Integer.MAX_VALUE : 400);
        }
        drained = ends[0].isDrained(ends[1]) && ends[1].isDrained(ends[0]);
      }
      End receiver = ends[1 - damaged];
      if (damage != Damage.NONE) {
        // A stream that is too short is found only by its end, or by the silence that follows.
        ends[0].socket.endInput();
        ends[1].socket.endInput();
        for (End end : ends) {
          for (int i = 0; end.losses == 0; i++) {
            assertTrue(i < STEPS, end + " does not learn the end");
            end.poll();
          }
        }
      }
      judge(receiver, ends[damaged]);
      if (damage == Damage.NONE) {
        assertEquals(0, receiver.losses);
      }
      // The other direction is whole as far as it came.
      ends[damaged].assertPrefixOf(ends[1 - damaged]);
      for (End end : ends) {
        long direct = end.transport.directMemoryLength();
        assertTrue(direct <= DIRECT_LIMIT, direct + " bytes of direct memory");
        assertTrue(end.allocated < HEAP_LIMIT, end.allocated + " bytes of heap");
      }
      return receiver.cause;
    }

    private void judge(End receiver, End sender) {
      String peer = "rank " + sender.rank;
      Throwable cause = receiver.cause;
      if (cause != null) {
        assertTrue(cause instanceof IOException || cause instanceof ProtocolException, "" + cause);
        assertTrue(String.valueOf(cause.getMessage()).contains(peer), cause.getMessage());
      }
      switch (damage) {
        case NONE -> {
          assertEquals(sender.sent.size(), receiver.received.size());
          receiver.assertPrefixOf(sender);
        }
        case END -> {
          receiver.assertPrefixOf(sender);
          assertInstanceOf(IOException.class, cause);
        }
        case BIT, BYTE -> judgeChange(receiver, sender);
        case GAP, REPEAT, NOISE, FORGED -> {
          int whole = sender.framesBefore(until);
          assertTrue(receiver.received.size() >= whole, "frames before the damage are missing");
          for (int i = 0; i < receiver.received.size(); i++) {
            Frame got = receiver.received.get(i);
            if (i < whole) {
              got.assertSame(sender.sent.get(i));
            } else if (checksums && damage != Damage.FORGED) {
              // It may be one that is repeated, or the first behind those that are missing.
              assertTrue(sender.sent.stream().anyMatch(got::isSame), "frame " + i + " is damaged");
            }
          }
        }
      }
    }

    /** A byte of the damaged frame may differ, if nothing protects it, and no other. */
    private void judgeChange(End receiver, End sender) {
      if (damagedAt < 0) {
        return; // The stream was shorter.
      }
      int whole = sender.framesBefore(damagedAt);
      Frame hit = sender.sent.get(whole);
      int inFrame = damagedAt - sender.startOf(whole);
      boolean inHeader = inFrame < FrameCodec.HEADER_LENGTH;
      boolean inPadding = inFrame >= FrameCodec.HEADER_LENGTH + hit.bytes.length;
      if (inHeader || checksums && !inPadding) {
        assertEquals(whole, receiver.received.size(), "the damaged frame is not complete");
        receiver.assertPrefixOf(sender);
        assertInstanceOf(ProtocolException.class, receiver.cause);
        return;
      }
      assertTrue(
          receiver.cause instanceof IOException, "the stream ends, and was right: " + receiver);
      assertEquals(sender.sent.size(), receiver.received.size());
      for (int i = 0; i < sender.sent.size(); i++) {
        Frame expected = sender.sent.get(i);
        Frame got = receiver.received.get(i);
        if (i == whole && !inPadding) {
          int at = inFrame - FrameCodec.HEADER_LENGTH;
          assertTrue(got.bytes[at] != expected.bytes[at]);
          got.bytes[at] = expected.bytes[at];
        }
        got.assertSame(expected);
      }
    }

    /** Lets bytes that a rank has written pass, and damages them when it is time. */
    private void move(int from, int most) {
      End sender = ends[from];
      PipedSockets.End to = ends[1 - from].socket;
      int available = Math.min(sender.socket.written(), most);
      if (available == 0) {
        return;
      }
      int length = most == Integer.MAX_VALUE ? available : 1 + random.nextInt(available);
      if (from != damaged || isDone || sender.passed + length <= until) {
        to.arrive(sender.socket.take(length));
        sender.passed += length;
        return;
      }
      int before = until - sender.passed;
      if (before > 0) {
        to.arrive(sender.socket.take(before));
        sender.passed += before;
      }
      int left = sender.socket.written();
      if (left == 0) {
        return; // It comes later.
      }
      isDone = true;
      switch (damage) {
        case NONE -> fail("done already");
        case BIT, BYTE -> {
          damagedAt = until;
          byte[] one = sender.socket.take(1);
          one[0] ^=
              (byte) (damage == Damage.BIT ? 1 << random.nextInt(8) : 1 + random.nextInt(255));
          to.arrive(one);
          sender.passed++;
        }
        case GAP -> sender.passed += sender.socket.take(1 + random.nextInt(left)).length;
        case REPEAT -> {
          byte[] some = sender.socket.take(1 + random.nextInt(left));
          sender.passed += some.length;
          to.arrive(some);
          to.arrive(some);
        }
        case NOISE -> {
          byte[] noise = new byte[1 + random.nextInt(500)];
          random.nextBytes(noise);
          to.arrive(noise);
        }
        case FORGED -> to.arrive(sender.forged(random));
        case END -> {
          to.endInput();
          sender.deaf = true;
        }
      }
    }

    @Override
    public void close() {
      for (End end : ends) {
        end.transport.kill();
        assertEquals(0, end.transport.directMemoryLength(), "direct memory of rank " + end.rank);
      }
    }
  }

  /** A rank: sends frames of random lengths and keeps what arrives. */
  private static final class End implements FrameSink {
    private static final ThreadMXBean MEMORY = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    final int rank;
    final TcpTransport transport;
    final PipedSockets.End socket;
    final List<Frame> toSend = new ArrayList<>();
    final List<Frame> sent = new ArrayList<>();
    final List<Frame> received = new ArrayList<>();
    private final FrameCodec codec;
    private @Nullable Frame arriving;
    private int arrived;
    int passed;
    int losses;
    long allocated;

    /** If true, what it sends reaches nobody any more. */
    boolean deaf;

    @Nullable Throwable cause;

    End(
        int rank,
        JobEpoch epoch,
        boolean checksums,
        PipedSockets sockets,
        SplittableRandom random) {
      this.rank = rank;
      JobSettings settings =
          JobSettings.of(rank, 2, URI.create("tcp://localhost:1"))
              .withJoinTimeout(Duration.ofSeconds(20))
              .withSecurity(Security.none().withChecksums(checksums))
              .withCalls(CallSettings.defaults().withFrameLength(1024));
      DrivenEventLoop loop = new DrivenEventLoop(NioIoHandler.newFactory(sockets));
      loop.enter();
      try {
        NioServerSocketChannel server =
            new NioServerSocketChannel(new PipedSockets.Server(sockets));
        server.unsafe().register(loop, server.newPromise());
        // No address: who looks whether a peer lives finds nobody, and opens no socket for that.
        transport =
            new TcpTransport(
                settings,
                new Roster(epoch, List.of("rank 0", "rank 1")),
                new Listening(SocketKind.NIO, loop, server),
                SLOTS,
                null,
                null);
        socket = new PipedSockets.End(sockets, random);
        server.pipeline().fireChannelRead(new NioSocketChannel(server, socket));
      } finally {
        loop.leave();
      }
      codec = new FrameCodec(epoch, rank, 1 - rank);
    }

    /** Takes the other end for one that has connected and says HELLO. */
    void meet(End other) {
      socket.arrive(other.transport.hello(rank).bytes().array());
      for (int i = 0; socket.written() < Handshake.LENGTH; i++) {
        assertTrue(i < STEPS, "no answer");
        poll();
      }
      socket.take(Handshake.LENGTH);
      assertEquals(0, socket.written());
    }

    void plan(SplittableRandom random) {
      int count = random.nextInt(12);
      for (int i = 0; i < count; i++) {
        int length =
            switch (random.nextInt(4)) {
              case 0 -> 0;
              case 1 -> random.nextInt(20);
              case 2 -> BODY_LIMIT;
              default -> random.nextInt(BODY_LIMIT + 1);
            };
        Frame frame = new Frame(length);
        frame.header.sequence = i;
        frame.header.slab = random.nextInt(100);
        frame.header.tag = random.nextLong();
        random.nextBytes(frame.bytes);
        toSend.add(frame);
      }
    }

    int streamLength() {
      return startOf(toSend.size());
    }

    int startOf(int frame) {
      return toSend.stream().limit(frame).mapToInt(Frame::streamLength).sum();
    }

    int framesBefore(int at) {
      int frames = 0;
      while (frames < toSend.size() && startOf(frames + 1) <= at) {
        frames++;
      }
      return frames;
    }

    void send() {
      if (sent.size() < toSend.size()) {
        Frame next = toSend.get(sent.size());
        if (transport.link(1 - rank).trySend(next.header, next)) {
          sent.add(next);
        }
      }
    }

    void poll() {
      long before = MEMORY.getCurrentThreadAllocatedBytes();
      transport.poll(this);
      allocated += MEMORY.getCurrentThreadAllocatedBytes() - before;
    }

    /**
     * Returns whether all that this rank has to send has been taken in by the other one, or never
     * will.
     */
    boolean isDrained(End other) {
      boolean allSent =
          sent.size() == toSend.size() && !((TcpLink) transport.link(1 - rank)).isBlocked();
      boolean allThere = socket.written() == 0 && other.socket.unread() == 0;
      return deaf || losses > 0 || other.losses > 0 || allSent && allThere;
    }

    byte[] forged(SplittableRandom random) {
      FrameHeader header = new FrameHeader();
      FrameHeader.Kind[] kinds = FrameHeader.Kind.values();
      header.kind = kinds[random.nextInt(kinds.length)];
      header.group = random.nextLong();
      header.sequence = random.nextLong() >> random.nextInt(64);
      header.slab = random.nextInt() >> random.nextInt(32);
      header.length = random.nextInt() >> random.nextInt(32);
      FrameBytes bytes = new FrameBytes(ByteBuffer.allocate(FrameCodec.HEADER_LENGTH));
      codec.encode(header, random.nextInt(), bytes, 0);
      byte[] forged = new byte[FrameCodec.HEADER_LENGTH];
      bytes.bytes().get(0, forged);
      return forged;
    }

    void assertPrefixOf(End sender) {
      assertTrue(received.size() <= sender.sent.size());
      for (int i = 0; i < received.size(); i++) {
        received.get(i).assertSame(sender.sent.get(i));
      }
    }

    @Override
    public void header(Link link, FrameHeader header) {
      assertNull(arriving, "frames do not mix");
      assertEquals(0, losses, "no frames after a loss");
      assertTrue(header.length <= BODY_LIMIT, "a body of " + header.length + " bytes");
      arriving = new Frame(header.length);
      arriving.header.copyFrom(header);
      arrived = 0;
      complete();
    }

    @Override
    public void bytes(Link link, FrameBytes source, int at, int length) {
      assertTrue(arrived % 8 != 0 || at % 8 == 0, "8 bytes of a body lie at a multiple of 8");
      assertTrue(length % 8 == 0 || arrived + length == arriving.bytes.length);
      source.bytes().get(at, arriving.bytes, arrived, length);
      arrived += length;
      complete();
    }

    private void complete() {
      if (arrived == arriving.bytes.length) {
        received.add(arriving);
        arriving = null;
      }
    }

    @Override
    public void lost(Link link, @Nullable Throwable why) {
      losses++;
      assertEquals(1, losses);
      cause = why;
    }

    @Override
    public String toString() {
      return "rank "
          + rank
          + " has sent "
          + sent.size()
          + " of "
          + toSend.size()
          + " frames and got "
          + received.size()
          + "; "
          + cause;
    }
  }

  /** A frame, as it is to be sent or has arrived. */
  private static final class Frame implements FrameBody {
    final FrameHeader header = new FrameHeader();
    final byte[] bytes;

    Frame(int length) {
      bytes = new byte[length];
      header.length = length;
    }

    int streamLength() {
      return FrameCodec.HEADER_LENGTH + FrameCodec.padded(bytes.length);
    }

    boolean isSame(Frame other) {
      return header.toString().equals(other.header.toString())
          && header.tag == other.header.tag
          && Arrays.equals(bytes, other.bytes);
    }

    void assertSame(Frame other) {
      assertEquals(other.header.toString(), header.toString());
      assertEquals(other.header.tag, header.tag);
      assertArrayEquals(other.bytes, bytes);
    }

    @Override
    public int length() {
      return bytes.length;
    }

    @Override
    public void store(FrameBytes target, int at) {
      target.bytes().put(at, bytes);
    }

    @Override
    public void release() {}
  }
}
