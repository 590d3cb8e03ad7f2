package io.collectives.engine.sharedmemory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.ProtocolException;
import io.collectives.Security;
import io.collectives.internal.FrameCodec;
import io.collectives.spi.BrokenLinkException;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.FrameSink;
import io.collectives.spi.LeasableBody;
import io.collectives.spi.LeasedBody;
import io.collectives.spi.Link;
import io.collectives.spi.Region;
import io.collectives.spi.ViewSink;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Bodies that are leased instead of copied, seen from both ends; rank 0 leases them to rank 1. */
@Timeout(60)
class LeasedBodyTest {
  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(20);
  private static final int LENGTH = 4096;

  @TempDir Path directory;

  private final List<SharedMemoryTransport> opened = new ArrayList<>();
  private final List<Heard> heard = new ArrayList<>();
  private final List<Region> regions = new ArrayList<>();

  @AfterEach
  void closeAll() throws IOException {
    opened.forEach(SharedMemoryTransport::close);
    try (Stream<Path> files = Files.list(directory)) {
      assertEquals(List.of(), files.toList());
    }
  }

  private void open(boolean checksums) throws IOException {
    opened.addAll(
        SharedMemoryJob.open(
            2,
            rank ->
                SharedMemoryJob.settings(rank, 2, directory)
                    .withSecurity(Security.none().withChecksums(checksums))));
    for (SharedMemoryTransport transport : opened) {
      Heard sink = new Heard();
      heard.add(sink);
      transport.viewBy(sink);
    }
    for (SharedMemoryTransport transport : opened) {
      regions.add(transport.createRegion(LENGTH, new int[] {0, 1}));
    }
    regions.get(0).map(1, regions.get(1).number());
    regions.get(1).map(0, regions.get(0).number());
    pumpUntil(() -> link(0).memory() != null && link(1).memory() != null);
    regions.forEach(Region::share);
    // Nobody needs to find them any more.
    pumpUntil(() -> opened.stream().allMatch(rank -> Files.notExists(rank.directory())));
  }

  private SharedMemoryLink link(int rank) {
    return (SharedMemoryLink) opened.get(rank).link(1 - rank);
  }

  private PairMemory memory(int rank) {
    return Objects.requireNonNull(link(rank).memory());
  }

  private void pumpUntil(BooleanSupplier condition) {
    long end = System.nanoTime() + PATIENCE_NANOS;
    while (!condition.getAsBoolean()) {
      for (int i = 0; i < opened.size(); i++) {
        opened.get(i).poll(heard.get(i));
      }
      assertTrue(System.nanoTime() - end < 0, () -> "waited too long: " + heard);
    }
  }

  private Offer lease(int offset, int length) {
    Offer offer = new Offer(regions.get(0), offset, length);
    FrameHeader header = new FrameHeader();
    header.length = length;
    assertTrue(link(0).trySend(header, offer));
    return offer;
  }

  private LeasedBody nextLeased() {
    int before = heard.get(1).views.size();
    pumpUntil(() -> heard.get(1).views.size() > before);
    return heard.get(1).views.get(before);
  }

  private static long longAt(FrameBytes region, int at) {
    return region.bytes().getLong(at);
  }

  @Test
  void theReceiverSeesAndWritesTheSendersMemory() throws Exception {
    open(false);
    ByteBuffer mine = regions.get(0).bytes().order(ByteOrder.LITTLE_ENDIAN);
    mine.putLong(64, 42);
    Offer offer = lease(64, 16);
    LeasedBody body = nextLeased();
    assertEquals(42, longAt(body.region(0), body.offset(0)));
    mine.putLong(64, 43);
    assertEquals(43, longAt(body.region(0), body.offset(0)), "it is the very memory");
    FrameBytes copy = new FrameBytes(ByteBuffer.allocate(24));
    body.store(copy, 8);
    assertEquals(43, copy.bytes().getLong(8));
    assertFalse(offer.isOver());
    assertTrue(body.holdOpen());
    FrameBytes target = Objects.requireNonNull(body.targetRegion(0));
    target.bytes().putLong(body.targetOffset(0), 44);
    assertFalse(body.isRevoked());
    body.release();
    assertTrue(offer.isOver());
    assertEquals(44, mine.getLong(64));
    assertFalse(offer.released, "a leased body is not released, the lease is over");
  }

