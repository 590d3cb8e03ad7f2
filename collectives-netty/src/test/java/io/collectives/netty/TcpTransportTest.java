package io.collectives.netty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import com.sun.management.ThreadMXBean;
import com.sun.management.UnixOperatingSystemMXBean;
import io.collectives.CallSettings;
import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.ProtocolException;
import io.collectives.internal.FrameCodec;
import io.collectives.spi.BrokenLinkException;
import io.collectives.spi.FrameBody;
import io.collectives.spi.FrameBytes;
import io.collectives.spi.FrameHeader;
import io.collectives.spi.FrameSink;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.Link;
import io.collectives.spi.Rendezvous;
import io.collectives.spi.Roster;
import io.collectives.spi.TransportProvider;
import io.collectives.testkit.FreePort;
import io.collectives.testkit.TcpProxy;
import io.netty.channel.epoll.Epoll;
import io.netty.util.internal.PlatformDependent;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.StandardProtocolFamily;
import java.net.URI;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The tests that TCP adds to the contract of transports: unauthenticated peers, damage, and what is
 * left behind. Alone in its process while it runs, because it counts descriptors and allocations.
 */
@Isolated
class TcpTransportTest {
  private static final CallSettings CALLS = CallSettings.defaults().withFrameLength(64 * 1024);

  private static final Handshake.Terms PLAIN = new Handshake.Terms(false, false, false);

  private static final Executor THREADS =
      task -> {
        Thread thread = new Thread(task, "rendezvous-test");
        thread.setDaemon(true);
        thread.start();
      };

  @TempDir private Path directory;
  private final List<TcpTransport> transports = new ArrayList<>();
  private final List<Counter> counters = new ArrayList<>();

  @AfterEach
  void close() {
    transports.forEach(TcpTransport::kill);
  }

  @Test
  void isFoundByName() {
    assertTrue(
        ServiceLoader.load(TransportProvider.class).stream()
            .anyMatch(found -> found.get().name().equals("tcp")));
  }

  @Test
  void announcesAnAddressOfEachFamily() {
    TransportProvider provider = new TcpTransportProvider();
    try (TransportProvider.Endpoint endpoint =
        provider.listen(TcpJob.settings(0, 2, "127.0.0.1", CALLS))) {
      assertTrue(endpoint.address().matches("127\\.0\\.0\\.1:\\d+"), endpoint.address());
    }
  }

