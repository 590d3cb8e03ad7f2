package io.collectives.engine.sharedmemory;

import io.collectives.ProtocolException;
import io.collectives.internal.FrameCodec;
import io.collectives.internal.LinkLifecycle;
import io.collectives.internal.RankDirectory;
import io.collectives.spi.BrokenLinkException;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.FrameSink;
import io.collectives.spi.InlineExchange;
import io.collectives.spi.LeasableBody;
import io.collectives.spi.Link;
import io.collectives.spi.Region;
import java.io.EOFException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.zip.CRC32C;
import org.agrona.collections.Int2ObjectHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The way to one peer: one {@link ControlChannel}, which is never replaced once there are rings,
 * and a ring in each direction.
 *
 * <p><b>Connecting.</b> The rank that opens the link connects. If both do, {@link LinkLifecycle}
 * says whose control channel counts, and the higher rank tells the lower one to yield. A rank that
 * has yielded, or was not heard, tries again until one of the two is in, or the peer does not
 * listen any more.
 *
 * <p><b>Before there are rings</b> frames are stored into one record's length of plain memory,
 * which is copied into the ring when there is one, and given up.
 *
 * <p><b>Regions.</b> What lies in a {@link SharedRegion} that both have mapped is leased: see
 * {@link Ring}. A rank that closes its region stops leasing it and says so in its ring, behind all
 * that it has leased; the peer unmaps it then, stops leasing its own, and says so in turn. So each
 * unmaps what the other one cannot name any more, in whatever order they close, and if only one
 * does, frames are copied. A region that is announced belongs with none: its owner says in its ring
 * that it is there, the peer maps it and says so in its own, and from then on it is leased.
 *
 * <p><b>Memory that goes.</b> When somebody shortens a file that the two have mapped, whoever finds
 * out ends the link and says so; nothing touches that memory any more. What a frame said is asked
 * for only after it was seen that its memory is whole. The higher rank of the two gives way, or the
 * one whose region it was.
 *
 * <p><b>The end.</b> A rank that leaves says goodbye; one whose process dies says nothing, and the
 * system closes its socket. In both cases what is in the ring is read first. Two live ranks part
 * only when one of them finds an error, and then that one says which of the two is to blame, so
 * that both mean the same: the blamed one gets a {@link BrokenLinkException}.
 *
 * <p>One class because it is one state machine under the transport's lock: connecting, frames,
 * leases, regions and every way in which a link ends change the same state.
 */
final class SharedMemoryLink implements Link, LeasedFrame.Lessee {
  private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
  private static final int MOST_GONE_BEFORE = 1 << 16;
  private static final long BLAME_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
  private static final int BLOCK_LENGTH = 16 * 1024;

  private final SharedMemoryTransport transport;
  private final int peer;
  private final FrameCodec encoder;
  private final FrameCodec decoder;
  private final FrameHeader header = new FrameHeader();
  private final FrameBytes plain =
      new FrameBytes(ByteBuffer.allocateDirect(FrameCodec.HEADER_LENGTH));
  private final @Nullable CRC32C checksum; // Of a body, if bodies have checksums,
  private final @Nullable ByteBuffer block; // and what it is taken of.
  private final LinkLifecycle<ControlChannel> life;
  private boolean hasTried;
  private long nextTryNanos;
  private @Nullable PairMemory memory;
  private @Nullable Path file; // Of the rings that the peer has not mapped yet.
  private @Nullable FrameBytes early; // Frames from before there were rings,
  private int earlyLength; // and how many bytes they take.
  private boolean given; // A frame to the sink, which has not come back.
  private boolean refused; // A frame, since this rank has slept last.
  private boolean parted; // This rank has said that it is the end.
  private boolean ending; // The peer sends no more; what it has sent is still to be read.
  private @Nullable Throwable endCause; // That the peer gave, while what it sent is still read.
  private boolean cutOff; // The memory of the link, or a region of the two, is gone.
  private final Leases leases;
  private final Int2ObjectHashMap<PeerRegion> regions = new Int2ObjectHashMap<>(); // Of the peer.
  private final Set<Integer> goneBefore = new HashSet<>(); // Regions that ended before mapped here.
  private final Queue<RegionNote> notes = new ArrayDeque<>(); // Which the peer is to hear.
  private final long[] leasesBegun = new long[Ring.LeaseStates.COUNT]; // By state, the last number.
  private final Deque<LeasedFrame> freeFrames = new ArrayDeque<>();

