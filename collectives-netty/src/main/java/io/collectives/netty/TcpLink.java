package io.collectives.netty;

import io.collectives.JobSecret;
import io.collectives.ProtocolException;
import io.collectives.internal.FrameCodec;
import io.collectives.internal.LinkLifecycle;
import io.collectives.spi.BrokenLinkException;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.Link;
import io.netty.buffer.ByteBuf;
import io.netty.handler.ssl.SslHandler;
import java.io.EOFException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The way to one peer: at most one connection, which is never replaced once it has been admitted.
 *
 * <p><b>Who connects.</b> Whoever opens the link, again and again until somebody listens. If both
 * do, {@link LinkLifecycle} says whose connection counts; the lower rank gives the other one a head
 * start.
 *
 * <p><b>Sending.</b> A frame is put, header and body behind each other, into one of a few reusable
 * buffers (slots), which is then one write to the socket, at once. What the socket does not take,
 * or what has no socket yet, waits in a queue of slots, and each poll writes on. Only when this
 * rank is about to sleep is the queue handed over to Netty, which can be woken by a socket that has
 * room again. The free slot of the lowest index is taken, so that as long as the socket keeps up it
 * is always the same memory, warm in the cache.
 *
 * <p>With TLS a slot is given to Netty, which encrypts it at once, but only when all that was
 * encrypted before is in the socket: so no more than one slot's worth is ever held twice.
 *
 * <p><b>Checksums.</b> A body is given on while it arrives, but for its last piece, which is kept
 * back until the checksum of the whole is right. So no frame with a wrong one is ever complete.
 *
 * <p>One class because connecting, the queue of frames, receiving and the end of a link are one
 * state machine, which the driver of the event loop runs.
 */
final class TcpLink implements Link {
  private static final long HEAD_START_MILLIS = 10;
  private static final long RETRY_FIRST_MILLIS = 10;
  private static final long RETRY_MOST_MILLIS = 500;

  /** The time that a rank takes to find out whether the other end of a broken connection lives. */
  private static final int PROBE_MILLIS = 500;

  private final TcpTransport transport;
  private final int peer;
  private final FrameCodec encoder;
  private final FrameCodec decoder;
  private final FrameHeader header = new FrameHeader();
  private final @Nullable CRC32C sentChecksum; // Of bodies, if they have checksums.
  private final @Nullable CRC32C receivedChecksum;
  private final @Nullable Slot[] slots;
  private final Slot[] queue; // A ring: queueLength from queueHead on.
  private final LinkLifecycle<TcpConnection> life;
  private long connectUntil;
  private long retryMillis = RETRY_FIRST_MILLIS;
  private int queueHead;
  private int queueLength;
  private int bodyLeft; // Bytes of the present frame's body that are still to come.
  private int bodyChecksum; // That it should have.

  TcpLink(TcpTransport transport, int peer) {
    this.transport = transport;
    this.peer = peer;
    life = new LinkLifecycle<>(transport.rank(), peer);
    encoder = new FrameCodec(transport.epoch(), transport.rank(), peer);
    decoder = new FrameCodec(transport.epoch(), peer, transport.rank());
    sentChecksum = transport.terms().checksums() ? new CRC32C() : null;
    receivedChecksum = transport.terms().checksums() ? new CRC32C() : null;
    slots = new Slot[transport.slotCount()];
    queue = new Slot[transport.slotCount()];
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
        + " at "
        + transport.address(peer);
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
    transport.loop().enter();
    try {
      TcpConnection to = life.connection();
      if (life.isLost() || to != null && !to.isWritable()) {
        return drop(body);
      }
      Slot slot = freeSlot();
      if (slot == null) {
        return false;
      }
      body.store(slot.bytes, FrameCodec.HEADER_LENGTH);
      body.release();
      int checksum = 0;
      if (sentChecksum != null) {
        sentChecksum.reset();
        FrameCodec.update(sentChecksum, slot.bytes, FrameCodec.HEADER_LENGTH, length);
        checksum = (int) sentChecksum.getValue();
      }
      encoder.encode(frame, checksum, slot.bytes, 0);
      int end = FrameCodec.HEADER_LENGTH + length;
      int padded = FrameCodec.padded(end);
      while (end < padded) {
        slot.bytes.bytes().put(end++, (byte) 0);
      }
      slot.unsent.limit(padded).position(0);
      queue[(queueHead + queueLength++) % queue.length] = slot;
      slot.queued = true;
      if (queueLength == 1) {
        writeOn();
      }
      return true;
    } finally {
      transport.loop().leave();
    }
  }