  @Test
  void filesAreGoneAsSoonAsAllHaveMappedThem() throws Exception {
    open(false);
    try (Stream<Path> files = Files.walk(directory)) {
      assertEquals(List.of(), files.filter(file -> ("" + file).contains("region-")).toList());
    }
  }

  @Test
  void whatWasRevokedCannotBeHeldAndIsSeenToBeRevoked() throws Exception {
    open(false);
    Offer offer = lease(0, 8);
    LeasedBody body = nextLeased();
    Objects.requireNonNull(offer.lease).revoke();
    assertFalse(body.holdOpen());
    assertTrue(body.isRevoked());
    // Its state is not used again before the receiver has let go.
    for (int i = 0; i < Ring.LeaseStates.COUNT - 1; i++) {
      lease(0, 8);
      nextLeased();
    }
    assertFalse(hasFreeState());
    body.release();
    assertTrue(hasFreeState());
  }

  private boolean hasFreeState() {
    return IntStream.range(0, Ring.LeaseStates.COUNT)
        .anyMatch(state -> memory(0).leasesOut.isOver(state, 1));
  }

  @Test
  void revokingWaitsForWhoWrites() throws Exception {
    open(false);
    Offer offer = lease(0, 8);
    LeasedBody body = nextLeased();
    assertTrue(body.holdOpen());
    AtomicBoolean written = new AtomicBoolean();
    AtomicBoolean seen = new AtomicBoolean();
    Thread revoker =
        new Thread(
            () -> {
              Objects.requireNonNull(offer.lease).revoke();
              seen.set(written.get());
            },
            "revoker");
    revoker.start();
    while (revoker.getState() != Thread.State.TIMED_WAITING && revoker.isAlive()) {
      Thread.onSpinWait();
    }
    written.set(true);
    // As another process would.
    memory(1).leasesIn.end(0, 1);
    revoker.join(TimeUnit.NANOSECONDS.toMillis(PATIENCE_NANOS));
    assertTrue(seen.get(), "it returned before the writer had finished");
  }

  @Test
  void revokingDoesNotWaitForTheDead() throws Exception {
    open(false);
    Offer offer = lease(0, 8);
    assertTrue(nextLeased().holdOpen());
    opened.get(1).kill();
    Objects.requireNonNull(offer.lease).revoke();
    pumpUntil(() -> heard.get(0).lost != null);
  }

  @Test
  void whenAllStatesAreInUseBodiesAreCopied() throws Exception {
    open(false);
    List<Offer> offers = new ArrayList<>();
    for (int i = 0; i < Ring.LeaseStates.COUNT + 1; i++) {
      offers.add(lease(0, 8));
    }
    assertTrue(offers.get(Ring.LeaseStates.COUNT).released, "copied");
    pumpUntil(() -> heard.get(1).copies == 1);
    assertEquals(Ring.LeaseStates.COUNT, heard.get(1).views.size());
    heard.get(1).views.forEach(LeasedBody::release);
    assertTrue(offers.stream().limit(Ring.LeaseStates.COUNT).allMatch(Offer::isOver));
    lease(0, 8);
    nextLeased().release();
  }

