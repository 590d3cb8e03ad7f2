package io.collectives.netty;

import io.collectives.ProtocolException;
import io.collectives.spi.FrameCodec;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelConfig;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.socket.ChannelOutputShutdownEvent;
import io.netty.util.UncheckedBooleanSupplier;
import java.io.IOException;
import java.net.ConnectException;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One TCP connection, from its greeting to its end. It is admitted to a link when both sides have
 * said HELLO; until then it may be anybody's, so it gets no memory but this object and a deadline.
 *
 * <p><b>Reading.</b> All connections of a transport read into the same buffer, one after the other,
 * so that it stays in the cache, and whatever is read is used up before the next read. The few
 * bytes that make no whole unit (a greeting, a header, eight bytes of a body) are kept in {@code
 * rest} and put back at the front before the next read. As all units are multiples of 8 bytes, what
 * lies at a multiple of 8 in the stream lies at a multiple of 8 in the buffer.
 *
 * <p><b>Write errors.</b> If the peer has gone, its last frames and its goodbye may still be unread
 * here when a write fails. So a failed write ends only the sending ({@code AUTO_CLOSE} is off);
 * reading on brings first these, then the end.
 */
final class TcpConnection extends ChannelInboundHandlerAdapter
    implements RecvByteBufAllocator, RecvByteBufAllocator.ExtendedHandle {

  private enum Stage {
    GREETING,
    ADMITTED,
    ENDED
  }

  private final TcpTransport transport;
  private final Channel channel;
  private final boolean incoming;
  private final byte[] rest = new byte[FrameCodec.HEADER_LENGTH];
  private int restLength;
  private int attemptedBytesRead;
  private int lastBytesRead;
  private Stage stage = Stage.GREETING;
  private @Nullable TcpLink link;
  private @Nullable Throwable problem;
  private boolean writable = true;

  /**
   * Takes over a channel that is not registered yet.
   *
   * @param link the link that wants the connection; nothing if a peer, or anybody, has opened it
   */
  TcpConnection(TcpTransport transport, Channel channel, @Nullable TcpLink link) {
    this.transport = transport;
    this.channel = channel;
    this.link = link;
    this.incoming = link == null;
    channel.config().setOption(ChannelOption.TCP_NODELAY, true);
    channel.config().setOption(ChannelOption.SO_KEEPALIVE, true);
    channel.config().setAllocator(transport.allocator());
    channel.config().setRecvByteBufAllocator(this);
    channel.config().setAutoClose(false);
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
          .connect(HostPort.parse(address))
          .addListener(
              future -> {
                if (!future.isSuccess()) {
                  channel.close();
                  by.unreached(this, future.cause());
                } else if (channel.localAddress().equals(channel.remoteAddress())) {
                  // TCP allows it where nobody listens, if this end happens to get the same port.
                  exceptionCaught(new ConnectException("connected to itself"));
                  channel.close();
                } else {
                  by.reached(this);
                }
              });
    } catch (UnknownHostException e) {
      channel.close();
      by.unreached(this, e);
    }
  }

  /** Whether this is a connection that may be anybody's. */
  boolean isStranger() {
    return incoming && stage == Stage.GREETING;
  }

  /** Whether frames can still be written. */
  boolean isWritable() {
    return writable && stage == Stage.ADMITTED;
  }

  /** Whether all that was written has left this process, or never can. */
  boolean isFlushed() {
    var pending = channel.unsafe().outboundBuffer();
    return pending == null || pending.isEmpty();
  }

  /** From now on this connection carries the frames of a link. */
  void admit(TcpLink admittedTo) {
    link = admittedTo;
    stage = Stage.ADMITTED;
  }

  /**
   * Writes what the socket takes now.
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

  void write(Greeting greeting) {
    write(transport.allocator().directBuffer(Greeting.LENGTH).writeBytes(greeting.bytes()));
  }

  /** Says why the one at the other end cannot come in, and closes. */
  void refuse(Greeting refusal) {
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
    int end = buffer.writerIndex();
    int at = use(end);
    restLength = stage == Stage.ENDED ? 0 : end - at;
    // Not by the ByteBuf: without Unsafe, as on JDK 25, it would make a view for each call.
    transport.received().bytes().get(at, rest, 0, restLength);
    buffer.release();
    transport.active();
  }

  /** Uses what has been received, up to {@code end}; returns where it stopped for want of more. */
  private int use(int end) {
    int at = 0;
    if (stage == Stage.GREETING) {
      if (end < Greeting.LENGTH) {
        return 0;
      }
      at = Greeting.LENGTH;
      try {
        Greeting greeting = Greeting.read(transport.received().bytes(), 0);
        if (link == null) {
          transport.greeted(this, greeting);
        } else {
          link.answered(this, greeting);
          if (stage == Stage.GREETING) {
            close();
          }
        }
      } catch (ProtocolException e) {
        if (link == null) {
          transport
              .log()
              .debug(
                  "closed a connection from {}: this is no greeting, {}",
                  channel.remoteAddress(),
                  e.getMessage());
        } else {
          link.lose(
              new ProtocolException(
                  link + " was answered by something else than a rank: " + e.getMessage(), e));
        }
        close();
      }
    }
    if (stage == Stage.ADMITTED && link != null) {
      at = link.received(transport.received(), at, end);
    }
    return at;
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) {
    if (event == ChannelOutputShutdownEvent.INSTANCE) {
      writable = false;
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
              channel.remoteAddress(),
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
  public ByteBuf allocate(ByteBufAllocator allocator) {
    return transport.receiveBuffer().clear().writeBytes(rest, 0, restLength).retain();
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

  /** One read for each event: the buffer is large, and other links wait. */
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
}