  private boolean drop(FrameBody body) {
    body.release();
    return true;
  }

  private void writeOn() {
    flush();
    if (queueLength > 0 && life.connection() != null) {
      transport.blocked(this);
    }
  }

  /** Returns whether a frame would be accepted, and not for nothing. */
  boolean hasRoom() {
    transport.loop().enter();
    try {
      TcpConnection to = life.connection();
      return !life.isLost() && (to == null || to.isWritable()) && freeSlot() != null;
    } finally {
      transport.loop().leave();
    }
  }

  private @Nullable Slot freeSlot() {
    for (int i = 0; i < slots.length; i++) {
      Slot slot = slots[i];
      if (slot == null) {
        return slots[i] =
            new Slot(
                transport.allocator().directBuffer(transport.slotLength(), transport.slotLength()));
      }
      if (!slot.queued && slot.buffer.refCnt() == 1) {
        return slot;
      }
    }
    return null;
  }

  /** Returns whether frames wait to be written. */
  boolean isBlocked() {
    return queueLength > 0;
  }

  /**
   * Writes what the socket takes, unless Netty has something to write before; returns whether that
   * was anything.
   */
  boolean flush() {
    TcpConnection to = life.connection();
    boolean moved = false;
    while (queueLength > 0 && to != null && to.isFlushed()) {
      if (!to.isPlain()) {
        writeNext(to);
        moved = true;
        continue;
      }
      ByteBuffer unsent = queue[queueHead].unsent;
      int before = unsent.position();
      to.tryWrite(unsent);
      moved |= unsent.position() > before;
      if (unsent.hasRemaining()) {
        break;
      }
      dequeue();
    }
    return moved;
  }

  /**
   * Before this rank sleeps: leaves what waits to Netty, unless that would encrypt it too soon;
   * returns whether there is something that only the socket can take.
   */
  boolean handOver() {
    TcpConnection to = life.connection();
    if (to != null && !to.isPlain()) {
      flush();
    } else {
      writeAll();
    }
    return to != null && !to.isFlushed();
  }

  /** Leaves all that waits to Netty. */
  void writeAll() {
    TcpConnection to = life.connection();
    while (queueLength > 0 && to != null) {
      writeNext(to);
    }
  }

  private void writeNext(TcpConnection to) {
    Slot slot = dequeue();
    to.write(slot.buffer.setIndex(slot.unsent.position(), slot.unsent.limit()).retain());
  }

  private Slot dequeue() {
    Slot slot = queue[queueHead];
    slot.queued = false;
    queueHead = (queueHead + 1) % queue.length;
    queueLength--;
    return slot;
  }

  /** This rank wants the link. */
  void open() {
    if (life.want()) {
      connectUntil = System.nanoTime() + transport.connectTimeoutNanos();
      if (peer < transport.rank()) {
        connect();
      } else {
        transport.loop().schedule(this::connect, HEAD_START_MILLIS, TimeUnit.MILLISECONDS);
      }
    }
  }

  private void connect() {
    if (!life.isApart()) {
      return;
    }
    TcpConnection started = transport.newConnection(this);
    life.begin(started);
    long leftMillis = TimeUnit.NANOSECONDS.toMillis(connectUntil - System.nanoTime());
    started.connect(
        transport.address(peer), (int) Math.min(Math.max(leftMillis, 1), Integer.MAX_VALUE));
  }

  /** The attempt to connect has succeeded, as far as the socket and TLS go. */
  void reached(TcpConnection by) {
    if (by != life.attempt()) {
      return;
    }
    SslHandler handler = by.tls();
    Tls tls = transport.tls();
    if (handler != null && tls != null && !tls.isPeer(handler, peer)) {
      lose(
          new ProtocolException(
              whereabouts()
                  + " shows a certificate for "
                  + Tls.names(handler)
                  + ", which is not for that rank of job "
                  + transport.job()));
      return;
    }
    by.sayHello(transport.hello(peer));
  }