  @Test
  void withChecksumsBodiesAreCopied() throws Exception {
    open(true);
    assertTrue(lease(0, 8).released);
    pumpUntil(() -> heard.get(1).copies == 1);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void afterOneRankHasClosedItsRegionBodiesAreCopiedAndBothAreUnmapped(int first) throws Exception {
    open(false);
    int[] numbers = {regions.get(0).number(), regions.get(1).number()};
    regions.get(first).close();
    pumpUntil(
        () -> link(0).regionOfPeer(numbers[1]) == null && link(1).regionOfPeer(numbers[0]) == null);
    if (first == 1) {
      assertTrue(lease(0, 8).released);
      pumpUntil(() -> heard.get(1).copies == 1);
    }
    regions.get(1 - first).close();
    assertNull(heard.get(0).lost);
    assertNull(heard.get(1).lost);
  }

  @Test
  void whatIsHeldStaysMappedUntilItsHolderEndsItsOwnRegion() throws Exception {
    open(false);
    int number = regions.get(0).number();
    PeerRegion held = Objects.requireNonNull(link(1).regionOfPeer(number));
    regions.get(1).hold(0);
    regions.get(0).close();
    pumpUntil(() -> link(1).regionOfPeer(number) == null);
    assertTrue(held.isMapped());
    regions.get(1).close();
    assertFalse(held.isMapped());
    assertThrows(IOException.class, () -> regions.get(1).hold(0));
  }

  /** A region that is announced needs no other one, and no file once it is mapped. */
  @Test
  void whatIsAnnouncedIsLeasedFromWhenThePeerHasMappedIt() throws Exception {
    open(false);
    Region alone = opened.get(0).createRegion(LENGTH, new int[] {0, 1});
    Path file = opened.get(0).directory().resolve("region-" + alone.number());
    assertTrue(Files.exists(file));
    alone.announce();
    assertFalse(opened.get(0).isShared(alone, 1), "nobody has mapped it");
    pumpUntil(() -> opened.get(0).isShared(alone, 1));
    assertTrue(Files.notExists(file));
    alone.bytes().put(100, (byte) 7);
    FrameHeader header = new FrameHeader();
    header.length = 8;
    assertTrue(link(0).trySend(header, new Offer(alone, 96, 8)));
    LeasedBody body = nextLeased();
    assertEquals(7, body.region(0).bytes().get(body.offset(0) + 4));
    body.release();
    alone.close();
    pumpUntil(() -> link(1).regionOfPeer(alone.number()) == null);
    assertTrue(lease(0, 8).lease != null, "other regions stay");
  }

  /** Bodies are copied then, and nothing is left. */
  @Test
  void whatIsAnnouncedAndCannotBeMappedIsNotLeased() throws Exception {
    open(false);
    Region lost = opened.get(0).createRegion(LENGTH, new int[] {0, 1});
    Region next = opened.get(0).createRegion(LENGTH, new int[] {0, 1});
    Files.delete(opened.get(0).directory().resolve("region-" + lost.number()));
    lost.announce();
    next.announce();
    pumpUntil(() -> opened.get(0).isShared(next, 1)); // The answer to the first came before.
    assertFalse(opened.get(0).isShared(lost, 1));
    lost.close();
    next.close();
    lease(0, 8);
    nextLeased();
    assertNull(heard.get(0).lost);
    assertNull(heard.get(1).lost);
  }

  /** The file of a region does not wait for the answer of a peer that is gone. */
  @Test
  void thePeerOfAnAnnouncedRegionDies() throws Exception {
    open(false);
    Region alone = opened.get(0).createRegion(LENGTH, new int[] {0, 1});
    alone.announce();
    opened.get(1).kill();
    pumpUntil(() -> heard.get(0).lost != null);
    pumpUntil(() -> Files.notExists(opened.get(0).directory()));
    alone.close();
  }

  /** The error in what is said of a region. */
  enum FaultyNote {
    MAPPED_UNASKED(RegionNote.Kind.MAPPED, 0, 0),
    MAPPED_BEFORE_IT_IS_MADE(RegionNote.Kind.MAPPED, 1, 0),
    EMPTY(RegionNote.Kind.ANNOUNCED, 5, 0),
    NEGATIVE(RegionNote.Kind.ANNOUNCED, 5, -1),
    TWICE(RegionNote.Kind.ANNOUNCED, 0, LENGTH);

    final RegionNote.Kind kind;
    final int offset;
    final int length;

    FaultyNote(RegionNote.Kind kind, int offset, int length) {
      this.kind = kind;
      this.offset = offset;
      this.length = length;
    }
  }

  @ParameterizedTest
  @EnumSource
  void faultyNotesCostTheLinkAndNothingElse(FaultyNote what) throws Exception {
    open(false);
    Ring.Writer writer = memory(0).out;
    int region = regions.get(what.kind == RegionNote.Kind.MAPPED ? 1 : 0).number() + what.offset;
    writer.note(writer.claim(Ring.SMALLEST_RECORD), new RegionNote(what.kind, region, what.length));
    writer.publish();
    pumpUntil(() -> heard.get(1).lost != null && heard.get(0).lost != null);
    assertInstanceOf(ProtocolException.class, heard.get(1).lost);
    assertInstanceOf(BrokenLinkException.class, heard.get(0).lost);
  }

  @Test
  void whatIsLeasedStaysMappedWhenItsRegionIsClosed() throws Exception {
    open(false);
    regions.get(0).bytes().put(100, (byte) 7);
    lease(100, 4);
    LeasedBody body = nextLeased();
    int number = regions.get(0).number();
    regions.get(0).close();
    pumpUntil(() -> link(1).regionOfPeer(number) == null);
    assertEquals(7, body.region(0).bytes().get(body.offset(0)));
    body.release();
  }

  @Test
  void aRegionThatHasEndedBeforeItIsMappedIsNot() throws Exception {
    open(false);
    Region late = opened.get(0).createRegion(LENGTH, new int[] {0, 1});
    Region other = opened.get(1).createRegion(LENGTH, new int[] {0, 1});
    Path file = opened.get(0).directory().resolve("region-" + late.number());
    Path kept = directory.resolve("kept");
    Files.move(file, kept);
    late.close();
    lease(0, 8);
    nextLeased(); // What was said before has been heard.
    Files.createDirectories(file.getParent());
    Files.move(kept, file);
    assertThrows(IOException.class, () -> other.map(0, late.number()));
    other.close();
    Files.delete(file);
    Files.delete(file.getParent());
  }

  @Test
  void whereThereIsNoPlaceForARegionThereIsAnErrorAndNothingIsLeft() throws Exception {
    open(false);
    Path inTheWay = Files.createFile(opened.get(0).directory());
    assertThrows(IOException.class, () -> opened.get(0).createRegion(LENGTH, new int[] {0, 1}));
    Files.delete(inTheWay);
    opened.get(0).createRegion(LENGTH, new int[] {0, 1}).close();
    assertTrue(Files.notExists(opened.get(0).directory()));
  }

  /** Of a rank's own region, and of the one of the other. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void aTruncatedRegionIsALostLinkOnBothSides(int owner) throws Exception {
    open(false);
    List<Region> more = new ArrayList<>();
    for (SharedMemoryTransport transport : opened) {
      more.add(transport.createRegion(LENGTH, new int[] {0, 1}));
    }
    Path path = opened.get(owner).directory().resolve("region-" + more.get(owner).number());
    try (FileChannel file = FileChannel.open(path, StandardOpenOption.WRITE)) {
      more.get(0).map(1, more.get(1).number());
      more.get(1).map(0, more.get(0).number());
      more.forEach(Region::share);
      FrameHeader header = new FrameHeader();
      header.length = 8;
      assertTrue(link(0).trySend(header, new Offer(more.get(0), 64, 8)));
      LeasedBody body = nextLeased();
      assertFalse(body.isRevoked());
      file.truncate(0);
      assertEquals(owner == 0, body.isRevoked(), "what was read may have been nothing");
    }
    pumpUntil(() -> heard.get(0).lost != null && heard.get(1).lost != null);
    String why = "" + heard.get(owner).lost;
    assertInstanceOf(BrokenLinkException.class, heard.get(owner).lost, "whose it was gives way");
    assertTrue(why.contains("a buffer that rank " + owner + " shares"), why);
    assertFalse(heard.get(1 - owner).lost instanceof BrokenLinkException);
  }

  /** The error in what a record says of a piece. */
  enum Fault {
    REGION,
    NEGATIVE_REGION,
    OFFSET,
    NEGATIVE_OFFSET,
    OVERFLOWING_OFFSET,
    LENGTH,
    NEGATIVE_LENGTH,
    SUM,
    TARGET_REGION,
    TARGET_OFFSET,
    NEGATIVE_TARGET_OFFSET,
    STATE,
    NEGATIVE_STATE,
    PLACED_WITH_PIECES,
    PIECES,
    NEGATIVE_PIECES,
    NO_PIECES,
    NO_BODY
  }

  @ParameterizedTest
  @EnumSource
  void faultsCostTheLinkAndNothingElse(Fault what) throws Exception {
    open(false);
    int region = regions.get(0).number();
    Ring.Writer writer = memory(0).out;
    int at = writer.claim((int) Ring.leasedLength(1));
    ByteBuffer words = writer.bytes().bytes();
    int state =
        switch (what) {
          case STATE -> Ring.LeaseStates.COUNT;
          case NEGATIVE_STATE -> -2;
          case PLACED_WITH_PIECES -> -1;
          default -> 0;
        };
    int headerAt = writer.lease(at, 1, state);
    int length = what == Fault.NEGATIVE_LENGTH ? -8 : what == Fault.LENGTH ? LENGTH : 8;
    int offset =
        switch (what) {
          case OFFSET -> LENGTH - 7;
          case LENGTH -> 1;
          case NEGATIVE_OFFSET -> -8;
          case OVERFLOWING_OFFSET -> Integer.MAX_VALUE - 3;
          default -> 0;
        };
    writer.piece(
        at,
        0,
        what == Fault.REGION ? region + 1 : what == Fault.NEGATIVE_REGION ? -1 : region,
        offset,
        length,
        what == Fault.TARGET_REGION ? region + 1 : region,
        what == Fault.TARGET_OFFSET
            ? LENGTH
            : what == Fault.NEGATIVE_TARGET_OFFSET ? Integer.MIN_VALUE : 0);
    if (what == Fault.PIECES) {
      words.putInt(at + 4, 1 << 28);
    } else if (what == Fault.NEGATIVE_PIECES) {
      words.putInt(at + 4, -1);
    } else if (what == Fault.NO_PIECES) {
      words.putInt(at + 4, 0);
      headerAt = at + 64;
    }
    FrameHeader header = new FrameHeader();
    header.length =
        what == Fault.SUM ? 16 : what == Fault.NO_BODY ? 0 : what == Fault.LENGTH ? LENGTH : 8;
    new FrameCodec(opened.get(0).epoch(), 0, 1).encode(header, writer.bytes(), headerAt);
    writer.publish();
    pumpUntil(() -> heard.get(1).lost != null && heard.get(0).lost != null);
    assertInstanceOf(ProtocolException.class, heard.get(1).lost);
    assertInstanceOf(BrokenLinkException.class, heard.get(0).lost);
    assertEquals(0, heard.get(1).headers, "nothing of it is given to the sink");
  }

  @Test
  void anImpossibleStateCostsTheLink() throws Exception {
    open(false);
    Offer offer = lease(0, 8);
    nextLeased();
    memory(1).leasesIn.end(0, 17);
    assertFalse(offer.isOver());
    pumpUntil(() -> heard.get(0).lost != null);
    assertInstanceOf(ProtocolException.class, heard.get(0).lost);
    assertTrue(offer.isOver(), "what is sent on a lost link is dropped");
  }

  /** A piece of a region, to be replaced where it is. */
  private static final class Offer implements LeasableBody {
    private final Region region;
    private final int offset;
    private final int length;
    private boolean released;
    private @Nullable Lease lease;

    Offer(Region region, int offset, int length) {
      this.region = region;
      this.offset = offset;
      this.length = length;
    }

    boolean isOver() {
      assertNotNull(lease);
      return lease.isOver();
    }

    @Override
    public int length() {
      return length;
    }

    @Override
    public void store(FrameBytes target, int at) {
      target.bytes().put(at, region.bytes(), offset, length);
    }

    @Override
    public void release() {
      released = true;
    }

    @Override
    public int pieces() {
      return 1;
    }

    @Override
    public Region region(int piece) {
      return region;
    }

    @Override
    public int offset(int piece) {
      return offset;
    }

    @Override
    public int length(int piece) {
      return length;
    }

    @Override
    public Region targetRegion(int piece) {
      return region;
    }

    @Override
    public int targetOffset(int piece) {
      return offset;
    }

    @Override
    public boolean isPlaced() {
      return false;
    }

    @Override
    public void leased(Lease begun) {
      lease = begun;
    }
  }

  /** Keeps what comes. */
  private static final class Heard implements FrameSink, ViewSink {
    private final List<LeasedBody> views = new ArrayList<>();
    private int headers;
    private int copies;
    private @Nullable Throwable lost;

    @Override
    public void header(Link link, FrameHeader header) {
      headers++;
    }

    @Override
    public void bytes(Link link, FrameBytes source, int at, int length) {
      copies++;
    }

    @Override
    public void view(Link link, FrameHeader header, FrameBody source) {
      headers++;
      views.add((LeasedBody) source);
    }

    @Override
    public void lost(Link link, @Nullable Throwable cause) {
      lost = cause == null ? new IOException("it has left") : cause;
    }

    @Override
    public String toString() {
      return views.size() + " leased, " + copies + " copied, lost " + lost;
    }
  }
}
