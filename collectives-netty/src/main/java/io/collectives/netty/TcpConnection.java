package io.collectives.netty;

import io.collectives.JobSecret;
import io.collectives.ProtocolException;
import io.collectives.internal.FrameCodec;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelConfig;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.socket.ChannelOutputShutdownEvent;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslHandshakeCompletionEvent;
import io.netty.util.UncheckedBooleanSupplier;
import java.io.IOException;
import java.net.ConnectException;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A connection, from its handshake to its end. It is admitted to a link when both sides have said
 * HELLO, and have proved that they know the job's secret if there is one; until then it may be
 * anybody's, so it gets no memory but this object and a deadline.
 *
 * <p><b>Reading.</b> All connections of a transport read into the same buffer, one after the other,
 * so that it stays in the cache, and whatever is read is used up before the next read. The few
 * bytes that make no whole unit (a handshake message, a header, eight bytes of a body) are kept in
 * {@code rest} and put back at the front before the next read. As all units are multiples of 8
 * bytes, what lies at a multiple of 8 in the stream lies at a multiple of 8 in the buffer. Until it
 * is admitted no more is read than makes one handshake message or proof. What is read past Netty
 * ({@link #readNow}) goes the same way; the end of the stream, and what went wrong, is left for
 * Netty to find.
 *
 * <p><b>TLS.</b> With TLS the socket is Netty's {@link SslHandler}'s. It keeps what it reads in
 * buffers of its own, and what it has decrypted is copied to where a plain connection reads it.
 * What is written goes through it, too; see {@link TcpLink}.
 *
 * <p><b>Write errors.</b> If the peer has gone, its last frames and its goodbye may still be unread
 * here when a write fails. So a failed write ends only the sending ({@code AUTO_CLOSE} is off);
 * reading on brings first these, then the end.
 */
final class TcpConnection extends ChannelInboundHandlerAdapter
    implements RecvByteBufAllocator, RecvByteBufAllocator.ExtendedHandle {

  private static final byte TLS_ALERT = 21;
  private static final byte TLS_HANDSHAKE = 22;

  /** The fatal alert handshake_failure, so that who speaks TLS to a plain port is told. */
  private static final byte[] NO_TLS_HERE = {TLS_ALERT, 3, 3, 0, 2, 2, 40};

  private enum Stage {
    /** TLS decides whether there will be a connection at all. */
    ENCRYPTING,
    /** The peer's HELLO is next, or its REFUSAL. */
    HANDSHAKE,
    /** The peer's proof is next, or its REFUSAL. */
    PROVING,
    ADMITTED,
    /** The request of somebody who may ask for the status of this rank is next. */
    ASKED,
    /** The answer is next. */
    ANSWERING,
    ENDED
  }

  private final TcpTransport transport;
  private final Channel channel;
  private final boolean incoming;
  private final @Nullable SslHandler tls;
  private final byte[] rest = new byte[FrameCodec.HEADER_LENGTH];
  private int restLength;
  private int attemptedBytesRead;
  private int lastBytesRead;
  private int unadmittedLength; // Of what was read before this connection was admitted.
  private Stage stage;
  private @Nullable TcpLink link;
  private @Nullable Handshake hello; // The HELLO of this rank, until it is admitted.
  private @Nullable Proof proof;
  private boolean asksForStatus;
  private @Nullable ByteBuffer request; // For the status of this rank, as far as it has come.
  private int claimed; // The rank that an unauthenticated peer says it is.
  private @Nullable Throwable problem;
  private boolean writable = true;

  /**
   * Takes over a channel that is not registered yet.
   *
   * @param link the link that wants the connection; nothing if a peer, or anybody, has opened it
   */
  TcpConnection(
      TcpTransport transport, Channel channel, @Nullable Tls security, @Nullable TcpLink link) {
    this.transport = transport;
    this.channel = channel;
    this.link = link;
    this.incoming = link == null;
    transport.kind().prepare(channel);
    channel.config().setAllocator(transport.allocator());
    channel.config().setRecvByteBufAllocator(this);
    channel.config().setAutoClose(false);
    if (security == null) {
      tls = null;
      stage = Stage.HANDSHAKE;
    } else {
      tls = security.handler(incoming, transport.allocator());
      stage = Stage.ENCRYPTING;
      if (incoming) {
        channel.pipeline().addLast(new PlainSpeech());
      }
      channel.pipeline().addLast(tls);
    }
    channel.pipeline().addLast(this);
  }

  Channel channel() {
    return channel;
  }

  /** Connects to a peer; the link is told what becomes of it. */
  void connect(String address, int timeoutMillis) {
    TcpLink by = Objects.requireNonNull(link);
    channel.config().setConnectTimeoutMillis(timeoutMillis);
    try {
      channel
          .connect(transport.kind().parse(address))
          .addListener(
              future -> {
                if (!future.isSuccess()) {
                  channel.close();
                  by.unreached(this, future.cause());
                } else if (SocketKind.isConnectedToItself(channel)) {
                  exceptionCaught(new ConnectException("connected to itself"));
                  SocketKind.reset(channel);
                } else if (tls == null) {
                  by.reached(this);
                }
              });
    } catch (UnknownHostException e) {
      channel.close();
      by.unreached(this, e);
    }
  }

  /** Returns whether this is a connection of an unauthenticated peer. */
  boolean isUnadmitted() {
    return incoming && stage != Stage.ADMITTED && stage != Stage.ENDED;
  }

  /** Returns whether what is written goes to the socket as it is. */
  boolean isPlain() {
    return tls == null;
  }

  /** The TLS of this connection, if it has any. */
  @Nullable SslHandler tls() {
    return tls;
  }

  /** Returns whether frames can still be written. */
  boolean isWritable() {
    return writable && stage == Stage.ADMITTED;
  }

  /** Returns whether all that was written has left this process, or never can. */
  boolean isFlushed() {
    var pending = channel.unsafe().outboundBuffer();
    return pending == null || pending.isEmpty();
  }

  /** Admits this connection to a link, whose frames it carries from now on. */
  void admit(TcpLink admittedTo) {
    link = admittedTo;
    stage = Stage.ADMITTED;
    hello = null;
    proof = null;
  }

  /** Says HELLO, and keeps it until both sides have proved what they have said. */
  void sayHello(Handshake mine) {
    hello = mine;
    write(mine);
  }

  /** Answers the HELLO of an unauthenticated peer, which must be followed by a proof. */
  void challenge(Handshake theirs, Handshake mine, Proof expected) {
    claimed = theirs.from();
    asksForStatus = theirs.kind() == Handshake.Kind.STATUS;
    proof = expected;
    stage = Stage.PROVING;
    sayHello(mine);
  }

  /** Lets somebody ask for the status of this rank, who has been found to be allowed to. */
  void awaitRequest() {
    request = ByteBuffer.allocate(TcpStatus.REQUEST_LENGTH);
    stage = Stage.ASKED;
  }

  /** Sends the answer to a request, and closes. */
  void reply(byte[] text) {
    if (stage == Stage.ANSWERING) {
      channel
          .writeAndFlush(transport.allocator().directBuffer(text.length).writeBytes(text))
          .addListener(ChannelFutureListener.CLOSE);
    }
  }

  /** Proves to the rank that has answered this rank's HELLO that both know the same secret. */
  void prove(Handshake theirs, JobSecret secret) {
    proof = new Proof(secret, transport.job(), Objects.requireNonNull(hello), theirs);
    stage = Stage.PROVING;
    write(proof.bytes(Proof.Side.CONNECTS));
  }

  /** Proves it to a peer that has proved it. */
  void proveToo() {
    write(Objects.requireNonNull(proof).bytes(Proof.Side.ACCEPTS));
  }

  /**
   * Writes what the socket takes now. Not for TLS.
   *
   * @param bytes direct; its position is moved, to the limit if nobody will ever take them
   */
  void tryWrite(ByteBuffer bytes) {
    try {
      transport.kind().write(channel, bytes);
    } catch (IOException e) {
      exceptionCaught(e);
      writable = false;
      bytes.position(bytes.limit());
    }
  }

  /**
   * Sends the bytes from the reader to the writer index of a buffer, which gets one reference less
   * when that is done.
   */
  void write(ByteBuf bytes) {
    channel.writeAndFlush(bytes, channel.voidPromise());
  }

  void write(Handshake handshake) {
    write(handshake.bytes().array());
  }

  private void write(byte[] unit) {
    write(transport.allocator().directBuffer(unit.length).writeBytes(unit));
  }

  /** Tells the peer why it is refused, and closes. */
  void refuse(Handshake refusal) {
    stage = Stage.ENDED;
    channel
        .writeAndFlush(Unpooled.wrappedBuffer(refusal.bytes()))
        .addListener(ChannelFutureListener.CLOSE);
  }

  void close() {
    stage = Stage.ENDED;
    channel.close();
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    ByteBuf buffer = (ByteBuf) message;
    int end;
    if (tls == null) {
      end = buffer.writerIndex();
    } else {
      ByteBuf decrypted = transport.receiveBuffer().clear();
      end = decrypted.writeBytes(rest, 0, restLength).writeBytes(buffer).writerIndex();
    }
    take(end);
    buffer.release();
  }

  /**
   * Reads what is there, past Netty; not for TLS. Errors are kept for when Netty finds the end.
   *
   * @return how many bytes, 0 if none are there, -1 if there will be no more
   */
  int readNow() {
    ByteBuffer landing = transport.landing().clear().put(rest, 0, restLength);
    int count;
    try {
      count = transport.kind().read(channel, landing);
    } catch (IOException e) {
      exceptionCaught(e);
      return -1;
    }
    if (count > 0) {
      take(landing.position());
    }
    return count;
  }

  /** Uses what has been received, up to {@code end}, and keeps what is no whole unit. */
  private void take(int end) {
    int at = use(end);
    restLength = stage == Stage.ENDED ? 0 : end - at;
    // Not by the ByteBuf: without Unsafe, as on JDK 25, it would make a view for each call.
    transport.received().bytes().get(at, rest, 0, restLength);
    transport.active();
  }

  /** Uses what has been received, up to {@code end}; returns where it stopped for want of more. */
  private int use(int end) {
    int at = 0;
    while (isInUnits() && end - at >= Handshake.LENGTH) {
      try {
        if (stage == Stage.ASKED) {
          hearRequest(transport.received().bytes(), at);
        } else {
          hear(transport.received().bytes(), at);
        }
      } catch (ProtocolException e) {
        notUnderstood(e, transport.received().bytes().get(at));
      }
      at += Handshake.LENGTH;
    }
    if (stage == Stage.ANSWERING) {
      return end; // There is nothing more to be said.
    }
    if (stage == Stage.ADMITTED && link != null) {
      at = link.received(transport.received(), at, end);
    }
    return at;
  }

  /** Returns whether what comes has the length of handshake messages. */
  private boolean isInUnits() {
    return stage == Stage.HANDSHAKE || stage == Stage.PROVING || stage == Stage.ASKED;
  }

  private void hearRequest(ByteBuffer source, int at) {
    ByteBuffer all = Objects.requireNonNull(request);
    all.put(all.position(), source, at, Handshake.LENGTH);
    all.position(all.position() + Handshake.LENGTH);
    if (!all.hasRemaining()) {
      stage = Stage.ANSWERING;
      transport.status().requested(this, all.flip());
    }
  }

  /** Handles the proof of somebody who asks for the status of this rank. */
  private void hearProofOfAsker(ByteBuffer source, int at) {
    if (Objects.requireNonNull(proof).isRight(Proof.Side.CONNECTS, source, at)) {
      proveToo();
      awaitRequest();
    } else {
      transport.status().notProved(this);
    }
  }

  /** Handles a handshake message or a proof. */
  private void hear(ByteBuffer source, int at) {
    if (asksForStatus) {
      hearProofOfAsker(source, at);
    } else if (link == null) {
      if (stage == Stage.HANDSHAKE) {
        transport.saidHello(this, Handshake.read(source, at));
      } else if (Objects.requireNonNull(proof).isRight(Proof.Side.CONNECTS, source, at)) {
        transport.proved(this, claimed);
      } else {
        transport.notProved(this, claimed);
      }
    } else if (stage == Stage.HANDSHAKE || source.getInt(at) == Handshake.MAGIC) {
      link.answered(this, Handshake.read(source, at), stage == Stage.PROVING);
      if (stage == Stage.HANDSHAKE) {
        close();
      }
    } else {
      link.proved(this, Objects.requireNonNull(proof).isRight(Proof.Side.ACCEPTS, source, at));
    }
  }

  private void notUnderstood(ProtocolException e, byte first) {
    boolean speaksTls = first == TLS_ALERT || first == TLS_HANDSHAKE;
    if (link == null) {
      transport
          .log()
          .debug(
              "closed a connection from {}: this is no handshake, {}",
              transport.kind().origin(channel),
              e.getMessage());
      if (speaksTls) {
        write(NO_TLS_HERE);
      }
    } else {
      link.lose(
          new ProtocolException(
              link + " was answered by something else than a rank: " + e.getMessage(), e));
    }
    close();
  }

  /**
   * Handles the end of the TLS handshake: the peer has shown a certificate, or one of the two
   * refuses.
   */
  private void encrypted(SslHandshakeCompletionEvent event) {
    if (!event.isSuccess()) {
      exceptionCaught(event.cause());
    } else if (stage == Stage.ENCRYPTING) {
      stage = Stage.HANDSHAKE;
      if (link != null) {
        link.reached(this);
      }
    }
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) {
    if (event == ChannelOutputShutdownEvent.INSTANCE) {
      writable = false;
    } else if (event instanceof SslHandshakeCompletionEvent completion) {
      encrypted(completion);
    }
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    exceptionCaught(cause);
  }

  private void exceptionCaught(Throwable cause) {
    if (problem == null) {
      problem = cause;
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    stage = Stage.ENDED;
    if (link == null) {
      transport
          .log()
          .debug(
              "a connection from {} ended before it was admitted",
              transport.kind().origin(channel),
              problem);
    } else {
      link.ended(this, problem);
    }
  }

  @Override
  public ExtendedHandle newHandle() {
    return this;
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext context) {
    if (tls != null && isUnadmitted() && unadmittedLength >= Tls.UNADMITTED_LENGTH) {
      transport
          .log()
          .debug(
              "closed a connection from {}: {} bytes and not admitted",
              transport.kind().origin(channel),
              unadmittedLength);
      close();
    }
  }

  @Override
  public ByteBuf allocate(ByteBufAllocator allocator) {
    if (tls != null) {
      return transport
          .allocator()
          .directBuffer(
              isUnadmitted()
                  ? Math.max(Tls.UNADMITTED_LENGTH - unadmittedLength, 1)
                  : Tls.READ_LENGTH);
    }
    ByteBuf buffer =
        stage == Stage.ADMITTED
            ? transport.receiveBuffer().retain()
            : transport.receiveBuffer().retainedSlice(0, Handshake.LENGTH);
    return buffer.clear().writeBytes(rest, 0, restLength);
  }

  @Override
  public int guess() {
    return transport.receiveBuffer().capacity();
  }

  @Override
  public void reset(ChannelConfig config) {}

  @Override
  public void incMessagesRead(int count) {}

  @Override
  public void lastBytesRead(int count) {
    lastBytesRead = count;
    if (stage != Stage.ADMITTED) {
      unadmittedLength += Math.max(count, 0);
    }
  }

  @Override
  public int lastBytesRead() {
    return lastBytesRead;
  }

  @Override
  public void attemptedBytesRead(int count) {
    attemptedBytesRead = count;
  }

  @Override
  public int attemptedBytesRead() {
    return attemptedBytesRead;
  }

  /** Allows a single read for each event: the buffer is large, and other links wait. */
  @Override
  public boolean continueReading() {
    return false;
  }

  @Override
  public boolean continueReading(UncheckedBooleanSupplier maybeMoreDataSupplier) {
    return false;
  }

  @Override
  public void readComplete() {}

  /** Finds out whether somebody says HELLO where TLS is needed, and tells them. */
  private final class PlainSpeech extends ChannelInboundHandlerAdapter {
    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
      ByteBuf buffer = (ByteBuf) message;
      context.pipeline().remove(this);
      if (buffer.getByte(buffer.readerIndex()) != (byte) Handshake.MAGIC) {
        context.fireChannelRead(buffer);
        return;
      }
      buffer.release();
      stage = Stage.ENDED;
      transport.warn(
          "rank {} refused a connection from {}: no TLS there, TLS here",
          transport.rank(),
          transport.kind().origin(channel));
      Handshake refusal =
          transport.handshake(Handshake.Kind.HELLO, -1).refuse(Handshake.Objection.TLS);
      context
          .writeAndFlush(Unpooled.wrappedBuffer(refusal.bytes()))
          .addListener(future -> context.close());
    }
  }
}
