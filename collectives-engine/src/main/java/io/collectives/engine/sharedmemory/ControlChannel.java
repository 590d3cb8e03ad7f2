package io.collectives.engine.sharedmemory;

import io.collectives.ProtocolException;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * The messages of two ranks beside their frames, over a Unix-domain socket. The end of the socket
 * tells at once that the other process is dead, and a byte through it wakes a process that sleeps.
 *
 * <pre>
 *   the one who connects          the one who listens
 *   HELLO                    ──▶  may this rank come in? if not: REFUSAL, or YIELD
 *                            ◀──  RINGS: makes and maps a file, and tells its name
 *   maps and deletes it
 *   MAPPED                   ──▶
 *   then, both ways: WAKE; at last GOODBYE, or ABORT and why
 * </pre>
 *
 * <p>A message is its kind (one byte), the length of what follows (two bytes, little-endian), and
 * that.
 */
final class ControlChannel {
  /** Messages. */
  enum Kind {
    /** I am this rank: {@link Hello}. */
    HELLO,
    /** You do not belong here: text. */
    REFUSAL,
    /** I am about to connect to you, and that counts; nothing. */
    YIELD,
    /** The rings are here: capacity (4 bytes), name of the file. */
    RINGS,
    /** I have the rings, too; nothing. */
    MAPPED,
    /** Look at your ring; nothing. */
    WAKE,
    /** All my frames are in the ring; I leave; nothing. */
    GOODBYE,
    /** This link is at its end: 1 if the receiver is to blame, 0 if the sender is; text. */
    ABORT
  }

  private static final Kind[] KINDS = Kind.values();
  private static final int HEAD_LENGTH = 3;
  private static final int LONGEST = 512;
  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

  private final SharedMemoryTransport transport;
  private final SocketChannel channel;

  /**
   * Direct, as what is said is: through others the JDK reads and writes by buffers that it keeps
   * for each thread, which an error of memory that is gone can leave damaged if it comes in
   * between.
   */
  private final ByteBuffer received =
      ByteBuffer.allocateDirect(2 * (HEAD_LENGTH + LONGEST)).order(ByteOrder.LITTLE_ENDIAN);

  private @Nullable SharedMemoryLink
      link; // None until the peer has said a HELLO that was accepted.

  /** Listens to one who has connected. */
  ControlChannel(SharedMemoryTransport transport, SocketChannel channel, Selector selector)
      throws IOException {
    this.transport = transport;
    this.channel = channel;
    channel.configureBlocking(false);
    channel.register(selector, SelectionKey.OP_READ, this);
  }

  /**
   * Connects, which works at once or not at all.
   *
   * @throws java.net.ConnectException if nobody listens there
   */
  static ControlChannel with(SharedMemoryLink link, Path socket, SharedMemoryTransport transport)
      throws IOException {
    SocketChannel channel = SocketChannel.open(java.net.StandardProtocolFamily.UNIX);
    try {
      channel.configureBlocking(false);
      if (!channel.connect(UnixDomainSocketAddress.of(socket))) {
        throw new IOException("too many ranks connect there at once");
      }
      ControlChannel control = new ControlChannel(transport, channel, transport.selector());
      control.link = link;
      return control;
    } catch (IOException e) {
      channel.close();
      throw e;
    }
  }

  /** Gives the channel its link, when the peer has turned out to be a rank of this job. */
  void belongsTo(SharedMemoryLink owner) {
    link = owner;
  }

  void close() {
    try {
      channel.close();
    } catch (IOException e) {
      transport.log().debug("closing {}", channel, e);
    }
  }

  void say(Kind kind) {
    say(kind, NOTHING.duplicate());
  }

  void say(Hello hello) {
    say(Kind.HELLO, hello.bytes());
  }

  void sayRefusal(String why) {
    say(Kind.REFUSAL, text(why, LONGEST));
  }

  void sayRings(int capacity, String name) {
    byte[] ascii = name.getBytes(StandardCharsets.US_ASCII);
    say(
        Kind.RINGS,
        ByteBuffer.allocate(4 + ascii.length)
            .order(ByteOrder.LITTLE_ENDIAN)
            .putInt(capacity)
            .put(ascii)
            .flip());
  }