  SharedMemoryLink(SharedMemoryTransport transport, int peer) {
    this.transport = transport;
    this.peer = peer;
    life = new LinkLifecycle<>(transport.rank(), peer);
    encoder = new FrameCodec(transport.epoch(), transport.rank(), peer);
    decoder = new FrameCodec(transport.epoch(), peer, transport.rank());
    leases = new Leases(transport, this);
    checksum = transport.hasChecksums() ? new CRC32C() : null;
    block = checksum == null ? null : ByteBuffer.allocateDirect(BLOCK_LENGTH);
  }

  @Override
  public int peer() {
    return peer;
  }

  @Override
  public String toString() {
    return "rank "
        + transport.rank()
        + "'s link to rank "
        + peer
        + " in "
        + transport.address(peer).directory();
  }

  @Override
  public boolean trySend(FrameHeader frame, FrameBody body) {
    int length = body.length();
    if (frame.length != length || length > transport.bodyLimit()) {
      throw new IllegalArgumentException(
          "a body of "
              + length
              + " bytes, "
              + frame.length
              + " in its header: must be the same and at most "
              + transport.bodyLimit());
    }
    if (transport.isClosing()) {
      return drop(body); // Without waiting for the one who closes.
    }
    transport.enter();
    try {
      PairMemory to = memory;
      if (life.isLost() || ending || transport.isClosing()) {
        return drop(body);
      }
      if (to == null) {
        return storeEarly(frame, body);
      }
      return send(frame, body, to);
    } finally {
      transport.leave();
    }
  }

  private boolean send(FrameHeader frame, FrameBody body, PairMemory to) {
    boolean published = false;
    try {
      LeasableBody leased = leasable(body);
      int at =
          to.out.claim(
              (int)
                  (leased == null
                      ? Ring.recordLength(body.length())
                      : Ring.leasedLength(leased.pieces())));
      if (at < 0) {
        refused = true;
        return false;
      }
      if (leased == null) {
        store(frame, body, to.out.bytes(), at);
      } else {
        lease(frame, leased, to.out, at);
      }
      transport.loseWhatBodiesComeFrom();
      loseIfCutOff(to, to.isWhole(at, to.out.claimedEnd()));
      if (life.isLost()) {
        return true;
      }
      to.out.publish();
      published = true;
      if (to.sleep.mustWake(true)) {
        wakePeer();
      }
      return true;
    } catch (ProtocolException e) {
      blame(e);
      return drop(body);
    } catch (InternalError e) {
      transport.survive(e);
      if (published) {
        return true;
      }
      if (life.isLost()) {
        return drop(body);
      }
      if (frame.kind == FrameHeader.Kind.DATA) {
        throw e; // It came of other memory, but what was made of this frame cannot be known.
      }
      return false;
    }
  }

  /** See {@link InlineExchange#post}. With the lock held. */
  boolean post(int slot, long number, long[] call, FrameBody body) {
    try {
      PairMemory to = memory;
      if (to == null || !life.isLinked() || transport.isClosing()) {
        return false;
      }
      to.outbox.post(slot, number, call, body);
      if (to.sleep.mustWake(true)) {
        wakePeer();
      }
      return true;
    } catch (InternalError e) {
      transport.survive(e);
      return false;
    }
  }

  /** See {@link InlineExchange#take}. With the lock held. */
  boolean take(int slot, long number, long[] call, FrameBytes body, int length) {
    try {
      PairMemory from = memory();
      return from != null
          && from.inbox.take(slot, number, call, body, length)
          && !loseIfCutOff(from);
    } catch (ProtocolException e) {
      blame(e);
      return false;
    } catch (InternalError e) {
      transport.survive(e);
      return false;
    }
  }

  private boolean drop(FrameBody body) {
    body.release();
    return true;
  }