  @Test
  void listensOnOneAddressOnly() throws Exception {
    TransportProvider provider = new TcpTransportProvider();
    for (String everywhere : new String[] {"0.0.0.0", "::"}) {
      JobSettings settings = TcpJob.settings(0, 2, everywhere, CALLS);
      assertTrue(
          assertThrows(JoinException.class, () -> provider.listen(settings))
              .getMessage()
              .contains(everywhere));
    }
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
      JobSettings settings =
          TcpJob.settings(0, 2, "127.0.0.1", CALLS).withListen("127.0.0.1", taken.getLocalPort());
      String message =
          assertThrows(JoinException.class, () -> provider.listen(settings)).getMessage();
      assertTrue(message.contains("127.0.0.1:" + taken.getLocalPort()), message);
    }
    JobSettings settings = TcpJob.settings(0, 2, "no-such-host.invalid", CALLS);
    assertThrows(JoinException.class, () -> provider.listen(settings));
  }

  /** The next socket that the process opens gets the number of one that was closed. */
  @ParameterizedTest
  @EnumSource
  void neverReadsASocketThatHasTheNumberOfAClosedOne(SocketKind kind) throws Exception {
    Assumptions.assumeTrue(!kind.isNative() || Epoll.isAvailable(), "epoll is for Linux");
    JobSettings[] settings = new JobSettings[2];
    Arrays.setAll(settings, rank -> Ranks.settings(rank).withMemoryDirectory(directory));
    try (Ranks ranks =
            Ranks.open(
                TcpJob.provider(kind, TcpTransport.SLOTS), addresses -> addresses, settings);
        ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      server.bind(UnixDomainSocketAddress.of(directory.resolve("other")));
      ranks.exchange(0, 1);
      TcpTransport zero = ranks.get(0).transport;
      SocketChannel other;
      zero.loop().enter();
      try {
        Objects.requireNonNull(((TcpLink) zero.link(1)).connection()).channel().close();
        other = SocketChannel.open(server.getLocalAddress());
      } finally {
        zero.loop().leave();
      }
      try (other;
          SocketChannel peer = server.accept()) {
        ByteBuffer sent = ByteBuffer.wrap(new byte[256]);
        assertEquals(sent.capacity(), peer.write(sent));
        ranks.pumpUntil(() -> ranks.get(0).losses == 1);
        assertFalse(ranks.get(0).cause instanceof ProtocolException, ranks.get(0).message());
        assertEquals(sent.capacity(), other.read(ByteBuffer.allocate(2 * sent.capacity())));
      }
    }
  }

  @Test
  void closesUnauthenticatedPeersAndGoesOn() throws Exception {
    open(2);
    long seed = System.nanoTime();
    byte[] random = new byte[100_000];
    new Random(seed).nextBytes(random);
    random[0] = 0; // Not the magic.
    byte[] tls = new byte[200];
    tls[0] = 0x16;
    tls[1] = 3;
    byte[] http =
        "GET / HTTP/1.1\r\nHost: somewhere\r\nAccept: everything there is, please\r\n\r\n"
            .getBytes(StandardCharsets.US_ASCII);
    byte[] damaged = hello(0, 1, 2).bytes().array();
    damaged[40] ^= 1; // Which nothing but the checksum looks at.
    byte[] nobody = hello(17, 1, 2).bytes().array();
    byte[] myself = hello(1, 1, 2).bytes().array();
    byte[] goodbye =
        Handshake.of(Handshake.Kind.GOODBYE, transports.get(1).epoch(), 2, 0, 1, PLAIN)
            .bytes()
            .array();
    for (byte[] bytes : List.of(random, http, damaged, nobody, myself, goodbye)) {
      assertEquals(0, answerTo(bytes).length, "no answer to unauthenticated peers");
    }
    assertEquals(0x15, answerTo(tls)[0], "an alert that TLS understands");
    exchange(0, 1);
    exchange(1, 0);
  }

  @Test
  void refusesOtherVersionsEpochsSizesAndRanks() throws Exception {
    open(2);
    JobEpoch epoch = transports.get(1).epoch();
    JobEpoch other = new JobEpoch(~epoch.high(), epoch.low());
    check(
        Handshake.Objection.VERSION,
        new Handshake(
            7,
            Handshake.Kind.HELLO,
            null,
            epoch,
            new Handshake.Ends(2, 0, 1),
            PLAIN,
            Handshake.Nonce.NONE));
    check(Handshake.Objection.EPOCH, Handshake.of(Handshake.Kind.HELLO, other, 2, 0, 1, PLAIN));
    check(Handshake.Objection.SIZE, hello(0, 1, 3));
    check(Handshake.Objection.RANK, hello(1, 0, 2));
    check(Handshake.Objection.SECRET, hello(new Handshake.Terms(true, false, false)));
    check(Handshake.Objection.CHECKSUMS, hello(new Handshake.Terms(false, true, false)));
    check(Handshake.Objection.TLS, hello(new Handshake.Terms(false, false, true)));
    exchange(0, 1);
  }

  private void check(Handshake.Objection expected, Handshake handshake) throws IOException {
    byte[] answer = answerTo(handshake.bytes().array());
    assertEquals(Handshake.LENGTH, answer.length);
    Handshake refusal = Handshake.read(ByteBuffer.wrap(answer).order(ByteOrder.LITTLE_ENDIAN), 0);
    assertEquals(Handshake.Kind.REFUSAL, refusal.kind());
    assertEquals(expected, refusal.objection());
    assertFalse(
        refusal.epoch().equals(transports.get(1).epoch()),
        "no peer that is not admitted is told the epoch");
  }

  @Test
  void countsAPeerAsGoneWhosePortAnotherJobHas() throws Exception {
    assertRefused(2, 0x1111111122222222L, 2, 0x4444444455555555L);
    Throwable cause = assertInstanceOf(ConnectException.class, counters.get(1).cause);
    assertTrue(
        cause.getMessage().contains("rank 0")
            && cause.getMessage().contains("11111111")
            && cause.getMessage().contains("44444444"),
        cause.getMessage());
  }

  @Test
  void saysWhyThePeerRefuses() throws Exception {
    assertRefused(3, 0x1111111122222222L, 2, 0x1111111122222222L);
    Throwable cause = assertInstanceOf(ProtocolException.class, counters.get(1).cause);
    assertTrue(
        cause.getMessage().contains("a job of 3 ranks there, a job of 2 ranks here"),
        cause.getMessage());
  }

  /** Rank 1 connects to a rank 0 that believes in another size or epoch. */
  private void assertRefused(int size, long epoch, int mySize, long myEpoch) throws Exception {
    TcpTransportProvider provider = new TcpTransportProvider();
    TransportProvider.Endpoint zero = provider.listen(TcpJob.settings(0, size, "127.0.0.1", CALLS));
    TransportProvider.Endpoint one =
        provider.listen(TcpJob.settings(1, mySize, "127.0.0.1", CALLS));
    List<String> addresses = List.of(zero.address(), one.address(), one.address());
    add((TcpTransport) zero.open(new Roster(new JobEpoch(epoch, 3), addresses.subList(0, size))));
    add(
        (TcpTransport)
            one.open(new Roster(new JobEpoch(myEpoch, 3), addresses.subList(0, mySize))));
    transports.get(1).link(0);
    pumpUntil(() -> counters.get(1).losses == 1);
  }

  @Test
  void letsNoSecondConnectionInForTheSameRank() throws Exception {
    open(2);
    exchange(0, 1);
    assertEquals(0, answerTo(hello(0, 1, 2).bytes().array()).length);
    exchange(0, 1);
    exchange(1, 0);
  }

  @Test
  @Tag("long")
  void holdsFewConnectionsOfUnauthenticatedPeersAndOnlyForAWhile() throws Exception {
    open(2);
    List<Socket> unadmitted = new ArrayList<>();
    try {
      for (int i = 0; i < TcpTransport.UNADMITTED_LIMIT + 30; i++) {
        unadmitted.add(connect());
      }
      long before = descriptors();
      for (int i = 0; i < 1000; i++) {
        counters.forEach(Counter::pollOnce);
      }
      long accepted = descriptors() - before;
      assertTrue(accepted < TcpTransport.UNADMITTED_LIMIT + 20, accepted + " connections accepted");
      exchange(
          0, 1); // Behind all of them; none says anything, so it takes as long as they may keep
      // silent.
    } finally {
      for (Socket socket : unadmitted) {
        socket.close();
      }
    }
  }

  @Test
  void aRendezvousHoldsFewConnectionsOfUnauthenticatedPeers() throws Exception {
    int port = FreePort.find();
    JobSettings settings = JobSettings.of(0, 2, URI.create("tcp://127.0.0.1:" + port));
    List<Socket> unadmitted = new ArrayList<>();
    try (Rendezvous host = new TcpRendezvousProvider().open(settings).orElseThrow();
        Rendezvous client = new TcpRendezvousProvider().open(settings).orElseThrow()) {
      Duration patience = Duration.ofSeconds(30);
      CompletableFuture<Roster> zero =
          CompletableFuture.supplyAsync(() -> host.meet(announce(0), patience), THREADS);
      Awaitility.await().until(() -> listens(port));
      long before = descriptors();
      int count = RendezvousServer.VISITOR_LIMIT + 30;
      for (int i = 0; i < count; i++) {
        unadmitted.add(new Socket("127.0.0.1", port));
      }
      Awaitility.await()
          .until(() -> descriptors() - before - count >= RendezvousServer.VISITOR_LIMIT - 5);
      long accepted = descriptors() - before - count;
      assertTrue(accepted < RendezvousServer.VISITOR_LIMIT + 10, accepted + " accepted");
      for (Socket socket : unadmitted) {
        socket.close();
      }
      assertEquals(client.meet(announce(1), patience), zero.get(30, TimeUnit.SECONDS));
    } finally {
      for (Socket socket : unadmitted) {
        socket.close();
      }
    }
  }

  private static boolean listens(int port) {
    try (Socket socket = new Socket("127.0.0.1", port)) {
      return socket.isConnected();
    } catch (IOException e) {
      return false;
    }
  }

  private static Rendezvous.Announcement announce(int rank) {
    return new Rendezvous.Announcement(
        "default", rank, 2, Rendezvous.PROTOCOL_VERSION, "tcp", "address-" + rank, "here");
  }

  @Test
  void losesTheLinkWhenAHeaderIsDamaged() throws Exception {
    open(2);
    try (Socket socket = asRankZero()) {
      byte[] frame = frame(8);
      socket.getOutputStream().write(frame);
      pumpUntil(() -> counters.get(1).frames == 1);
      frame[40] ^= 4;
      socket.getOutputStream().write(frame);
      pumpUntil(() -> counters.get(1).losses == 1);
      assertInstanceOf(ProtocolException.class, counters.get(1).cause);
      assertEquals(1, counters.get(1).frames);
    }
  }

  @Test
  void losesTheLinkWhenABodyIsTooLong() throws Exception {
    open(2);
    try (Socket socket = asRankZero()) {
      socket.getOutputStream().write(frame(64 * 1024 + 8), 0, FrameCodec.HEADER_LENGTH);
      pumpUntil(() -> counters.get(1).losses == 1);
      Throwable cause = assertInstanceOf(ProtocolException.class, counters.get(1).cause);
      assertTrue(
          cause.getMessage().contains("65544") && cause.getMessage().contains("65536"),
          cause.getMessage());
    }
  }

  @Test
  void takesFramesThatArriveByteByByte() throws Exception {
    open(2);
    try (Socket socket = asRankZero()) {
      socket.setTcpNoDelay(true);
      byte[] frame = frame(21);
      for (byte b : frame) {
        socket.getOutputStream().write(b);
        for (int i = 0; i < 3; i++) {
          counters.get(1).pollOnce();
        }
      }
      pumpUntil(() -> counters.get(1).frames == 1);
      assertEquals(21, counters.get(1).bytes);
      socket.shutdownOutput();
      pumpUntil(() -> counters.get(1).losses == 1);
      assertNotNull(counters.get(1).cause, "no goodbye");
    }
  }

  @Test
  void triesAgainWhenAConnectionEndsWithoutAnAnswer() throws Exception {
    try (ServerSocket zero = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
      Counter one = alone(1, "127.0.0.1:" + zero.getLocalPort(), Duration.ofSeconds(20));
      assertTrue(one.transport.link(0).trySend(header(8), one));
      for (int i = 0; i < 3; i++) {
        accept(zero, one).close();
      }
      try (Socket socket = accept(zero, one)) {
        Handshake.read(
            ByteBuffer.wrap(read(socket, Handshake.LENGTH)).order(ByteOrder.LITTLE_ENDIAN), 0);
        socket.getOutputStream().write(zeroGreets(one));
        assertEquals(
            FrameCodec.HEADER_LENGTH + 8, read(socket, FrameCodec.HEADER_LENGTH + 8).length);
      }
    }
  }

  /** The listening socket of a process that is being killed may outlive its connections. */
  @Test
  void whoListensForAMomentOnlyIsDead() throws Exception {
    try (ServerSocket zero = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
      Counter one = alone(1, "127.0.0.1:" + zero.getLocalPort(), Duration.ofSeconds(20));
      assertTrue(one.transport.link(0).trySend(header(8), one));
      try (Socket socket = accept(zero, one)) {
        read(socket, Handshake.LENGTH);
        socket.getOutputStream().write(zeroGreets(one));
        read(socket, FrameCodec.HEADER_LENGTH + 8);
      }
      try (Socket asking = accept(zero, one)) { // Whether somebody is there.
        for (int i = 0; i < 10; i++) {
          one.pollOnce();
        }
        asking.shutdownOutput();
      }
      pumpUntil(() -> one.losses == 1);
      assertInstanceOf(IOException.class, one.cause);
      assertFalse(one.cause instanceof BrokenLinkException, String.valueOf(one.cause));
    }
  }

  private static byte[] zeroGreets(Counter one) {
    JobEpoch epoch = one.transport.epoch();
    return Handshake.of(Handshake.Kind.HELLO, epoch, 2, 0, 1, PLAIN).bytes().array();
  }

  @Test
  void givesUpPeersThatLetNobodyIn() throws Exception {
    try (ServerSocket zero = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
      String address = "127.0.0.1:" + zero.getLocalPort();
      Counter one = alone(1, address, Duration.ofMillis(200));
      one.transport.link(0);
      zero.setSoTimeout(1);
      pumpUntil(
          () -> {
            try {
              zero.accept().close();
            } catch (IOException e) {
              // Nobody has come.
            }
            return one.losses == 1;
          });
      String message = String.valueOf(assertNotNull0(one.cause).getMessage());
      assertTrue(message.contains(address) && message.contains("200 ms"), message);
    }
  }

  @Test
  void losesTheLinkAtOnceWhenNobodyListens() throws Exception {
    String nobody = "127.0.0.1:" + FreePort.find();
    for (int rank = 0; rank < 2; rank++) { // The higher one connects at once, the lower one later.
      Counter counter = alone(rank, nobody, Duration.ofDays(1));
      counter.transport.link(1 - rank);
      pumpUntil(() -> counter.losses == 1);
      String message = String.valueOf(assertNotNull0(counter.cause).getMessage());
      assertTrue(
          message.contains("nobody listens any more at " + nobody)
              && message.contains("rank " + (1 - rank)),
          message);
    }
  }

  /** Opens one rank of a job of two, whose peer is said to be at an address. */
  private Counter alone(int rank, String peer, Duration joinTimeout) {
    TransportProvider.Endpoint mine =
        new TcpTransportProvider()
            .listen(TcpJob.settings(rank, 2, "127.0.0.1", CALLS).withJoinTimeout(joinTimeout));
    List<String> addresses =
        rank == 0 ? List.of(mine.address(), peer) : List.of(peer, mine.address());
    add((TcpTransport) mine.open(new Roster(JobEpoch.draw(), addresses)));
    return counters.get(counters.size() - 1);
  }

  /** The next connection, which a rank makes while it polls. */
  private static Socket accept(ServerSocket server, Counter rank) throws IOException {
    server.setSoTimeout(1);
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (true) {
      rank.pollOnce();
      assertTrue(System.nanoTime() - end < 0, "nobody connects");
      try {
        Socket socket = server.accept();
        socket.setSoTimeout(1);
        return socket;
      } catch (SocketTimeoutException e) {
        // Not yet.
      }
    }
  }

  @Test
  void refusesBodiesThatAreTooLong() {
    open(2);
    Counter counter = counters.get(0);
    counter.length = 64 * 1024 + 1;
    Link link = counter.transport.link(1);
    assertThrows(
        IllegalArgumentException.class, () -> link.trySend(header(counter.length), counter));
    counter.length = 8;
    assertThrows(IllegalArgumentException.class, () -> link.trySend(header(16), counter));
  }

  @Test
  void allocatesNothingForAFrame() {
    for (SocketKind kind : SocketKind.values()) {
      if (kind.isNative() && !Epoll.isAvailable()) {
        continue;
      }
      transports.clear();
      counters.clear();
      String place = kind.isUnix() ? directory.toString() : "127.0.0.1";
      TcpJob.open(kind, TcpTransport.SLOTS, place, 2, CALLS).forEach(this::add);
      pingPong(5_000);
      ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
      long thread = Thread.currentThread().getId();
      int count = 5_000;
      List<Long> held = heldByNetty();
      long before = threads.getThreadAllocatedBytes(thread);
      pingPong(count);
      long allocated = threads.getThreadAllocatedBytes(thread) - before;
      assertEquals(held, heldByNetty(), kind.toString());
      // NIO's selector makes an object now and then; a frame makes none, but where Netty has no
      // Unsafe (JDK 25) NIO's reads make a view each.
      long views = !kind.isNative() && !PlatformDependent.hasUnsafe() ? 2 * 80L * count : 0;
      assertTrue(
          allocated < 4L * count + views,
          kind + " allocated " + allocated + " bytes for " + 2 * count + " frames");
    }
  }

  /** Both ends of a broken connection must mean the same one of the two. */
  @Test
  void ofTwoThatLiveTheHigherOneGivesWay() throws Exception {
    List<TcpProxy> proxies = new ArrayList<>();
    try (Ranks ranks =
        Ranks.open(
            own -> {
              own.forEach(address -> proxies.add(new TcpProxy(address, (b, n, at) -> {})));
              return proxies.stream().map(TcpProxy::address).toList();
            },
            Ranks.settings(0),
            Ranks.settings(1))) {
      ranks.exchange(0, 1);
      for (TcpProxy proxy : proxies) {
        proxy.cut();
      }
      ranks.pumpUntil(() -> ranks.get(0).losses == 1 && ranks.get(1).losses == 1);
      assertInstanceOf(BrokenLinkException.class, ranks.get(1).cause);
      assertInstanceOf(IOException.class, ranks.get(0).cause);
      assertFalse(ranks.get(0).cause instanceof BrokenLinkException, ranks.get(0).message());
    } finally {
      for (TcpProxy proxy : proxies) {
        proxy.close();
      }
    }
  }

  @Test
  void leavesNothingBehind() throws InterruptedException {
    openAndClose(); // Loads what is loaded once.
    openAndClose();
    int cycles = 6;
    long descriptors = descriptors();
    Set<Thread> threads = threads();
    for (int i = 0; i < cycles; i++) {
      openAndClose();
    }
    // The JVM opens one for a moment now and then; a leak is at least one in each cycle.
    long more = descriptors() - descriptors;
    assertTrue(more < cycles / 2, more + " more descriptors are open");
    // Netty's global executor ends its thread by itself when it has had nothing to do for a second.
    for (Thread thread : threads()) {
      if (!threads.contains(thread)) {
        thread.join(30_000);
        assertFalse(thread.isAlive(), thread + " is left");
      }
    }
  }

  private static Set<Thread> threads() {
    Thread[] threads = new Thread[Thread.activeCount() + 100];
    return Set.of(Arrays.copyOf(threads, Thread.enumerate(threads)));
  }

  private void openAndClose() throws InterruptedException {
    transports.clear();
    counters.clear();
    open(3);
    exchange(0, 1);
    exchange(2, 1);
    transports.get(0).link(2); // Being connected, maybe.
    // Alone it would wait for rank 0, which answers when it closes, too.
    Thread leaving = new Thread(transports.get(1)::close, "leaving");
    leaving.start();
    transports.get(2).kill();
    transports.get(0).close();
    leaving.join();
    transports.forEach(transport -> assertEquals(0, transport.directMemoryLength()));
    new TcpTransportProvider()
        .listen(TcpJob.settings(0, 2, "127.0.0.1", CALLS))
        .close(); // Never opened.
  }

  /**
   * Returns what the allocators of the transports have given out and not got back, direct and heap.
   */
  private List<Long> heldByNetty() {
    return transports.stream()
        .map(transport -> transport.allocator().metric())
        .flatMap(metric -> Stream.of(metric.usedDirectMemory(), metric.usedHeapMemory()))
        .toList();
  }

  private void pingPong(int count) {
    Counter a = counters.get(0);
    Counter b = counters.get(1);
    Link there = a.transport.link(1);
    Link back = b.transport.link(0);
    for (int i = 0; i < count; i++) {
      send(a, there, b);
      send(b, back, a);
    }
  }

  private static void send(Counter from, Link link, Counter to) {
    long frames = to.frames;
    from.header.length = from.length;
    while (!link.trySend(from.header, from)) {
      from.pollOnce();
      to.pollOnce();
    }
    while (to.frames == frames) {
      from.pollOnce();
      to.pollOnce();
    }
  }

  private void open(int ranks) {
    TcpJob.open(SocketKind.best(), TcpTransport.SLOTS, "127.0.0.1", ranks, CALLS)
        .forEach(this::add);
  }

  private void add(TcpTransport transport) {
    transports.add(transport);
    counters.add(new Counter(transport));
  }

  private void exchange(int from, int to) {
    Counter sender = counters.get(from);
    long frames = counters.get(to).frames;
    assertTrue(sender.transport.link(to).trySend(header(8), sender));
    pumpUntil(() -> counters.get(to).frames > frames);
  }

  private void pumpUntil(BooleanSupplier condition) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (!condition.getAsBoolean()) {
      counters.forEach(Counter::pollOnce);
      if (System.nanoTime() - end > 0) {
        fail("waited too long: " + counters);
      }
    }
  }

  private Handshake hello(int from, int to, int size) {
    return Handshake.of(Handshake.Kind.HELLO, transports.get(1).epoch(), size, from, to, PLAIN);
  }

  private Handshake hello(Handshake.Terms terms) {
    return Handshake.of(Handshake.Kind.HELLO, transports.get(1).epoch(), 2, 0, 1, terms);
  }

  private static FrameHeader header(int length) {
    FrameHeader header = new FrameHeader();
    header.length = length;
    return header;
  }

  /** A frame from rank 0 to rank 1. */
  private byte[] frame(int length) {
    byte[] bytes = new byte[FrameCodec.HEADER_LENGTH + FrameCodec.padded(length)];
    new FrameCodec(transports.get(1).epoch(), 0, 1)
        .encode(header(length), new FrameBytes(ByteBuffer.wrap(bytes)), 0);
    return bytes;
  }

  private Socket connect() throws IOException {
    String address = transports.get(1).address(1);
    Socket socket =
        new Socket("127.0.0.1", Integer.parseInt(address.substring(address.indexOf(':') + 1)));
    socket.setSoTimeout(1);
    return socket;
  }

  /** A connection that rank 1 takes for rank 0's. */
  private Socket asRankZero() throws IOException {
    Socket socket = connect();
    socket.getOutputStream().write(hello(0, 1, 2).bytes().array());
    assertEquals(Handshake.LENGTH, read(socket, Handshake.LENGTH).length);
    return socket;
  }

  /** Returns what rank 1 answers to a connection that begins like this, until it closes. */
  private byte[] answerTo(byte[] bytes) throws IOException {
    try (Socket socket = connect()) {
      socket.getOutputStream().write(bytes);
      return read(socket, Integer.MAX_VALUE);
    }
  }

  private byte[] read(Socket socket, int most) throws IOException {
    byte[] read = new byte[1024];
    int length = 0;
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (length < most) {
      counters.forEach(Counter::pollOnce);
      assertTrue(System.nanoTime() - end < 0, "the connection is neither answered nor closed");
      try {
        int more = socket.getInputStream().read(read, length, read.length - length);
        if (more < 0) {
          break;
        }
        length += more;
      } catch (SocketTimeoutException e) {
        // Nothing yet.
      } catch (IOException e) {
        break; // Closed while it was still sending.
      }
    }
    return Arrays.copyOf(read, length);
  }

  private static Throwable assertNotNull0(@Nullable Throwable cause) {
    assertNotNull(cause);
    return cause;
  }

  private static long descriptors() {
    if (ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean unix) {
      return unix.getOpenFileDescriptorCount();
    }
    return Assumptions.<Long>abort("descriptors are counted on Unix only");
  }

  /** Counts what arrives; is also a body of zeros. */
  private static final class Counter implements FrameSink, FrameBody {
    final TcpTransport transport;
    final FrameHeader header = new FrameHeader();
    int length = 8;
    long left;
    long frames;
    long bytes;
    int losses;
    @Nullable Throwable cause;

    Counter(TcpTransport transport) {
      this.transport = transport;
    }

    void pollOnce() {
      transport.poll(this);
    }

    @Override
    public void header(Link link, FrameHeader header) {
      left = header.length;
    }

    @Override
    public void bytes(Link link, FrameBytes source, int at, int length) {
      left -= length;
      bytes += length;
      if (left == 0) {
        frames++;
      }
    }

    @Override
    public void lost(Link link, @Nullable Throwable cause) {
      losses++;
      this.cause = cause;
    }

    @Override
    public int length() {
      return length;
    }

    @Override
    public void store(FrameBytes target, int at) {
      for (int i = 0; i < length; i++) {
        target.bytes().put(at + i, (byte) 0);
      }
    }

    @Override
    public void release() {}

    @Override
    public String toString() {
      return transport.rank() + ": " + frames + " frames, " + losses + " losses, " + cause;
    }
  }
}
