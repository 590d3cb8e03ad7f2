package io.collectives.testkit;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.collectives.CallSettings;
import io.collectives.ProtocolException;
import io.collectives.spi.BodyViews;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.FrameSink;
import io.collectives.spi.InlineExchange;
import io.collectives.spi.LeasableBody;
import io.collectives.spi.Link;
import io.collectives.spi.MemoryLeases;
import io.collectives.spi.Region;
import io.collectives.spi.Transport;
import io.collectives.spi.ViewSink;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The contract of every {@link Transport}. A subclass has methods that open transports and, if that
 * makes sense, kill one.
 *
 * <p>One thread polls all transports in turn wherever that is possible, so that a failure can be
 * repeated; nothing sleeps. Frames are short ({@link #FRAME_LENGTH}), so that queues are full soon.
 *
 * <p>One class because it is one contract: a transport that passes it can carry the engine's
 * frames.
 */
@Timeout(60)
public abstract class TransportContractTest {

  /** The frame length that the transports are opened with. */
  protected static final int FRAME_LENGTH = 16 * 1024;

  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(20);

  /** The time limit of waits that must end for another reason. */
  private static final long WAIT_NANOS = 2 * PATIENCE_NANOS;

  private final List<Peer> peers = new ArrayList<>();

  /**
   * Opens the transports of all ranks of a job, in the order of ranks. The contract closes them.
   */
  protected abstract List<Transport> open(int ranks, CallSettings calls) throws Exception;

  /** Ends a transport as if its process had died: without a goodbye. */
  protected void kill(Transport transport) {
    Assumptions.abort("this transport cannot be killed");
  }

  /** Returns whether bodies are copied wherever they lie, as those that have checksums are. */
  protected boolean copiesAllBodies() {
    return false;
  }

  /** Closes what a test has left open, all at once: one that closes alone waits for the others. */
  @AfterEach
  protected void closeAll() {
    List<Thread> closing =
        peers.stream().map(peer -> new Thread(peer.transport::close, "contract-close")).toList();
    closing.forEach(Thread::start);
    for (Thread thread : closing) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }
  }

  @Test
  void knowsWhereItIs() throws Exception {
    open(3);
    for (int i = 0; i < 3; i++) {
      assertEquals(i, peers.get(i).transport.rank());
      assertEquals(3, peers.get(i).transport.size());
    }
  }

  @Test
  void deliversBodiesOfAnyLength() throws Exception {
    open(2);
    int[] lengths = {0, 1, 7, 8, 9, 63, 64, 65, 4095, FRAME_LENGTH - 1, FRAME_LENGTH, 0, 0, 3};
    for (int from = 0; from < 2; from++) {
      for (int length : lengths) {
        peers.get(from).send(1 - from, frame(length, length), content(length, length));
      }
      Peer to = peers.get(1 - from);
      pumpUntil(() -> to.from(1 - to.rank()).size() == lengths.length);
      for (int i = 0; i < lengths.length; i++) {
        to.from(1 - to.rank()).get(i).check(lengths[i], "length " + lengths[i]);
      }
    }
  }

  @Test
  void keepsHeaders() throws Exception {
    open(2);
    FrameHeader header = new FrameHeader();
    header.group = 0x8123456789abcdefL;
    header.sequence = Long.MAX_VALUE;
    header.slab = 1;
    header.lane = 2;
    header.round = Integer.MAX_VALUE;
    header.firstChunk = 4;
    header.chunkCount = 5;
    header.length = 16;
    header.tag = Long.MIN_VALUE + 6;
    for (int i = 0; i < header.call.length; i++) {
      header.call[i] = -1L << i;
    }
    String before = header.toString();
    Body body = content(16, 1);
    assertTrue(peers.get(0).link(1).trySend(header, body));
    FrameHeader sent = new FrameHeader();
    sent.copyFrom(header);
    header.copyFrom(new FrameHeader()); // The transport has its own copy.
    pumpUntil(() -> peers.get(1).from(0).size() == 1);
    FrameHeader got = peers.get(1).from(0).get(0).header;
    assertEquals(before, got.toString());
    assertEquals(sent.kind, got.kind);
    assertEquals(sent.tag, got.tag);
    assertArrayEquals(sent.call, got.call);
  }

  /** Only the engine can judge what a field means, so any value that can be is delivered. */
  @Test
  void keepsFieldsOfAnyValue() throws Exception {
    open(2);
    List<FrameHeader> sent = new ArrayList<>();
    for (FrameHeader.Kind kind : FrameHeader.Kind.values()) {
      for (Consumer<FrameHeader> change : POSSIBLE) {
        FrameHeader header = headerOf(kind);
        change.accept(header);
        if (canBe(header)) {
          sent.add(header);
          peers.get(0).send(1, header, content(header.length, 0));
        }
      }
    }
    assertTrue(sent.size() > POSSIBLE.size(), "those of transfers, and some of each other kind");
    pumpUntil(() -> peers.get(1).from(0).size() == sent.size());
    for (int i = 0; i < sent.size(); i++) {
      FrameHeader got = peers.get(1).from(0).get(i).header;
      assertEquals(sent.get(i).toString(), got.toString());
      assertEquals(sent.get(i).tag, got.tag);
      assertArrayEquals(sent.get(i).call, got.call);
    }
  }

  private static boolean canBe(FrameHeader header) {
    try {
      header.check(0, 1);
      return true;
    } catch (ProtocolException e) {
      return false;
    }
  }

  /** A header that no call can have ends the link at once, at both ends, and names the sender. */
  @Test
  void endsTheLinkOfWhoSendsHeadersThatCannotBe() throws Exception {
    List<FrameHeader> impossible = new ArrayList<>();
    for (FrameHeader.Kind kind : FrameHeader.Kind.values()) {
      FrameHeader header = headerOf(kind);
      header.length = header.length == 0 ? 8 : 0;
      if (kind != FrameHeader.Kind.DATA) { // A transfer has a body or not.
        impossible.add(header);
      }
      // A field of every kind is one and the same to a transport.
      FrameHeader negative = headerOf(kind);
      NEGATIVE.get(kind.ordinal()).accept(negative);
      impossible.add(negative);
      FrameHeader more = headerOf(kind);
      more.chunkCount = 7;
      if (kind != FrameHeader.Kind.DATA) { // All others say nothing of chunks.
        impossible.add(more);
      }
    }
    int ranks = 5;
    for (int i = 0; i < impossible.size(); i++) {
      FrameHeader header = impossible.get(i);
      int to = 1 + i % (ranks - 1); // Each goes by a link of its own.
      if (to == 1) {
        closeAll();
        peers.clear();
        open(ranks);
      }
      exchange(0, to);
      Body body = content(header.length, 0);
      peers.get(0).send(to, header, body);
      pumpUntil(() -> peers.get(to).isLost(0) && peers.get(0).isLost(to));
      Throwable why = peers.get(to).lost.get(0);
      ProtocolException error = assertInstanceOf(ProtocolException.class, why, header.toString());
      assertTrue(
          Kit.message(error)
              .contains("rank 0 sent to rank " + to + " a frame that cannot be: " + header),
          error.getMessage());
      assertNotNull(
          peers.get(0).lost.get(to), "rank " + to + " lives, but not as a peer of rank 0");
      assertEquals(1, peers.get(to).from(0).size(), "nothing of " + header + " is delivered");
      assertEquals(1, body.releases.get(), "releases of the body of " + header);
    }
  }

  private static final List<Consumer<FrameHeader>> POSSIBLE =
      List.of(
          h -> {},
          h -> h.group = -1,
          h -> h.group = Long.MIN_VALUE,
          h -> h.sequence = Long.MAX_VALUE,
          h -> h.slab = Integer.MAX_VALUE,
          h -> h.lane = Integer.MAX_VALUE,
          h -> h.round = Integer.MAX_VALUE,
          h -> h.firstChunk = Integer.MAX_VALUE,
          h -> h.chunkCount = Integer.MAX_VALUE,
          h -> h.tag = -1,
          h -> Arrays.fill(h.call, -1));

  /** A header change for each kind. */
  private static final List<Consumer<FrameHeader>> NEGATIVE =
      List.of(
          h -> h.sequence = -1,
          h -> h.slab = -1,
          h -> h.lane = -1,
          h -> h.round = Integer.MIN_VALUE,
          h -> h.firstChunk = -1,
          h -> h.chunkCount = -1);

  /** A header that can be. */
  private static FrameHeader headerOf(FrameHeader.Kind kind) {
    FrameHeader header = new FrameHeader();
    header.kind = kind;
    header.length =
        switch (kind) {
          case DATA, FAILURE, AGREEMENT -> 8;
          case HEARTBEAT, ECHO, WAITING -> 0;
        };
    return header;
  }

  @Test
  void keepsTheOrderOfThousandsOfFrames() throws Exception {
    open(2);
    long seed = System.nanoTime();
    Random random = new Random(seed);
    int count = 3000;
    for (int i = 0; i < count; i++) {
      int length = random.nextInt(4) > 0 ? random.nextInt(200) : random.nextInt(FRAME_LENGTH + 1);
      peers.get(0).send(1, frame(i, length), content(length, i));
    }
    pumpUntil(() -> peers.get(1).from(0).size() == count);
    for (int i = 0; i < count; i++) {
      peers.get(1).from(0).get(i).check(i, "seed " + seed);
    }
  }

  @Test
  void carriesFramesBothWaysAtOnce() throws Exception {
    open(2);
    int count = 200;
    for (int i = 0; i < count; i++) {
      peers.get(0).send(1, frame(i, FRAME_LENGTH), content(FRAME_LENGTH, i));
      peers.get(1).send(0, frame(i, FRAME_LENGTH), content(FRAME_LENGTH, i));
    }
    pumpUntil(() -> peers.get(1).from(0).size() == count && peers.get(0).from(1).size() == count);
    for (int i = 0; i < count; i++) {
      peers.get(0).from(1).get(i).check(i, "to rank 0");
      peers.get(1).from(0).get(i).check(i, "to rank 1");
    }
  }

  @Test
  void connectsAllPairs() throws Exception {
    open(4);
    for (int i = 0; i < 50; i++) {
      for (Peer from : peers) {
        for (Peer to : peers) {
          if (from != to) {
            from.send(
                to.rank(),
                frame(from.rank() * 1000 + i, 100),
                content(100, from.rank() * 1000 + i));
          }
        }
      }
    }
    for (Peer to : peers) {
      for (Peer from : peers) {
        if (from != to) {
          pumpUntil(() -> to.from(from.rank()).size() == 50);
          for (int i = 0; i < 50; i++) {
            to.from(from.rank())
                .get(i)
                .check(from.rank() * 1000 + i, from.rank() + " to " + to.rank());
          }
        }
      }
    }
  }

  @Test
  void refusesFramesWhenTheReceiverDoesNotPoll() throws Exception {
    open(2);
    exchange(0, 1);
    Peer sender = peers.get(0);
    int count = fill(sender, 1);
    int all = count + 100;
    for (int i = count; i < all; i++) {
      sender.send(1, frame(i, FRAME_LENGTH), content(FRAME_LENGTH, i));
    }
    pumpUntil(() -> peers.get(1).from(0).size() == all + 1);
    for (int i = 0; i < all; i++) {
      peers.get(1).from(0).get(i + 1).check(i, "after the queue was full");
    }
  }

  @Test
  void releasesEachBodyOnce() throws Exception {
    open(2);
    List<Body> bodies = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      bodies.add(content(i * 10, i));
      peers.get(0).send(1, frame(i, i * 10), bodies.get(i));
    }
    pumpUntil(() -> peers.get(1).from(0).size() == 100);
    for (Body body : bodies) {
      assertEquals(1, body.releases.get(), "releases of " + body.content.length + " bytes");
    }
  }

  @Test
  void leavesMessagesInline() throws Exception {
    open(3);
    assumeExchange();
    FrameBytes taken = new FrameBytes(ByteBuffer.allocateDirect(InlineExchange.CAPACITY));
    int[] lengths = {0, 1, 8, 9, InlineExchange.CAPACITY - 1, InlineExchange.CAPACITY};
    long[] call = new long[FrameHeader.CALL_WORDS];
    for (int turn = 0; turn < 3 * lengths.length; turn++) {
      int length = lengths[turn % lengths.length];
      int slot = turn % InlineExchange.SLOTS;
      long number = turn + 5;
      for (int from = 0; from < 3; from++) {
        int to = (from + 1) % 3;
        if (!exchanges(from, to)) {
          continue;
        }
        assertFalse(
            peers.get(to).exchange().take(from, slot, number, call, taken, length),
            "nothing is there");
        long[] fingerprint = {from, turn, -1, Long.MAX_VALUE, 0, number};
        Body body = content(length, 10 * turn + from);
        InlineExchange exchange = peers.get(from).exchange();
        pumpUntil(() -> exchange.post(to, slot, number, fingerprint, body));
        assertEquals(0, body.releases.get(), "it belongs to the sender");
        assertFalse(
            peers.get(to).exchange().take(from, slot, number + 1, call, taken, length),
            "another message was wanted");
        assertTrue(peers.get(to).exchange().take(from, slot, number, call, taken, length));
        assertArrayEquals(fingerprint, call);
        byte[] bytes = new byte[length];
        taken.bytes().get(0, bytes);
        assertArrayEquals(body.content, bytes);
      }
    }
    assertTrue(peers.stream().allMatch(peer -> peer.received.isEmpty()), "there are no frames");
  }

  /**
   * A rank that has sent a message may leave the job: the message can be received until the end of
   * its link is reported.
   */
  @Test
  void messagesOutliveTheirSender() throws Exception {
    open(2);
    assumeExchange();
    Assumptions.assumeTrue(exchanges(0, 1), "not between these two");
    Peer reader = peers.get(1);
    long[] call = new long[FrameHeader.CALL_WORDS];
    pumpUntil(() -> peers.get(0).exchange().post(1, 0, 1, call, content(8, 3)));
    List<byte[]> taken = new ArrayList<>();
    reader.onLoss =
        () -> {
          FrameBytes room = new FrameBytes(ByteBuffer.allocateDirect(InlineExchange.CAPACITY));
          if (reader.exchange().take(0, 0, 1, call, room, 8)) {
            byte[] bytes = new byte[8];
            room.bytes().get(0, bytes);
            taken.add(bytes);
          }
        };
    Future<?> closing = start(peers.get(0).transport::close);
    long end = System.nanoTime() + PATIENCE_NANOS;
    while (!reader.isLost(0) && System.nanoTime() - end < 0) {
      reader.pollOnce();
    }
    join(closing);
    assertEquals(1, taken.size());
    assertArrayEquals(content(8, 3).content, taken.get(0));
  }

  private boolean exchanges(int from, int to) {
    InlineExchange exchange = peers.get(from).transport.capability(InlineExchange.class);
    return exchange != null && exchange.exchangesWith(to);
  }

  private void assumeExchange() {
    Assumptions.assumeTrue(
        peers.get(0).transport.capability(InlineExchange.class) != null, "no inline exchange");
  }

  /** Bodies that stay where they are, if the transport can do that. */
  @Test
  void deliversViews() throws Exception {
    open(3);
    Assumptions.assumeTrue(
        peers.get(0).transport.capability(BodyViews.class) != null, "no views of bodies");
    for (Peer peer : peers) {
      Objects.requireNonNull(peer.transport.capability(BodyViews.class)).viewBy(peer);
    }
    int[] lengths = {0, 1, 8, 4095, FRAME_LENGTH, 0, 3};
    List<Body> bodies = new ArrayList<>();
    for (int i = 0; i < lengths.length; i++) {
      bodies.add(content(lengths[i], i));
      peers.get(0).send(1, frame(i, lengths[i]), bodies.get(i));
      peers.get(2).send(1, frame(i, lengths[i]), content(lengths[i], i));
    }
    Peer to = peers.get(1);
    pumpUntil(() -> to.from(0).size() == lengths.length && to.from(2).size() == lengths.length);
    for (int i = 0; i < lengths.length; i++) {
      to.from(0).get(i).check(i, "length " + lengths[i]);
      to.from(2).get(i).check(i, "length " + lengths[i]);
      assertEquals(1, bodies.get(i).releases.get(), "releases of " + lengths[i] + " bytes");
    }
    assertEquals(10, to.views, "every frame with a body, and no other");
  }

  /**
   * A body in a region that a rank has announced is leased to the peers that it reaches as soon as
   * they have mapped it, and copied before that, after its end, and to all others.
   */
  @Test
  void leasesWhatLiesInAnAnnouncedRegionToWhomItReaches() throws Exception {
    open(3);
    List<@Nullable MemoryLeases> leases = new ArrayList<>();
    for (Peer peer : peers) {
      MemoryLeases of = peer.transport.capability(MemoryLeases.class);
      leases.add(of);
      if (of != null) {
        of.viewBy(peer);
      }
    }
    Assumptions.assumeTrue(leases.stream().anyMatch(Objects::nonNull), "no leases");
    for (int from = 0; from < 3; from++) {
      MemoryLeases of = leases.get(from);
      if (of == null) {
        continue;
      }
      Region region = of.createRegion(FRAME_LENGTH + 64, new int[] {0, 1, 2});
      region.announce();
      for (int to = 0; to < 3; to++) {
        MemoryLeases theirs = leases.get(to);
        if (to == from) {
          continue;
        }
        assertEquals(of.reaches(to), theirs != null && theirs.reaches(from), from + " and " + to);
        boolean reaches = of.reaches(to) && !copiesAllBodies();
        int views = peers.get(to).views;
        int copies = 0;
        RegionBody body = sendFrom(region, from, to, 0);
        while (reaches && body.lease == null) {
          assertTrue(copies++ < 100, "rank " + to + " has polled, but maps nothing");
          body = sendFrom(region, from, to, copies);
        }
        assertEquals(reaches ? views + 1 : views, peers.get(to).views);
        assertEquals(!reaches, body.isReleased);
        LeasableBody.Lease lease = body.lease;
        if (lease != null) {
          pumpUntil(lease::isOver);
        }
      }
      region.close();
      exchange(from, (from + 1) % 3);
      exchange(from, (from + 2) % 3);
      assertTrue(peers.stream().allMatch(peer -> peer.lost.isEmpty()), "its end is no loss");
    }
  }

  /**
   * Memory of a peer that a rank holds can be read until the rank closes its own region, whatever
   * becomes of the peer.
   */
  @Test
  void heldMemoryOutlivesItsOwner() throws Exception {
    open(2);
    List<Region> regions = new ArrayList<>();
    for (Peer peer : peers) {
      MemoryLeases of = peer.transport.capability(MemoryLeases.class);
      Assumptions.assumeTrue(of != null && of.reaches(1 - peer.transport.rank()), "no leases");
      of.viewBy(peer);
      regions.add(of.createRegion(FRAME_LENGTH, new int[] {0, 1}));
    }
    Region reader = regions.get(1);
    assertThrows(IOException.class, () -> reader.hold(0), "it is not mapped");
    regions.get(0).map(1, reader.number());
    reader.map(0, regions.get(0).number());
    FrameBytes held = reader.hold(0);
    regions.forEach(Region::share);
    exchange(0, 1);
    byte[] content = content(FRAME_LENGTH, 7).content;
    regions.get(0).bytes().put(0, content);
    regions.get(0).close();
    exchange(0, 1);
    assertHeld(content, held);
    Future<?> closing = start(peers.get(0).transport::close);
    long end = System.nanoTime() + PATIENCE_NANOS;
    while (!peers.get(1).isLost(0) && System.nanoTime() - end < 0) {
      peers.get(1).pollOnce();
    }
    join(closing);
    assertHeld(content, held);
    reader.close();
  }

  private static void assertHeld(byte[] content, FrameBytes held) {
    byte[] bytes = new byte[content.length];
    held.bytes().get(0, bytes);
    assertArrayEquals(content, bytes);
  }

  /** Sends other bytes of a region each time, and checks what arrives. */
  private RegionBody sendFrom(Region region, int from, int to, int number) {
    byte[] content = content(FRAME_LENGTH, number).content;
    region.bytes().put(64, content);
    RegionBody body = new RegionBody(region, 64, FRAME_LENGTH);
    int sent = peers.get(to).from(from).size() + 1;
    while (!peers.get(from).link(to).trySend(frame(number, FRAME_LENGTH), body)) {
      peers.forEach(Peer::pollOnce);
    }
    pumpUntil(() -> peers.get(to).from(from).size() == sent);
    peers.get(to).from(from).get(sent - 1).check(number, "from rank " + from + " to " + to);
    return body;
  }

  /**
   * A transport answers the second question for a capability as the first, on all ranks, with and
   * without a link.
   */
  @Test
  void hasTheSameCapabilitiesEachTime() throws Exception {
    open(2);
    exchange(0, 1);
    for (Class<?> kind : List.of(BodyViews.class, InlineExchange.class, MemoryLeases.class)) {
      Object one = peers.get(0).transport.capability(kind);
      assertSame(one, peers.get(0).transport.capability(kind));
      Object other = peers.get(1).transport.capability(kind);
      assertEquals(one == null, other == null, kind.getSimpleName());
    }
    assertNull(peers.get(0).transport.capability(CharSequence.class), "nobody can do that");
  }

  @Test
  void hasOneLinkForEachPeer() throws Exception {
    open(3);
    Link link = peers.get(1).link(2);
    assertEquals(2, link.peer());
    assertSame(link, peers.get(1).link(2));
    assertThrows(IllegalArgumentException.class, () -> peers.get(1).link(1));
    assertThrows(IndexOutOfBoundsException.class, () -> peers.get(1).link(3));
    exchange(1, 2);
    assertSame(link, peers.get(1).link(2));
    assertSame(
        peers.get(2).link(1), peers.get(2).from(1).get(0).link, "the sink sees the same link");
  }

  @Test
  void opensOnlyTheLinksThatSomebodyWants() throws Exception {
    open(3);
    exchange(0, 2);
    exchange(2, 0);
    peers.get(0).transport.close();
    pumpUntil(() -> peers.get(2).isLost(0));
    for (int i = 0; i < 100; i++) {
      peers.get(1).pollOnce();
    }
    assertTrue(
        peers.get(1).received.isEmpty() && peers.get(1).lost.isEmpty(),
        "rank 1 had nothing to do with it");
  }

  @Test
  void wakeupEndsAwait() throws Exception {
    open(2);
    exchange(0, 1);
    exchange(1, 0);
    Transport transport = peers.get(0).transport;
    transport.wakeup(); // Before there is anything to end.
    awaitShortly(transport);
    CountDownLatch waiting = new CountDownLatch(1);
    Future<?> waiter =
        start(
            () -> {
              waiting.countDown();
              transport.await(WAIT_NANOS);
            });
    waiting.await();
    transport.wakeup();
    join(waiter);
  }

  @Test
  void awaitEndsWhenItsTimeIsOver() throws Exception {
    open(2);
    exchange(0, 1);
    for (int i = 0; i < 10; i++) {
      peers.get(0).transport.await(TimeUnit.MILLISECONDS.toNanos(2));
    }
  }

  @Test
  void awaitEndsWhenSomethingArrives() throws Exception {
    open(2);
    exchange(0, 1);
    exchange(1, 0);
    for (int i = 0; i < 20; i++) {
      int frames = i + 2;
      Peer to = peers.get(1);
      peers.get(0).send(1, frame(i, 8), content(8, i));
      while (to.from(0).size() < frames) {
        awaitShortly(to.transport);
        to.pollOnce();
        peers.get(0).pollOnce();
      }
    }
  }

  @Test
  void awaitEndsWhenThereIsRoomToSend() throws Exception {
    open(2);
    exchange(0, 1);
    Peer sender = peers.get(0);
    Peer receiver = peers.get(1);
    int count = fill(sender, 1);
    int all = count + 200;
    Future<?> sending =
        start(
            () -> {
              for (int i = count; i < all; i++) {
                Body body = content(FRAME_LENGTH, i);
                while (!sender.link(1).trySend(frame(i, FRAME_LENGTH), body)) {
                  sender.transport.await(WAIT_NANOS);
                  sender.transport.poll(sender);
                }
              }
            });
    long end = System.nanoTime() + PATIENCE_NANOS;
    while (!sending.isDone()) {
      receiver.pollOnce();
      assertTrue(System.nanoTime() - end < 0, "nobody told the sender that there is room");
    }
    join(sending);
    pumpUntil(() -> receiver.from(0).size() == all + 1);
    for (int i = 0; i < all; i++) {
      receiver.from(0).get(i + 1).check(i, "after the queue was full");
    }
  }

  @Test
  void awaitMovesNothing() throws Exception {
    open(2);
    exchange(0, 1);
    peers.get(0).send(1, frame(0, 8), content(8, 0));
    for (int i = 0; i < 3; i++) {
      peers.get(0).pollOnce();
      awaitShortly(peers.get(1).transport);
    }
    assertEquals(1, peers.get(1).from(0).size());
    pumpUntil(() -> peers.get(1).from(0).size() == 2);
  }

  @Test
  void sendsFromWithinTheSink() throws Exception {
    open(2);
    Peer echo = peers.get(1);
    echo.onFrame =
        frame ->
            assertTrue(
                echo.link(0).trySend(frame.header, new Body(frame.bytes)), "room for few frames");
    for (int i = 0; i < 20; i++) {
      peers.get(0).send(1, frame(i, 100), content(100, i));
    }
    pumpUntil(() -> peers.get(0).from(1).size() == 20);
    for (int i = 0; i < 20; i++) {
      peers.get(0).from(1).get(i).check(i, "echo");
    }
  }

  @Test
  void throwsWhatTheSinkThrows() throws Exception {
    open(2);
    peers.get(0).send(1, frame(0, 8), content(8, 0));
    IllegalStateException thrown = new IllegalStateException("thrown by the sink on purpose");
    peers.get(1).onFrame =
        frame -> {
          throw thrown;
        };
    assertSame(thrown, assertThrows(IllegalStateException.class, () -> pumpUntil(() -> false)));
    peers.get(1).onFrame = frame -> {};
    peers.get(0).send(1, frame(1, 8), content(8, 1));
    pumpUntil(() -> peers.get(1).from(0).size() == 2);
  }

  @Test
  void tellsWhoLeavesAfterAllTheirFrames() throws Exception {
    open(2);
    exchange(1, 0);
    for (int from = 0; from < 10; from++) {
      peers.get(0).send(1, frame(from, 1000), content(1000, from));
    }
    Peer other = peers.get(1);
    other.onLoss = () -> assertEquals(10, other.from(0).size(), "frames before the loss");
    peers.get(0).transport.close();
    pumpUntil(() -> other.isLost(0));
    assertNull(other.lost.get(0), "no cause, as rank 0 said that it leaves");
    assertEquals(0, peers.get(0).pollOnce());
    assertTrue(peers.get(0).lost.isEmpty(), "who leaves loses nobody");
  }

  @Test
  void leavesNoFrameBehindWhileTheOtherSends() throws Exception {
    open(2);
    exchange(0, 1);
    Peer leaver = peers.get(0);
    Peer other = peers.get(1);
    int count = fill(leaver, 1);
    Future<?> closing = start(leaver.transport::close);
    long end = System.nanoTime() + PATIENCE_NANOS;
    for (int i = 0; !other.isLost(0); i++) {
      other.link(0).trySend(frame(i, FRAME_LENGTH), content(FRAME_LENGTH, 0));
      other.pollOnce();
      assertTrue(System.nanoTime() - end < 0, "the goodbye has not come");
    }
    join(closing);
    assertNull(other.lost.get(0), "rank 0 said that it leaves");
    assertEquals(count + 1, other.from(0).size(), "frames before the goodbye");
  }

  @Test
  void acceptsAndDropsFramesForWhoHasLeft() throws Exception {
    open(2);
    exchange(0, 1);
    peers.get(1).transport.close();
    pumpUntil(() -> peers.get(0).isLost(1));
    for (int i = 0; i < 100; i++) {
      Body body = content(FRAME_LENGTH, i);
      assertTrue(peers.get(0).link(1).trySend(frame(i, FRAME_LENGTH), body));
      assertEquals(1, body.releases.get());
      peers.get(0).pollOnce();
    }
    assertEquals(1, peers.get(0).losses.get(), "reported once");
  }

  @Test
  void tellsWhoDies() throws Exception {
    open(3);
    exchange(0, 1);
    exchange(1, 2);
    kill(peers.get(1).transport);
    pumpUntil(() -> peers.get(0).isLost(1) && peers.get(2).isLost(1));
    assertNotNull(peers.get(0).lost.get(1));
    assertNotNull(peers.get(2).lost.get(1));
    exchange(2, 0);
  }

  @Test
  void tellsWhoDiesWhileFramesForThemWait() throws Exception {
    open(2);
    exchange(0, 1);
    for (int i = 0; i < 10_000; i++) {
      if (!peers.get(0).link(1).trySend(frame(i, FRAME_LENGTH), content(FRAME_LENGTH, i))) {
        break;
      }
    }
    kill(peers.get(1).transport);
    pumpUntil(() -> peers.get(0).isLost(1));
    assertNotNull(peers.get(0).lost.get(1));
  }

  @Test
  void closesTwice() throws Exception {
    open(2);
    exchange(0, 1);
    Peer peer = peers.get(0);
    Link link = peer.link(1);
    peer.transport.close();
    peer.transport.close();
    assertEquals(0, peer.pollOnce());
    awaitShortly(peer.transport);
    peer.transport.wakeup();
    Body body = content(8, 0);
    assertTrue(link.trySend(frame(0, 8), body), "accepted and dropped");
    assertEquals(1, body.releases.get());
  }

  @Test
  void closesFromWithinTheSink() throws Exception {
    open(2);
    Peer peer = peers.get(1);
    peer.onFrame = frame -> peer.transport.close();
    peers.get(0).send(1, frame(0, 8), content(8, 0));
    pumpUntil(() -> peers.get(0).isLost(1));
    assertNull(peers.get(0).lost.get(1));
  }

  @Test
  void closesWhileAnotherThreadPolls() throws Exception {
    open(2);
    exchange(0, 1);
    Peer peer = peers.get(1);
    CountDownLatch polled = new CountDownLatch(1000);
    AtomicInteger closed = new AtomicInteger();
    Future<?> poller =
        start(
            () -> {
              while (closed.get() == 0) {
                peer.transport.poll(peer);
                polled.countDown();
              }
              assertEquals(0, peer.transport.poll(peer));
            });
    polled.await();
    peer.transport.close();
    closed.set(1);
    join(poller);
  }

  @Test
  void closesWhileAnotherThreadWaits() throws Exception {
    open(2);
    exchange(0, 1);
    Transport transport = peers.get(1).transport;
    CountDownLatch waiting = new CountDownLatch(1);
    Future<?> waiter =
        start(
            () -> {
              waiting.countDown();
              transport.await(WAIT_NANOS);
            });
    waiting.await();
    transport.close();
    join(waiter);
  }

  /** Opens the transports of a job. */
  private void open(int ranks) throws Exception {
    for (Transport transport : open(ranks, CallSettings.defaults().withFrameLength(FRAME_LENGTH))) {
      peers.add(new Peer(transport));
    }
  }

  private static void awaitShortly(Transport transport) {
    long start = System.nanoTime();
    transport.await(WAIT_NANOS);
    assertTrue(System.nanoTime() - start < PATIENCE_NANOS, "await did not end");
  }

  /** Sends frames to a rank that does not poll, until no more are taken; returns how many were. */
  private int fill(Peer sender, int to) {
    int count = 0;
    for (int refusals = 0; refusals < 1000; sender.pollOnce()) {
      Body body = content(FRAME_LENGTH, count);
      if (sender.link(to).trySend(frame(count, FRAME_LENGTH), body)) {
        count++;
        refusals = 0;
      } else {
        assertEquals(0, body.releases.get(), "a refused body still belongs to the caller");
        refusals++;
        if (refusals % 100 == 0) {
          sender.transport.await(1000); // Sleeping must not make room that is not there.
        }
      }
      assertTrue(count < 64 * 1024 * 1024 / FRAME_LENGTH, "the queue has no bound");
    }
    return count;
  }

  /** Sends one frame from one rank to another. */
  private void exchange(int from, int to) {
    int before = peers.get(to).from(from).size();
    peers.get(from).send(to, frame(0, 8), content(8, 0));
    pumpUntil(() -> peers.get(to).from(from).size() > before);
  }

  /** Lets all ranks poll in turn until something is so. */
  private void pumpUntil(BooleanSupplier condition) {
    long end = System.nanoTime() + PATIENCE_NANOS;
    while (!condition.getAsBoolean()) {
      peers.forEach(Peer::pollOnce);
      if (System.nanoTime() - end > 0) {
        fail(
            "waited too long; received "
                + peers.stream().map(p -> p.received.keySet() + " " + p.lost).toList());
      }
    }
  }

  private static FrameHeader frame(int number, int length) {
    FrameHeader header = new FrameHeader();
    header.sequence = number;
    header.length = length;
    return header;
  }

  private static Body content(int length, int seed) {
    byte[] bytes = new byte[length];
    new SplittableRandom(seed).nextBytes(bytes);
    return new Body(bytes);
  }

  private static Future<?> start(Runnable action) {
    FutureTask<?> task = new FutureTask<>(action, null);
    Thread thread = new Thread(task, "contract-test");
    thread.setDaemon(true);
    thread.start();
    return task;
  }

  private static void join(Future<?> task) throws Exception {
    task.get(PATIENCE_NANOS, TimeUnit.NANOSECONDS);
  }

  /** A body that knows whether it is treated as it must be. */
  private static final class Body implements FrameBody {
    final byte[] content;
    final AtomicInteger releases = new AtomicInteger();

    Body(byte[] content) {
      this.content = content;
    }

    @Override
    public int length() {
      return content.length;
    }

    @Override
    public void store(FrameBytes target, int at) {
      assertEquals(0, at % 8, "bodies are stored at multiples of 8");
      assertEquals(0, releases.get(), "a released body is not read");
      target.bytes().put(at, content);
    }

    @Override
    public void release() {
      assertEquals(1, releases.incrementAndGet(), "a body is released once");
    }
  }

  /** A frame that has arrived, or is arriving. */
  private static final class Frame {
    final Link link;
    final FrameHeader header = new FrameHeader();
    final byte[] bytes;
    int length;

    Frame(Link link, FrameHeader header) {
      this.link = link;
      this.header.copyFrom(header);
      bytes = new byte[header.length];
    }

    void check(int number, String what) {
      assertEquals(number, header.sequence, what);
      assertArrayEquals(content(bytes.length, number).content, bytes, what);
    }
  }

  private record Waiting(int to, FrameHeader header, Body body) {}

  /** A rank: sends what it is told to as soon as it can, and keeps what arrives. */
  private static final class Peer implements FrameSink, ViewSink {
    final Transport transport;
    final Queue<Waiting> outbox = new ArrayDeque<>();
    final Map<Integer, Frame> arriving = new HashMap<>();
    final Map<Integer, List<Frame>> received = new HashMap<>();
    final Map<Integer, @Nullable Throwable> lost = new HashMap<>();
    final AtomicInteger losses = new AtomicInteger();
    int views;
    Consumer<Frame> onFrame = frame -> {};
    Runnable onLoss = () -> {};

    Peer(Transport transport) {
      this.transport = transport;
    }

    int rank() {
      return transport.rank();
    }

    Link link(int peer) {
      return transport.link(peer);
    }

    InlineExchange exchange() {
      return Objects.requireNonNull(transport.capability(InlineExchange.class));
    }

    List<Frame> from(int peer) {
      return received.getOrDefault(peer, List.of());
    }

    boolean isLost(int peer) {
      return lost.containsKey(peer);
    }

    void send(int to, FrameHeader header, Body body) {
      outbox.add(new Waiting(to, header, body));
      flush();
    }

    int pollOnce() {
      flush();
      return transport.poll(this);
    }

    private void flush() {
      for (Waiting next = outbox.peek(); next != null; next = outbox.peek()) {
        if (!link(next.to).trySend(next.header, next.body)) {
          return;
        }
        outbox.remove();
      }
    }

    @Override
    public void header(Link link, FrameHeader header) {
      assertSame(link, link(link.peer()));
      assertFalse(isLost(link.peer()), "no frames after a loss");
      Frame frame = new Frame(link, header);
      assertNull(arriving.put(link.peer(), frame), "frames of a link do not mix");
      advance(frame, 0);
    }

    @Override
    public void bytes(Link link, FrameBytes source, int at, int length) {
      Frame frame = arriving.get(link.peer());
      assertNotNull(frame, "bytes after a header");
      assertTrue(length > 0);
      assertTrue(frame.length % 8 != 0 || at % 8 == 0, "8 bytes of a body lie at a multiple of 8");
      assertTrue(
          length % 8 == 0 || frame.length + length == frame.bytes.length,
          "pieces are multiples of 8");
      source.bytes().get(at, frame.bytes, frame.length, length);
      advance(frame, length);
    }

    @Override
    public void view(Link link, FrameHeader header, FrameBody source) {
      header(link, header);
      Frame frame = arriving.get(link.peer());
      assertNotNull(frame, "a view has a body");
      assertEquals(frame.bytes.length, source.length(), "a view is the whole body");
      views++;
      FrameBytes copy = new FrameBytes(ByteBuffer.allocate(source.length()));
      source.store(copy, 0);
      source.release();
      copy.bytes().get(0, frame.bytes);
      advance(frame, source.length());
    }

    private void advance(Frame frame, int length) {
      frame.length += length;
      if (frame.length == frame.bytes.length) {
        arriving.remove(frame.link.peer());
        received.computeIfAbsent(frame.link.peer(), peer -> new ArrayList<>()).add(frame);
        onFrame.accept(frame);
      }
    }

    @Override
    public void lost(Link link, @Nullable Throwable cause) {
      losses.incrementAndGet();
      lost.put(link.peer(), cause);
      onLoss.run();
    }
  }
}