  /** Returns the body as one that can be leased to the peer now; null if it must be copied. */
  private @Nullable LeasableBody leasable(FrameBody body) {
    if (checksum != null || !(body instanceof LeasableBody leasable)) {
      return null;
    }
    if (leasable.isPlaced()) {
      return leasable;
    }
    int pieces = leasable.pieces();
    if (pieces == 0 || Ring.leasedLength(pieces) > transport.recordLimit() || leases.next() < 0) {
      return null;
    }
    for (int i = 0; i < pieces; i++) {
      if (!transport.isShared(leasable.region(i), peer)) {
        return null;
      }
    }
    return leasable;
  }

  private void lease(FrameHeader frame, LeasableBody body, Ring.Writer to, int at) {
    if (body.isPlaced()) {
      header(frame, 0, to.bytes(), to.lease(at, 0, -1));
      body.release();
      return;
    }
    int pieces = body.pieces();
    for (int i = 0; i < pieces; i++) {
      Region target = body.targetRegion(i);
      if (target != null && !transport.isShared(target, peer)) {
        target = null;
      }
      to.piece(
          at,
          i,
          body.region(i).number(),
          body.offset(i),
          body.length(i),
          target == null ? -1 : target.number(),
          target == null ? 0 : body.targetOffset(i));
    }
    Leases.GrantedLease lease = leases.begin();
    header(frame, 0, to.bytes(), to.lease(at, pieces, lease.index()));
    body.leased(lease);
  }

  private boolean storeEarly(FrameHeader frame, FrameBody body) {
    FrameBytes to = early;
    if (to == null) {
      early = to = new FrameBytes(ByteBuffer.allocate(transport.recordLimit()));
    }
    int length = (int) Ring.recordLength(body.length());
    if (length > to.bytes().capacity() - earlyLength) {
      return false;
    }
    store(frame, body, to, earlyLength);
    earlyLength += length;
    return true;
  }

  private void store(FrameHeader frame, FrameBody body, FrameBytes to, int at) {
    int length = body.length();
    int crc = 0;
    if (length > 0) {
      body.store(to, at + FrameCodec.HEADER_LENGTH);
      if (checksum != null) {
        crc = checksum(checksum, to, at + FrameCodec.HEADER_LENGTH, length);
      }
    }
    header(frame, crc, to, at);
    body.release();
  }

  private void header(FrameHeader frame, int bodyChecksum, FrameBytes to, int at) {
    encoder.encode(frame, bodyChecksum, plain, 0);
    to.bytes().put(at, plain.bytes(), 0, FrameCodec.HEADER_LENGTH);
  }

  /**
   * Takes the checksum of copies, because the JVM does not survive the checksum of memory that is
   * gone.
   */
  private int checksum(CRC32C sum, FrameBytes of, int at, int length) {
    ByteBuffer copy = Objects.requireNonNull(block);
    sum.reset();
    for (int done = 0; done < length; done += BLOCK_LENGTH) {
      int some = Math.min(BLOCK_LENGTH, length - done);
      copy.clear().put(0, of.bytes(), at + done, some).limit(some);
      sum.update(copy);
    }
    return (int) sum.getValue();
  }

  private void wakePeer() {
    ControlChannel to = life.connection();
    if (to != null) {
      to.wake(transport.wakeMessage());
    }
  }

  /**
   * Gives the sink what has arrived, and finds out whether more will.
   *
   * @return the number of frames
   */
  int receive(FrameSink sink) {
    PairMemory from = memory();
    int count = 0;
    if (from != null && life.isLinked()) {
      if (!notes.isEmpty()) {
        tellNotes(from);
      }
      try {
        if (look(from)) {
          while (!transport.isClosing() && next(from, sink)) {
            count++;
          }
        }
      } catch (InternalError e) {
        transport.survive(e);
        if (given) {
          throw e; // Nobody knows how far the sink has come.
        }
      } finally {
        if (count > 0) {
          tellOfRoom();
        }
      }
    }
    if (ending && life.isLinked() && !transport.isClosing()) {
      lose(endCause);
    }
    return count;
  }

  private void tellOfRoom() {
    PairMemory with = memory();
    try {
      if (with != null && with.sleep.mustWake(false)) {
        wakePeer();
      }
    } catch (InternalError e) {
      transport.survive(e);
    }
  }