  void sayAbort(boolean blame, String why) {
    ByteBuffer text = text(why, LONGEST - 1);
    say(
        Kind.ABORT,
        ByteBuffer.allocate(1 + text.remaining()).put((byte) (blame ? 1 : 0)).put(text).flip());
  }

  private static ByteBuffer text(String text, int most) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.wrap(bytes, 0, Math.min(bytes.length, most));
  }

  private void say(Kind kind, ByteBuffer what) {
    write(
        ByteBuffer.allocateDirect(HEAD_LENGTH + what.remaining())
            .order(ByteOrder.LITTLE_ENDIAN)
            .put((byte) kind.ordinal())
            .putShort((short) what.remaining())
            .put(what)
            .flip());
  }

  /** The message {@link Kind#WAKE}, to be used again and again. */
  static ByteBuffer wakeMessage() {
    return ByteBuffer.allocateDirect(HEAD_LENGTH).put((byte) Kind.WAKE.ordinal());
  }

  /** Wakes the other one. */
  void wake(ByteBuffer wakeMessage) {
    write(wakeMessage.clear());
  }

  /**
   * There is room for all that ranks have to say to each other. If the other one is dead, or does
   * not listen, the end of the socket says so.
   */
  private void write(ByteBuffer message) {
    try {
      channel.write(message);
      if (message.hasRemaining()) {
        transport.log().warn("rank {}: {} does not listen", transport.rank(), link);
        channel.shutdownOutput();
      }
    } catch (IOException e) {
      transport.log().debug("rank {} cannot tell {}", transport.rank(), link, e);
    }
  }

  /** Hears what has been said. */
  void hear() {
    try {
      int length;
      do {
        length = channel.isOpen() ? channel.read(received) : 0;
        received.flip();
        try {
          take();
        } finally {
          received.compact();
        }
      } while (length > 0);
      if (length < 0) {
        ended(null);
      }
    } catch (ProtocolException e) {
      protocolError(e);
    } catch (IOException e) {
      ended(e);
    }
  }

  private void take() {
    while (channel.isOpen() && received.remaining() >= HEAD_LENGTH) {
      int at = received.position();
      int kind = received.get(at) & 0xff;
      int length = received.getShort(at + 1) & 0xffff;
      if (kind >= KINDS.length || length > LONGEST) {
        throw new ProtocolException("a message of kind " + kind + " and " + length + " bytes");
      }
      if (received.remaining() < HEAD_LENGTH + length) {
        return;
      }
      received.position(at + HEAD_LENGTH + length);
      if (KINDS[kind] != Kind.WAKE) {
        heard(KINDS[kind], received.slice(at + HEAD_LENGTH, length).order(ByteOrder.LITTLE_ENDIAN));
      }
    }
  }

  private void heard(Kind kind, ByteBuffer what) {
    SharedMemoryLink to = link;
    if (to == null) {
      if (kind != Kind.HELLO) {
        throw new ProtocolException("it began with " + kind);
      }
      transport.saidHello(this, Hello.read(what));
      return;
    }
    switch (kind) {
      case REFUSAL -> to.refused(this, text(what));
      case YIELD -> to.yielded(this);
      case RINGS -> {
        if (what.remaining() < 4) {
          throw new ProtocolException("the name of its rings is missing");
        }
        to.rings(this, what.getInt(), text(what));
      }
      case MAPPED -> to.mapped(this);
      case GOODBYE -> to.left(this);
      case ABORT -> {
        if (!what.hasRemaining()) {
          throw new ProtocolException("a farewell without a reason");
        }
        to.aborted(this, what.get() != 0, text(what));
      }
      default -> throw new ProtocolException("it says " + kind + " again");
    }
  }

  private static String text(ByteBuffer what) {
    return StandardCharsets.UTF_8.decode(what).toString();
  }

  private void protocolError(ProtocolException why) {
    SharedMemoryLink of = link;
    if (of == null) {
      transport
          .log()
          .debug("rank {} closed a control channel: {}", transport.rank(), why.getMessage());
      close();
      transport.left(this);
    } else {
      of.protocolError(this, why);
    }
  }

  private void ended(@Nullable IOException problem) {
    close();
    SharedMemoryLink of = link;
    if (of == null) {
      transport.left(this);
    } else {
      of.ended(this, problem);
    }
  }
}