  /** The attempt to connect has failed, for now. */
  void unreached(TcpConnection by, Throwable why) {
    if (by != life.attempt()) {
      return;
    }
    life.giveUp();
    Throwable refusal = Tls.refusal(why);
    if (refusal != null) {
      lose(
          new ProtocolException(
              whereabouts()
                  + " and rank "
                  + transport.rank()
                  + " do not agree on TLS: "
                  + refusal.getMessage()
                  + "; all ranks or none must use it, with certificates"
                  + " that all trust and that are valid now",
              why));
      return;
    }
    if (transport.kind().isGone(transport.address(peer), why)) {
      // A rank listens before it tells its address, until it ends.
      ConnectException gone =
          new ConnectException(
              "nobody listens any more at "
                  + transport.address(peer)
                  + ", where rank "
                  + peer
                  + " was: "
                  + (why.getMessage() == null ? why : why.getMessage()));
      gone.initCause(why);
      lose(gone);
      return;
    }
    long left = connectUntil - System.nanoTime();
    if (left <= 0) {
      SocketTimeoutException late =
          new SocketTimeoutException(
              whereabouts()
                  + " has let nobody in for "
                  + TimeUnit.NANOSECONDS.toMillis(transport.connectTimeoutNanos())
                  + " ms; at last: "
                  + why.getMessage());
      late.initCause(why);
      lose(late);
      return;
    }
    long delay = Math.min(TimeUnit.MILLISECONDS.toNanos(retryMillis), left);
    retryMillis = Math.min(2 * retryMillis, RETRY_MOST_MILLIS);
    transport.loop().schedule(this::connect, delay, TimeUnit.NANOSECONDS);
  }

  private String whereabouts() {
    return "rank " + peer + " at " + transport.address(peer);
  }

  /**
   * The one whom this rank has greeted answers.
   *
   * @param proved whether this rank has shown its proof already
   */
  void answered(TcpConnection by, Handshake answer, boolean proved) {
    if (by != life.attempt()) {
      return;
    }
    Handshake mine = transport.handshake(Handshake.Kind.HELLO, peer);
    Handshake.Objection refused = answer.objection();
    JobSecret secret = transport.secret();
    if (refused == Handshake.Objection.EPOCH) {
      // The peer told this address itself, in this run of the job; so it has ended since, and
      // somebody else has got its port.
      lose(
          new ConnectException(
              whereabouts()
                  + " listens there no more; whoever does is of another run or job: "
                  + answer.difference(refused, "there", mine, "here")));
    } else if (answer.kind() == Handshake.Kind.REFUSAL && refused != null) {
      lose(
          new ProtocolException(
              whereabouts()
                  + " refused rank "
                  + transport.rank()
                  + ": "
                  + answer.difference(refused, "there", mine, "here")));
    } else if (proved
        || !answer
            .withNonce(Handshake.Nonce.NONE)
            .equals(
                Handshake.of(
                    Handshake.Kind.HELLO,
                    transport.epoch(),
                    transport.size(),
                    peer,
                    transport.rank(),
                    transport.terms()))) {
      lose(new ProtocolException(this + " was answered by " + answer + " to " + mine));
    } else if (secret == null) {
      admit(by);
    } else {
      by.prove(answer, secret);
    }
  }

  /** The one who had to prove that it knows the secret has done so, or not. */
  void proved(TcpConnection by, boolean right) {
    if (by != life.attempt()) {
      return;
    }
    if (right) {
      admit(by);
    } else {
      lose(
          new ProtocolException(
              "whoever listens at "
                  + transport.address(peer)
                  + " in the name of rank "
                  + peer
                  + " does not know rank "
                  + transport.rank()
                  + "'s job secret"));
    }
  }

  /** Returns whether a connection that the peer makes is the one that counts. */
  LinkLifecycle.Answer answer() {
    return life.answer();
  }

  /** Returns whether frames wait for a connection. */
  boolean isExpecting() {
    return life.isApart() && queueLength > 0;
  }

  @Nullable TcpConnection connection() {
    return life.isLinked() ? life.connection() : null;
  }

  /** Both sides have said HELLO: what waits is sent. */
  void admit(TcpConnection to) {
    TcpConnection other = life.admit(to);
    if (other != null) {
      other.close();
    }
    to.admit(this);
    writeOn();
    transport.admitted(this);
  }

  /** Takes frames out of what has been received; returns where it stopped for want of more. */
  int received(FrameBytes source, int from, int end) {
    int at = from;
    try {
      while (life.isLinked()) {
        int available = end - at;
        if (bodyLeft > 0) {
          int length = available >= FrameCodec.padded(bodyLeft) ? bodyLeft : available & ~7;
          if (length == 0) {
            break;
          }
          bodyLeft -= length;
          check(source, at, length);
          transport.bytes(this, source, at, length);
          at += FrameCodec.padded(length);
        } else if (available >= 4 && source.bytes().getInt(at) == Handshake.MAGIC) {
          if (available < Handshake.LENGTH) {
            break;
          }
          partWith(Handshake.read(source.bytes(), at));
        } else if (available < FrameCodec.HEADER_LENGTH) {
          break;
        } else {
          decoder.decode(source, at, header);
          if (header.length > transport.bodyLimit()) {
            throw new ProtocolException(
                "a frame from rank "
                    + peer
                    + " to rank "
                    + transport.rank()
                    + " has a body of "
                    + header.length
                    + " bytes, but frame lengths here are at most "
                    + transport.bodyLimit()
                    + ": set the same CallSettings.frameLength on all ranks");
          }
          bodyChecksum = FrameCodec.bodyChecksum(source, at);
          at += FrameCodec.HEADER_LENGTH;
          bodyLeft = header.length;
          transport.header(this, header);
        }
      }
    } catch (ProtocolException e) {
      // The peer hears why before the connection ends, or it would take this rank for dead.
      if (life.isLinked()) {
        transport.sayAbort(this);
      }
      lose(e);
    }
    return at;
  }