  private boolean look(PairMemory from) {
    try {
      return from.in.look();
    } catch (ProtocolException e) {
      blame(e);
      return false;
    }
  }

  private boolean next(PairMemory from, FrameSink sink) {
    int at;
    LeasedFrame leased = null;
    given = false;
    try {
      at = life.isLinked() ? from.in.next(decoder, header) : -1;
      if (at < 0) {
        return false;
      }
      RegionNote note = from.in.note();
      if (note != null) {
        if (loseIfCutOff(from)) {
          return false;
        }
        heard(note);
        from.in.consume();
        return true;
      }
      if (from.in.isLeased()) {
        leased = readLeased(from.in);
      } else {
        check(from, at);
      }
      if (loseIfCutOff(from)) {
        return false;
      }
    } catch (ProtocolException e) {
      blame(e);
      return false;
    }
    given = true;
    transport.gives(this);
    try {
      if (leased != null) {
        transport.views().view(this, header, leased);
      } else {
        giveBytes(from, at, sink);
      }
    } finally {
      transport.gives(null);
      if (!cutOff) {
        from.in.consume();
      }
    }
    given = false;
    return true;
  }

  private void giveBytes(PairMemory from, int at, FrameSink sink) {
    int length = header.length;
    sink.header(this, header);
    if (length > 0) {
      sink.bytes(this, from.in.bytes(), at, length);
      from.in.takeOver();
      if (loseIfCutOff(from, from.isRecordWhole())) {
        throw new InternalError(String.valueOf(life.cause())); // As the JVM does, if not at once.
      }
    }
  }

  /** Returns whether the memory of this link is gone; then the link is lost. */
  private boolean loseIfCutOff(PairMemory shared) {
    return loseIfCutOff(shared, shared.isWhole());
  }

  private boolean loseIfCutOff(PairMemory shared, boolean isWhole) {
    if (!cutOff && !isWhole) {
      cutOff(transport.rank() > peer, ringsCutOff());
    }
    return cutOff;
  }

  /**
   * Checks for sure whether the memory of the frame is gone that the sink has now; then the link is
   * lost.
   *
   * @return whether it is
   */
  boolean loseIfGivenIsCutOff() {
    PairMemory shared = memory();
    return shared == null || loseIfCutOff(shared, shared.isRecordWhole());
  }

  private String ringsCutOff() {
    return "somebody has truncated the file of the memory that ranks "
        + Math.min(transport.rank(), peer)
        + " and "
        + Math.max(transport.rank(), peer)
        + " share for their frames, while they used it";
  }

  /** Checks whether the memory of frames is gone; then the link is lost. */
  void loseIfRingsCutOff() {
    PairMemory shared = memory();
    if (shared != null) {
      loseIfCutOff(shared);
    }
  }

  /** Checks whether any memory of this link is gone; then the link is lost. */
  void loseIfCutOff() {
    loseIfRingsCutOff();
    for (PeerRegion region : regions.values()) {
      loseIfCutOff(region);
    }
  }

  /** Returns whether the memory of a region that the peer leases is gone; then the link is lost. */
  @Override
  public boolean loseIfCutOff(PeerRegion region) {
    if (!cutOff && !region.isWhole()) {
      regionCutOff(false);
    }
    return cutOff;
  }

  /**
   * Loses the link because the memory of a region is gone, which this rank or the peer has made.
   */
  void regionCutOff(boolean own) {
    cutOff(
        own,
        "somebody has truncated the file of a buffer that rank "
            + (own ? transport.rank() : peer)
            + " shares, while it was used");
  }

  /** Returns whether memory of a frame is gone; then the link is lost. */
  @Override
  public boolean isCutOff(LeasedFrame frame) {
    transport.enter();
    try {
      return frame.isCutOff();
    } finally {
      transport.leave();
    }
  }

  /** Goes on after an error if memory of this rank's links is gone; they are lost then. */
  @Override
  public void survive(InternalError fault) {
    transport.survive(fault);
  }

