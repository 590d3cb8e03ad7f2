package io.collectives.netty;

import io.collectives.JobSecret;
import io.collectives.JobSettings;
import io.collectives.internal.FrameCodec;
import io.collectives.internal.LinkLifecycle;
import io.collectives.internal.Log;
import io.collectives.internal.RefusalLog;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.FrameSink;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Link;
import io.collectives.spi.Roster;
import io.collectives.spi.StatusRequests;
import io.collectives.spi.Transport;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.ServerChannel;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.ReferenceCountUtil;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A rank's end of all its connections, by TCP or Unix-domain sockets; {@link SocketKind} knows
 * which.
 *
 * <pre>
 *   trySend ─ header, body ─▶ slot ─ one write ─▶ socket
 *             (copied once)                          ║
 *                                                    ▼
 *                      receive buffer ◀─ one read ─ socket
 *                            └─▶ sink.header, bytes (within poll, not copied)
 * </pre>
 *
 * <p><b>Memory.</b> One receive buffer of {@link #RECEIVE_LENGTH}, and for each link at most {@code
 * slotCount} send buffers of a header and a longest body, allocated when first needed; all direct,
 * from an allocator of its own so that it can be counted, and freed by {@link #close}. Nothing is
 * allocated for a frame.
 *
 * <p><b>Threads.</b> Each method makes its caller the driver of the event loop (see {@link
 * DrivenEventLoop}). {@link #close} from another thread raises {@code closing}, wakes the driver,
 * which leaves, and becomes the driver itself. From within the sink it only raises {@code closing},
 * as the loop is busy below; the poll finishes the job before it returns.
 *
 * <p><b>Leaving.</b> A rank that closes sends what is queued and a goodbye. Then it must not close
 * its sockets at once: were there unread bytes, or came some later, the kernel would answer them
 * with a reset and drop what it has not delivered yet. So it reads and forgets until the peers have
 * closed, which they do on goodbye; or until they are silent for {@link #QUIET_NANOS} (they do not
 * poll now, so nothing of theirs will cross ours), or for {@link #CLOSE_NANOS} if they have not
 * taken all; at most {@link #CLOSE_MOST_NANOS}.
 *
 * <p><b>Unauthenticated peers.</b> A peer that connects gets {@link Tls#ADMISSION_SECONDS} to say a
 * proper HELLO, and to prove that it knows the job's secret if there is one; while {@link
 * #UNADMITTED_LIMIT} connections have not done so yet, no more are accepted. Until then at most 128
 * bytes are read from a connection, with TLS {@link Tls#UNADMITTED_LENGTH}. What is wrong is logged
 * and closed, and touches no link.
 *
 * <p>One class because polling, accepting and closing are the work of the one driver of the event
 * loop, on the same set of connections.
 */
final class TcpTransport implements Transport {
  /** The names by which users ask for it: over TCP, and over Unix-domain sockets. */
  static final String TCP = "tcp";

  static final String UNIX = "unix";

  private static final Log LOG = Log.of(TcpTransport.class);

  /**
   * The number of bytes that are read at once. Measured between two ranks on one host: with two
   * frames of 128 KiB in flight, 256 KiB and 1 MiB are the same; with eight, 1 MiB is 7 to 10 %
   * faster.
   */
  static final int RECEIVE_LENGTH = 1024 * 1024;

  /** The number of frames that may wait to be written on one link; see {@link TcpLink}. */
  static final int SLOTS = 4;

  /** The limit of open connections that have not been admitted. */
  static final int UNADMITTED_LIMIT = 64;

  /** Failures are told in a frame whose body may be longer than the longest piece of a payload. */
  private static final int CONTROL_LENGTH = 4096;

  private static final long LOOK_NANOS = 50_000;
  private static final long CLOSE_NANOS = TimeUnit.SECONDS.toNanos(1);

  /**
   * A peer that still sends lives, and takes what it gets whenever it polls; on a busy machine it
   * may need many seconds to come to the goodbye.
   */
  private static final long CLOSE_MOST_NANOS = TimeUnit.SECONDS.toNanos(20);

  /** The time for which the listening socket of a killed process may outlive its connections. */
  private static final long PROBE_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  private static final long QUIET_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  private final JobSettings settings;
  private final Roster roster;
  private final SocketKind kind;
  private final DrivenEventLoop loop;
  private final ServerChannel server;
  private final int slotCount;
  private final int envelopeLength;
  private final @Nullable Tls tls;
  private final @Nullable SocketDirectory directory;
  private final SecureRandom random = new SecureRandom();
  private final TcpStatus status = new TcpStatus(this, random);
  private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true, true);
  private final ByteBuf receiveBuffer = allocator.directBuffer(RECEIVE_LENGTH, RECEIVE_LENGTH);
  private final ByteBuffer landing = receiveBuffer.nioBuffer(0, RECEIVE_LENGTH);
  private final FrameBytes received = new FrameBytes(receiveBuffer.nioBuffer(0, RECEIVE_LENGTH));
  private final @Nullable TcpLink[] links;
  private final Queue<TcpLink> losses = new ArrayDeque<>();
  private final List<TcpLink> blocked = new ArrayList<>();
  private final Set<TcpConnection> unadmitted = new HashSet<>();
  private final RefusalLog refusalLog = new RefusalLog(LOG);
  private @Nullable FrameSink sink; // During a poll.
  private @Nullable Throwable sinkFailure;
  private @Nullable TcpLink single; // The only one that was ever admitted.
  private int admitted;
  private long lookedNanos;
  private long lastActiveNanos;
  private volatile boolean closing;
  private boolean closeAfterPoll;
  private boolean closed;

  /**
   * Begins to accept peers.
   *
   * @param listening listens, but has accepted nobody yet
   * @param directory that of a Unix-domain socket, which is deleted in the end; nothing for TCP
   */
  TcpTransport(
      JobSettings settings,
      Roster roster,
      Listening listening,
      int slotCount,
      @Nullable Tls tls,
      @Nullable SocketDirectory directory) {
    this(settings, roster, listening, slotCount, tls, directory, 0);
  }

  /**
   * Begins to accept peers, as one of several paths.
   *
   * @param envelopeLength what bodies may be longer by than the settings say
   */
  TcpTransport(
      JobSettings settings,
      Roster roster,
      Listening listening,
      int slotCount,
      @Nullable Tls tls,
      @Nullable SocketDirectory directory,
      int envelopeLength) {
    if (roster.addresses().size() != settings.size()) {
      throw new IllegalArgumentException(
          roster.addresses().size() + " addresses for a job of " + settings.size() + " ranks");
    }
    this.settings = settings;
    this.roster = roster;
    this.kind = listening.kind();
    this.loop = listening.loop();
    this.server = listening.server();
    this.slotCount = slotCount;
    this.envelopeLength = envelopeLength;
    this.tls = tls;
    this.directory = directory;
    links = new TcpLink[settings.size()];
    loop.enter();
    try {
      server.pipeline().addLast(new Reception());
      server.config().setAutoRead(true);
    } finally {
      loop.leave();
    }
  }

  @Override
  public int rank() {
    return settings.rank();
  }

  @Override
  public int size() {
    return settings.size();
  }

  @Override
  public Link link(int peer) {
    if (Objects.checkIndex(peer, size()) == rank()) {
      throw new IllegalArgumentException("rank " + peer + " has no link to itself");
    }
    loop.enter();
    try {
      TcpLink link = at(peer);
      if (!closing) {
        link.open();
      }
      return link;
    } finally {
      loop.leave();
    }
  }

  /** Returns the link to a peer, if there is one. */
  @Nullable TcpLink known(int peer) {
    return links[peer];
  }

  TcpLink at(int peer) {
    TcpLink link = links[peer];
    if (link == null) {
      link = links[peer] = new TcpLink(this, peer);
    }
    return link;
  }

  @Override
  public int poll(FrameSink to) {
    if (closing) {
      return 0;
    }
    loop.enter();
    try {
      if (closing) {
        return 0;
      }
      if (sink != null) {
        throw new IllegalStateException("poll called from within a sink");
      }
      sink = to;
      int done;
      try {
        done = receive() + flush() + reportLosses(to);
      } finally {
        sink = null;
      }
      if (sinkFailure != null) {
        Throwable failure = sinkFailure;
        sinkFailure = null;
        throw TcpTransport.<RuntimeException>sneaky(failure);
      }
      return done;
    } finally {
      if (closeAfterPoll) {
        shutDown();
      }
      loop.leave();
    }
  }

  /**
   * Takes in what has arrived; returns how much was done. A single connection is read without
   * asking the kernel first which one has something: that is a system call less for each message.
   * What else there may be (its end, new connections, timers) is looked for now and then.
   */
  private int receive() {
    TcpConnection connection = single == null ? null : single.connection();
    if (connection == null || !connection.isPlain()) {
      return loop.runNow();
    }
    int count = connection.readNow();
    long now = System.nanoTime();
    if (count < 0 || now - lookedNanos >= LOOK_NANOS) {
      lookedNanos = now;
      return loop.runNow() + Math.max(count, 0);
    }
    return count;
  }

  /** Writes on where a socket was full; returns how many links got on. */
  private int flush() {
    int count = 0;
    for (int i = blocked.size() - 1; i >= 0; i--) {
      TcpLink link = blocked.get(i);
      if (link.flush()) {
        count++;
      }
      if (!link.isBlocked()) {
        blocked.remove(i);
      }
    }
    return count;
  }

  /**
   * Leaves what waits to Netty, which alone can wait for room in a socket.
   *
   * @return whether there is need to wait; if a socket has just taken everything, there is room in
   *     its link again
   */
  private boolean handOver() {
    boolean full = true;
    for (int i = 0; i < blocked.size(); i++) { // An iterator would be an allocation.
      full &= blocked.get(i).handOver();
    }
    for (int i = blocked.size() - 1; i >= 0; i--) {
      if (!blocked.get(i).isBlocked()) {
        blocked.remove(i);
      }
    }
    return full;
  }

  /** A socket is full: from now on each poll tries to write on. */
  void blocked(TcpLink link) {
    if (!blocked.contains(link)) {
      blocked.add(link);
    }
  }

  private int reportLosses(FrameSink to) {
    int count = 0;
    for (TcpLink link = losses.poll(); link != null; link = losses.poll()) {
      try {
        to.lost(link, link.cause());
      } catch (Throwable t) {
        sinkFailed(t);
      }
      count++;
    }
    return count;
  }

  @Override
  public void await(long nanos) {
    if (closing || nanos <= 0) {
      return;
    }
    loop.enter();
    try {
      if (!closing && losses.isEmpty() && flush() == 0 && handOver()) {
        loop.await(nanos);
      }
    } finally {
      loop.leave();
    }
  }

  @Override
  public <C> @Nullable C capability(Class<C> kind) {
    if (kind == StatusRequests.class && !this.kind.isUnix()) {
      return kind.cast(status);
    }
    return null;
  }

  @Override
  public void wakeup() {
    loop.wakeup();
  }

  @Override
  public void close() {
    closing = true;
    loop.wakeup();
    loop.enter();
    try {
      if (sink == null) {
        shutDown();
      } else {
        closeAfterPoll = true;
      }
    } finally {
      loop.leave();
    }
  }

  private void shutDown() {
    if (closed) {
      return;
    }
    for (TcpLink link : links) {
      if (link != null && link.connection() != null) {
        sayGoodbye(link);
      }
    }
    long start = System.nanoTime();
    lastActiveNanos = start;
    for (long now = start;
        now - start < CLOSE_MOST_NANOS && mustStay(now);
        now = System.nanoTime()) {
      loop.await(QUIET_NANOS / 50);
      loop.runNow();
    }
    free();
    deleteFiles();
  }

  /** Deletes this rank's socket, and those of peers that have not said goodbye if they are dead. */
  private void deleteFiles() {
    if (directory == null) {
      return;
    }
    directory.delete();
    for (TcpLink link : links) {
      if (link != null && link.cause() != null) {
        SocketDirectory.parse(address(link.peer())).deleteIfDead();
      }
    }
  }

  /** Returns whether, while closing, something may still arrive somewhere. */
  private boolean mustStay(long now) {
    long silence = now - lastActiveNanos;
    boolean connected = false;
    for (TcpLink link : links) {
      TcpConnection connection = link == null ? null : link.connection();
      if (link != null && link.isExpecting() || connection != null && !connection.isFlushed()) {
        return silence < CLOSE_NANOS;
      }
      connected |= connection != null;
    }
    return connected && silence < QUIET_NANOS;
  }

  /** Cuts all connections without a goodbye, as if the process had died. */
  void kill() {
    closing = true;
    loop.wakeup();
    loop.enter();
    try {
      free();
    } finally {
      loop.leave();
    }
  }

  private void free() {
    if (closed) {
      return;
    }
    closed = true;
    refusalLog.end();
    server.close();
    for (TcpLink link : links) {
      if (link != null) {
        link.lose(null);
      }
    }
    loop.destroy();
    receiveBuffer.release();
  }

  @Override
  public List<String> names() {
    return List.of(kind.isUnix() ? UNIX : TCP);
  }

  @Override
  public long memoryLimit() {
    long peers = roster.addresses().stream().filter(address -> !address.isEmpty()).count() - 1;
    return RECEIVE_LENGTH + peers * slotCount * slotLength();
  }

  /** Returns the number of bytes of direct memory that this transport holds. */
  long directMemoryLength() {
    return allocator.metric().usedDirectMemory();
  }

  /** Returns the number of open connections that have not been admitted. */
  int unadmittedCount() {
    return unadmitted.size();
  }

  DrivenEventLoop loop() {
    return loop;
  }

  SocketKind kind() {
    return kind;
  }

  Log log() {
    return LOG;
  }

  UnpooledByteBufAllocator allocator() {
    return allocator;
  }

  ByteBuf receiveBuffer() {
    return receiveBuffer;
  }

  /** The receive buffer as a socket fills it. */
  ByteBuffer landing() {
    return landing;
  }

  /** The receive buffer as the sink sees it. */
  FrameBytes received() {
    return received;
  }

  JobEpoch epoch() {
    return roster.epoch();
  }

  String address(int peer) {
    return roster.addresses().get(peer);
  }

  int slotCount() {
    return slotCount;
  }

  int slotLength() {
    return FrameCodec.HEADER_LENGTH + FrameCodec.padded(bodyLimit());
  }

  /** The length of the longest body that may be sent or received. */
  int bodyLimit() {
    return Math.max(settings.calls().frameLimit(), CONTROL_LENGTH) + envelopeLength;
  }

  long connectTimeoutNanos() {
    return settings.joinTimeout().toNanos();
  }

  boolean isClosing() {
    return closing;
  }

  String job() {
    return settings.job();
  }

  TcpStatus status() {
    return status;
  }

  @Nullable Tls tls() {
    return tls;
  }

  @Nullable JobSecret secret() {
    return settings.security().secret();
  }

  /** Returns the terms of this rank, which all others must have, too. */
  Handshake.Terms terms() {
    return new Handshake.Terms(secret() != null, settings.security().checksums(), tls != null);
  }

  Handshake handshake(Handshake.Kind what, int peer) {
    return Handshake.of(what, epoch(), size(), rank(), peer, terms());
  }

  /** Creates a HELLO for one connection. */
  Handshake hello(int peer) {
    Handshake hello = handshake(Handshake.Kind.HELLO, peer);
    return secret() == null ? hello : hello.withNonce(Handshake.Nonce.draw(random));
  }

  /** Something has arrived. */
  void active() {
    lastActiveNanos = closing ? System.nanoTime() : 0;
  }

  /** A connection of a link, which is not connected yet. */
  TcpConnection newConnection(TcpLink link) {
    return register(kind.socket(), link);
  }

  /**
   * Tries whether somebody listens where a peer does; tells the answer in a later poll. A process
   * that is being killed may still have its listening socket when its connections are closed
   * already; so a connection counts only if it is there a moment later.
   */
  void probe(int peer, int timeoutMillis, Consumer<Boolean> answer) {
    Channel channel = kind.socket();
    channel.config().setConnectTimeoutMillis(timeoutMillis);
    channel.pipeline().addLast(new Unheard());
    channel.unsafe().register(loop, channel.newPromise());
    try {
      channel
          .connect(kind.parse(address(peer)))
          .addListener(
              future -> {
                if (future.isSuccess() && SocketKind.isConnectedToItself(channel)) {
                  SocketKind.reset(channel);
                  answer.accept(false);
                } else if (future.isSuccess()) {
                  loop.schedule(
                      () -> {
                        boolean lives = channel.isActive();
                        channel.close();
                        answer.accept(lives);
                      },
                      PROBE_NANOS,
                      TimeUnit.NANOSECONDS);
                } else {
                  boolean lives = !future.isSuccess() && kind.isBusy(address(peer));
                  channel.close();
                  answer.accept(lives);
                }
              });
    } catch (UnknownHostException e) {
      channel.close();
      answer.accept(false);
    }
  }

  /** The end of a probe: what comes by it is nobody's, and a reset tells that nobody listens. */
  private static final class Unheard extends ChannelInboundHandlerAdapter {
    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
      ReferenceCountUtil.release(message);
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
      context.close();
    }
  }

  private TcpConnection register(Channel channel, @Nullable TcpLink link) {
    TcpConnection connection = new TcpConnection(this, channel, tls, link);
    channel.unsafe().register(loop, channel.newPromise());
    return connection;
  }

  /** Admits, challenges or refuses a peer that has connected to this rank and has said HELLO. */
  void saidHello(TcpConnection connection, Handshake theirs) {
    if (theirs.kind() == Handshake.Kind.STATUS) {
      status.asked(connection, theirs);
      return;
    }
    Channel channel = connection.channel();
    Handshake mine = hello(theirs.from());
    Handshake.Objection objection = mine.objectionTo(theirs);
    JobSecret secret = secret();
    if (theirs.kind() != Handshake.Kind.HELLO) {
      warn(
          "rank {} closed a connection from {}, which began with {}",
          rank(),
          kind.origin(channel),
          theirs);
      connection.close();
    } else if (objection != null) {
      refuse(connection, mine, objection, theirs);
    } else if (!isPeer(theirs.from())) {
      warn(
          "rank {} closed a connection from {}, which claims to be rank {}",
          rank(),
          kind.origin(channel),
          theirs.from());
      connection.close();
    } else if (!hasCertificate(connection, theirs.from())) {
      refuse(connection, mine, Handshake.Objection.CERTIFICATE, theirs);
    } else if (secret != null) {
      connection.challenge(theirs, mine, new Proof(secret, job(), theirs, mine));
    } else if (isWelcome(connection, theirs.from())) {
      connection.write(mine);
      admit(connection, theirs.from());
    }
  }

  private boolean isPeer(int claimed) {
    return claimed >= 0
        && claimed < size()
        && claimed != rank()
        && !roster.addresses().get(claimed).isEmpty();
  }

  private boolean hasCertificate(TcpConnection connection, int peer) {
    SslHandler handler = connection.tls();
    return tls == null || handler != null && tls.isPeer(handler, peer);
  }

  private void refuse(
      TcpConnection connection, Handshake mine, Handshake.Objection why, Handshake theirs) {
    Handshake refusal = mine.refuse(why);
    warn(
        "rank {} refused rank {} at {}: {}",
        rank(),
        theirs.from(),
        kind.origin(connection.channel()),
        refusal.difference(why, "here", theirs, "there"));
    connection.refuse(refusal);
  }

  /** Warns of an unauthenticated peer, but not more often than people can read. */
  void warn(String format, Object... facts) {
    refusalLog.warn(format, facts);
  }

  /** Admits a peer that has proved to be a rank of this job. */
  void proved(TcpConnection connection, int peer) {
    if (isWelcome(connection, peer)) {
      connection.proveToo();
      admit(connection, peer);
    }
  }

  /** Refuses a peer whose proof is wrong. */
  void notProved(TcpConnection connection, int peer) {
    Handshake mine = handshake(Handshake.Kind.HELLO, peer);
    refuse(
        connection,
        mine,
        Handshake.Objection.PROOF,
        Handshake.of(Handshake.Kind.HELLO, epoch(), size(), peer, rank(), terms()));
  }

  /** Returns whether a peer's connection is the one that counts; otherwise it is closed. */
  private boolean isWelcome(TcpConnection connection, int peer) {
    LinkLifecycle.Answer answer = at(peer).answer();
    if (answer == LinkLifecycle.Answer.WELCOME) {
      return true;
    }
    LOG.debug(
        "rank {} closed the connection of rank {} from {}: {}",
        rank(),
        peer,
        kind.origin(connection.channel()),
        answer);
    connection.close();
    return false;
  }

  private void admit(TcpConnection connection, int peer) {
    at(peer).admit(connection);
    left(connection);
  }

  /** A link has got its connection. */
  void admitted(TcpLink link) {
    single = admitted++ == 0 ? link : null;
    if (closing) {
      sayGoodbye(link);
    }
  }

  private void sayGoodbye(TcpLink link) {
    TcpConnection connection = link.connection();
    if (connection != null && connection.isWritable()) {
      link.writeAll();
      connection.write(handshake(Handshake.Kind.GOODBYE, link.peer()));
    }
  }

  /** Tells a peer that its connection ends for what came over it. */
  void sayAbort(TcpLink link) {
    TcpConnection connection = link.connection();
    if (connection != null && connection.isWritable()) {
      connection.write(handshake(Handshake.Kind.ABORT, link.peer()));
    }
  }

  /** Returns the message of a kind that a rank that is connected sends to this one. */
  Handshake handshakeFrom(int peer, Handshake.Kind kind) {
    return Handshake.of(kind, epoch(), size(), peer, rank(), terms());
  }

  void lost(TcpLink link) {
    losses.add(link);
  }

  void header(TcpLink link, FrameHeader header) {
    if (sink != null) {
      try {
        sink.header(link, header);
      } catch (Throwable t) {
        sinkFailed(t);
      }
    }
  }

  /** Gives a piece of a body to the sink, unless there is none because this rank is leaving. */
  void bytes(TcpLink link, FrameBytes source, int at, int length) {
    if (sink != null) {
      try {
        sink.bytes(link, source, at, length);
      } catch (Throwable t) {
        sinkFailed(t);
      }
    }
  }

  /** Keeps what the sink has thrown, as Netty would swallow it, until the poll can throw it on. */
  private void sinkFailed(Throwable t) {
    if (sinkFailure == null) {
      sinkFailure = t;
    } else if (sinkFailure != t) {
      sinkFailure.addSuppressed(t);
    }
  }

  @SuppressWarnings("unchecked")
  private static <T extends Throwable> RuntimeException sneaky(Throwable t) throws T {
    throw (T) t;
  }

  private void left(TcpConnection connection) {
    if (unadmitted.remove(connection)
        && unadmitted.size() == UNADMITTED_LIMIT - 1
        && server.isOpen()) {
      server.config().setAutoRead(true);
    }
  }

  /** Accepts connections. */
  private final class Reception extends ChannelInboundHandlerAdapter {
    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
      Channel channel = (Channel) message;
      TcpConnection connection = register(channel, null);
      unadmitted.add(connection);
      if (unadmitted.size() >= UNADMITTED_LIMIT) {
        server.config().setAutoRead(false);
      }
      channel.closeFuture().addListener(future -> left(connection));
      loop.schedule(
          () -> {
            if (connection.isUnadmitted()) {
              LOG.debug(
                  "closed a connection from {}: not admitted within {} s",
                  kind.origin(channel),
                  Tls.ADMISSION_SECONDS);
              connection.close();
            }
          },
          Tls.ADMISSION_SECONDS,
          TimeUnit.SECONDS);
    }

    /**
     * Most often there are no descriptors left; trying again at once would only burn the processor.
     */
    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
      LOG.warn("rank {} cannot accept a connection now", rank(), cause);
      server.config().setOption(ChannelOption.AUTO_READ, false);
      loop.schedule(() -> server.config().setAutoRead(server.isOpen()), 1, TimeUnit.SECONDS);
    }
  }
}