  /** Adds a piece of a body to its checksum, and compares that at the end. */
  private void check(FrameBytes source, int at, int length) {
    if (receivedChecksum == null) {
      return;
    }
    FrameCodec.update(receivedChecksum, source, at, length);
    if (bodyLeft == 0) {
      int found = (int) receivedChecksum.getValue();
      receivedChecksum.reset();
      if (found != bodyChecksum) {
        throw new ProtocolException(
            "a frame from rank "
                + peer
                + " to rank "
                + transport.rank()
                + " was damaged on its way: the checksum of its "
                + header.length
                + " bytes is 0x"
                + Integer.toHexString(found)
                + ", not 0x"
                + Integer.toHexString(bodyChecksum)
                + " as sent");
      }
    }
  }

  /**
   * Loses the link because the peer leaves, or because it ends this connection for what it got from
   * here.
   */
  private void partWith(Handshake found) {
    if (found.equals(transport.handshakeFrom(peer, Handshake.Kind.ABORT))) {
      lose(
          new BrokenLinkException(
              whereabouts()
                  + " ended the connection because rank "
                  + transport.rank()
                  + " sent what cannot be"));
    } else if (found.equals(transport.handshakeFrom(peer, Handshake.Kind.GOODBYE))) {
      lose(null);
    } else {
      throw new ProtocolException(this + " got " + found + " between frames");
    }
  }

  /** A connection has ended, whoever ended it. */
  void ended(TcpConnection which, @Nullable Throwable problem) {
    if (which == life.attempt()) {
      unreached(
          which,
          problem != null
              ? problem
              : new EOFException("the connection was closed without an answer"));
    } else if (life.isLinked() && which == life.connection()) {
      broken(
          problem == null
              ? new EOFException(whereabouts() + " closed the connection without a goodbye")
              : new IOException(
                  "the connection to " + whereabouts() + " broke: " + problem.getMessage(),
                  problem));
    }
  }

  /**
   * The connection has ended without a goodbye. Most often the peer has died; but if it lives, one
   * of the two must give way, and both must mean the same one. The higher one can tell: it tries
   * once whether somebody still listens there.
   */
  private void broken(IOException why) {
    if (peer > transport.rank() || transport.isClosing()) {
      lose(why);
      return;
    }
    life.lose(why);
    free();
    transport.probe(
        peer,
        PROBE_MILLIS,
        lives -> {
          if (lives) {
            life.explain(
                new BrokenLinkException(
                    why.getMessage()
                        + "; rank "
                        + peer
                        + " lives, so the higher one of the two is left out"));
          }
          transport.lost(this);
        });
  }

  /**
   * Loses the link: nothing more will come or go, and the sink is told at the end of this or in the
   * next poll.
   */
  void lose(@Nullable Throwable why) {
    if (life.lose(why)) {
      free();
      transport.lost(this);
    }
  }

  @Nullable Throwable cause() {
    return life.cause();
  }

  /**
   * Closes what is connected and gives up the slots; Netty keeps those that it writes until they
   * are written or dropped.
   */
  private void free() {
    life.forEachConnection(TcpConnection::close);
    life.giveUp();
    queueLength = 0;
    for (int i = 0; i < slots.length; i++) {
      Slot slot = slots[i];
      if (slot != null) {
        slot.buffer.release();
        slots[i] = null;
      }
    }
  }

  private static final class Slot {
    final ByteBuf buffer;
    final FrameBytes bytes;
    final ByteBuffer unsent;
    boolean queued;

    Slot(ByteBuf buffer) {
      this.buffer = buffer;
      bytes = new FrameBytes(buffer.nioBuffer(0, buffer.capacity()));
      unsent = buffer.nioBuffer(0, buffer.capacity());
    }
  }
}