  private void cutOff(boolean givesWay, String what) {
    MappedMemory
        .awaitError(); // Another thread may have found out; nothing below may be broken off.
    IOException why = givesWay ? new BrokenLinkException(what) : new IOException(what);
    cutOff = true;
    transport.cutOff(peer, why);
    lose(why);
    sayAbort(!givesWay, what);
  }

  private LeasedFrame readLeased(Ring.Reader from) {
    LeasedFrame frame = freeFrames.poll();
    if (frame == null) {
      frame = new LeasedFrame(this);
    }
    frame.read(from, header.length);
    return frame;
  }

  /**
   * Notes that the peer has begun a lease, and returns its number.
   *
   * @throws ProtocolException if the one before with this state is not over
   */
  @Override
  public long beginLease(int state) {
    PairMemory with = memory();
    long number = with == null ? leasesBegun[state] + 1 : with.leasesIn.number(state);
    if (number != leasesBegun[state] + 1) {
      throw new ProtocolException(
          "lease " + number + " with state " + state + " after lease " + leasesBegun[state]);
    }
    leasesBegun[state] = number;
    return number;
  }

  /** Ends the lease of a frame: the peer may have its memory back. */
  @Override
  public void endLease(LeasedFrame frame) {
    transport.enter();
    try {
      PairMemory with = memory();
      if (with != null && !frame.isPlaced()) {
        frame.end(with.leasesIn);
        // It may see this only when it wakes by itself, as it does soon, if it is just falling
        // asleep.
        if (with.sleep.mustWake(true)) {
          wakePeer();
        }
      }
    } catch (InternalError e) {
      transport.survive(e);
    } finally {
      frame.useNoMore();
      freeFrames.add(frame);
      transport.leave();
    }
  }

  /** Takes over a region of the peer that was mapped. */
  void mapped(int number, PeerRegion region) throws IOException {
    if (life.isLost() || goneBefore.remove(number)) {
      region.gone();
      throw new IOException("rank " + peer + " has given it up again");
    }
    regions.put(number, region);
    if (!transport.isClosing()) {
      open(); // So that either can tell the other one of the end.
    }
  }

  @Override
  public @Nullable PeerRegion regionOfPeer(int number) {
    return regions.get(number);
  }

  /** Tells the peer that this rank leases it a region no more. */
  void endRegion(int number) {
    tell(new RegionNote(RegionNote.Kind.GONE, number, 0));
  }

  /**
   * Tells the peer of a region that it is to map, and opens the link for that.
   *
   * @return whether an answer, or the loss of the link, will come
   */
  boolean announce(int number, int length) {
    if (life.isLost() || transport.isClosing()) {
      return false;
    }
    open();
    tell(new RegionNote(RegionNote.Kind.ANNOUNCED, number, length));
    return true;
  }

  private void tell(RegionNote note) {
    if (!life.isLost()) {
      notes.add(note);
      if (memory != null) {
        tellNotes(memory);
      }
    }
  }

  private void tellNotes(PairMemory to) {
    try {
      while (!notes.isEmpty() && life.isLinked() && !ending) {
        int at = to.out.claim(Ring.SMALLEST_RECORD);
        if (at < 0) {
          return; // The next poll tries again.
        }
        to.out.note(at, notes.remove());
        to.out.publish();
        if (to.sleep.mustWake(true)) {
          wakePeer();
        }
      }
    } catch (ProtocolException e) {
      blame(e);
    } catch (InternalError e) {
      transport.survive(e);
    }
  }

  private void heard(RegionNote note) {
    switch (note.kind()) {
      case GONE -> regionGone(note.region());
      case ANNOUNCED -> announced(note.region(), note.length());
      case MAPPED -> transport.answered(peer, note.region(), true);
      case NOT_MAPPED -> transport.answered(peer, note.region(), false);
    }
  }

  /** Maps a region that the peer has announced, and tells it whether that was possible. */
  private void announced(int number, int length) {
    if (length < 1 || regions.containsKey(number)) {
      throw new ProtocolException("region " + number + " of " + length + " bytes is announced");
    }
    RegionNote.Kind answer = RegionNote.Kind.MAPPED;
    try {
      MappedMemory mapped =
          RingFile.open(transport.regionOf(peer, number), length, transport.rank());
      regions.put(number, new PeerRegion(mapped, () -> {}));
    } catch (IOException | OutOfMemoryError e) {
      answer = RegionNote.Kind.NOT_MAPPED;
      transport.log().debug("{} cannot map region {}", this, number, e);
    }
    tell(new RegionNote(answer, number, 0));
  }

  /** Ends a region that the peer leases no more. */
  private void regionGone(int number) {
    PeerRegion region = regions.remove(number);
    if (region != null) {
      region.ended();
    } else if (goneBefore.size() < MOST_GONE_BEFORE) {
      goneBefore.add(number);
    } else {
      throw new ProtocolException("the end of region " + number + ", which never was");
    }
  }

  /** Returns whether no process at the other end can use what was leased any more. */
  boolean isDeserted() {
    return ending;
  }

  /** Loses the link because the peer has not ended a lease, nor done anything else, for so long. */
  void isSilent(String why) {
    lose(new SocketTimeoutException(why));
  }

  /** Blames the peer, which has written an impossible value into the state of a lease. */
  void protocolError(String why) {
    transport.enter();
    try {
      blame(new ProtocolException(why));
    } finally {
      transport.leave();
    }
  }

  private void check(PairMemory from, int at) {
    if (checksum == null) {
      return;
    }
    int sent = from.in.bodyChecksum();
    int found = checksum(checksum, from.in.bytes(), at, header.length);
    if (sent != found) {
      throw new ProtocolException(
          "checksum 0x"
              + Integer.toHexString(found)
              + " instead of 0x"
              + Integer.toHexString(sent)
              + " as sent, of a frame "
              + header);
    }
  }

  /** Before this rank sleeps: asks the peer to wake it. A full fence must follow. */
  void beginSleep() {
    if (memory != null && life.isLinked()) {
      memory.sleep.begin(refused);
    }
  }

  /** Returns whether there is something to do, so that this rank must not sleep. */
  boolean mustNotSleep() {
    if (memory == null || !life.isLinked()) {
      return false;
    }
    return ending || memory.in.hasMore() || refused && memory.out.hasMoreRoom();
  }

  void endSleep() {
    if (memory != null && life.isLinked()) {
      memory.sleep.end();
      refused = false;
    }
  }

  /** Opens the link, as this rank wants it. */
  void open() {
    if (life.want()) {
      transport.wanted(this);
      tryToConnect(System.nanoTime());
    }
  }

  /** Returns whether this rank still waits to be linked. */
  boolean isWaiting() {
    return life.isWaiting();
  }

  /** Returns whether there are frames for which there are no rings yet. */
  boolean isExpecting() {
    return life.isApart() && earlyLength > 0;
  }

  /** Returns whether the peer still has to find the rings, and frames in them. */
  boolean isToBeMapped() {
    return file != null && memory != null && life.isLinked() && memory.out.isUsed();
  }

  /** Returns whether no rank will connect for this link any more. */
  boolean isSettled() {
    return life.isLost() || life.isLinked() && file == null;
  }

  void tryToConnect(long now) {
    if (!isWaiting() || life.attempt() != null || (hasTried && now - nextTryNanos < 0)) {
      return;
    }
    hasTried = true;
    nextTryNanos = now + RETRY_NANOS;
    Path directory = transport.address(peer).directory();
    Path socket = transport.address(peer).socket();
    try {
      ControlChannel begun = ControlChannel.with(this, socket, transport);
      life.begin(begun);
      begun.say(transport.hello(peer));
    } catch (ConnectException e) {
      RankDirectory.deleteDead(directory);
      gone(socket, e);
    } catch (SocketException e) {
      if (Files.notExists(socket)) {
        gone(socket, e);
      } else {
        transport.log().debug("{} cannot connect now", this, e);
      }
    } catch (IOException e) {
      transport.log().debug("{} cannot connect now", this, e);
    }
  }

  private void gone(Path socket, IOException why) {
    ConnectException gone =
        new ConnectException(
            "nobody listens any more at "
                + socket
                + ", where rank "
                + peer
                + " was: "
                + why.getMessage()
                + "; ranks in containers need a common directory, or --transport tcp");
    gone.initCause(why);
    lose(gone);
  }

  /** Answers the HELLO of a peer that may come in: makes the rings, or refuses. */
  void saidHello(ControlChannel by, int recordLength) {
    LinkLifecycle.Answer answer = life.answer();
    if (answer == LinkLifecycle.Answer.USED) {
      by.sayRefusal("the link of rank " + peer + " to rank " + transport.rank() + " exists");
      transport.left(by);
      by.close();
    } else if (transport.isClosing() && !isExpecting()) {
      by.say(ControlChannel.Kind.GOODBYE);
      transport.left(by);
      by.close();
    } else if (answer == LinkLifecycle.Answer.OWN_COUNTS) {
      by.say(ControlChannel.Kind.YIELD);
      transport.left(by);
      by.close();
    } else {
      by.belongsTo(this);
      transport.left(by);
      makeRings(by, Math.max(recordLength, transport.recordLimit()));
    }
  }

  private void makeRings(ControlChannel by, int recordLength) {
    int capacity = Ring.capacity(recordLength);
    Path path = transport.directory().resolve(RankDirectory.RINGS + peer);
    try {
      MappedMemory mapped =
          RingFile.create(path, (int) Ring.fileLength(capacity), Ring.Side.MAKER.ordinal());
      file = path;
      linked(by, new PairMemory(mapped, Ring.Side.MAKER, capacity));
      by.sayRings(capacity, String.valueOf(path.getFileName()));
      transport.linked(this);
    } catch (IOException e) {
      life.speakBy(by);
      giveWay(String.valueOf(e.getMessage()));
    }
  }

  /** Maps the rings that the peer has made. */
  void rings(ControlChannel by, int capacity, String name) {
    if (by != life.attempt()) {
      throw new ProtocolException("it makes rings unasked");
    }
    if (!Ring.isCapacity(capacity, transport.recordLimit())) {
      throw new ProtocolException("it makes rings of " + capacity + " bytes");
    }
    if (!name.equals(RankDirectory.RINGS + transport.rank())) {
      throw new ProtocolException("it makes rings in \"" + name + "\"");
    }
    Path path = transport.address(peer).directory().resolve(name);
    try {
      MappedMemory mapped =
          RingFile.take(path, (int) Ring.fileLength(capacity), Ring.Side.TAKER.ordinal());
      linked(by, new PairMemory(mapped, Ring.Side.TAKER, capacity));
      by.say(ControlChannel.Kind.MAPPED);
      transport.linked(this);
    } catch (NoSuchFileException e) {
      // It has left; that comes next in this control channel.
      transport.log().debug("{} came too late for {}", this, path);
    } catch (RingFile.WrongLengthException e) {
      throw new ProtocolException(String.valueOf(e.getMessage()));
    } catch (IOException e) {
      life.speakBy(by);
      giveWay("cannot map " + path + ": " + e.getMessage());
    }
  }

  private void linked(ControlChannel by, PairMemory rings) {
    ControlChannel other = life.admit(by);
    if (other != null) {
      other.close();
    }
    memory = rings;
    FrameBytes from = early;
    if (from != null) {
      // They begin at the front of the ring, at a multiple of the alignment, as they did here.
      int at = rings.out.claim(earlyLength);
      rings.out.bytes().bytes().put(at, from.bytes(), 0, earlyLength);
      rings.out.publish();
      early = null;
    }
  }

  /** Notes that the peer has mapped the rings and has deleted their file. */
  void mapped(ControlChannel by) {
    if (by == life.connection()) {
      file = null;
      transport.settled();
    }
  }

  /** Gives up this rank's attempt, as the peer is about to connect itself. */
  void yielded(ControlChannel by) {
    if (by == life.attempt()) {
      life.giveUp();
      by.close();
    }
  }

  /** Loses the link because the peer does not let this rank in. */
  void refused(ControlChannel by, String why) {
    if (by == life.attempt()) {
      lose(
          new ProtocolException("rank " + peer + " refused rank " + transport.rank() + ": " + why));
    }
  }

  /** Ends the link because the peer leaves. */
  void left(ControlChannel by) {
    end(by, null);
  }

  /** Ends the link because the peer has found an error. */
  void aborted(ControlChannel by, boolean blamed, String why) {
    end(
        by,
        blamed
            ? new BrokenLinkException("rank " + peer + " ended its link: " + why)
            : new IOException("rank " + peer + " ended its link: " + why));
  }

  private void end(ControlChannel by, @Nullable Throwable why) {
    if (by == life.attempt()) {
      lose(why);
    } else if (by == life.connection() && !ending) {
      ending = true;
      endCause = why;
      by.close();
    }
  }

  /** Handles the end of a control channel that came without a message of the end. */
  void ended(ControlChannel by, @Nullable IOException problem) {
    if (by == life.attempt()) {
      life.giveUp(); // If nobody listens there any more, the next attempt will tell.
    } else if (by == life.connection() && !parted) {
      String how = "rank " + peer + "'s process has ended without a goodbye";
      end(by, problem == null ? new EOFException(how) : new IOException(how, problem));
      transport.deserted(transport.address(peer).directory());
    }
  }

  /** Handles a control message that violates the protocol. */
  void protocolError(ControlChannel by, ProtocolException why) {
    if (by == life.attempt()) {
      life.speakBy(by);
    }
    if (by == life.connection()) {
      blame(why);
    } else {
      by.close();
    }
  }

  /** Loses the link and says that the peer is to blame. */
  private void blame(ProtocolException why) {
    long start = System.nanoTime();
    do {
      PairMemory shared = memory();
      if (shared != null && loseIfCutOff(shared)) {
        return; // What was read was nobody's.
      }
      // The kernel takes the pages of a file one after the other, the last of them last; who
      // truncates it may have lost its processor meanwhile.
      LockSupport.parkNanos(this, BLAME_NANOS / 1000);
    } while (!life.isLost() && System.nanoTime() - start < BLAME_NANOS);
    String what = "what rank " + peer + " sends makes no sense: " + why.getMessage();
    sayAbort(true, what);
    lose(new ProtocolException(what));
  }

  /** Loses the link and says that this rank is to blame. */
  private void giveWay(String why) {
    sayAbort(false, why);
    lose(new BrokenLinkException(why));
  }

  private void sayAbort(boolean blamed, String why) {
    ControlChannel to = life.connection();
    if (to != null && !ending && !parted) {
      parted = true;
      to.sayAbort(blamed, why);
    }
  }

  /**
   * Loses the link: nothing more will come or go, and the sink is told at the end of this or of the
   * next poll.
   */
  private void lose(@Nullable Throwable why) {
    if (life.lose(why)) {
      transport.lost(this);
      PairMemory shared = memory();
      if (shared != null && !shared.isWhole()) {
        cutOff = true; // The peer has found out first.
        transport.cutOff(peer, why == null ? new IOException(ringsCutOff()) : why);
      }
    }
  }

  @Nullable Throwable cause() {
    return life.cause();
  }

  /** Returns the memory that the two share; null before that, and once its file was truncated. */
  @Override
  public @Nullable PairMemory memory() {
    return cutOff ? null : memory;
  }

  /** Tells the peer that this rank leaves. */
  void sayGoodbye() {
    ControlChannel to = life.connection();
    ControlChannel attempt = life.attempt();
    if (to != null && life.isLinked() && !ending) {
      parted = true;
      to.say(ControlChannel.Kind.GOODBYE);
    } else if (attempt != null && !isExpecting()) {
      attempt.say(ControlChannel.Kind.GOODBYE);
    }
  }

  /** Frees everything. The rings must not be in use. */
  void free() {
    life.lose(null);
    cutOff |= memory != null && !memory.isWhole();
    leases.revokeAll();
    life.forEachConnection(ControlChannel::close);
    life.giveUp();
    if (memory != null) {
      memory.close();
      memory = null;
    }
    regions.values().forEach(PeerRegion::gone);
    regions.clear();
    notes.clear();
    if (file != null) {
      try {
        Files.deleteIfExists(file);
      } catch (IOException e) {
        transport.log().warn("cannot delete {}", file, e);
      }
      file = null;
    }
    early = null;
    earlyLength = 0;
  }
}
