package io.collectives.netty;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.JobSecret;
import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.ProtocolException;
import io.collectives.Security;
import io.collectives.internal.FrameCodec;
import io.collectives.spi.JobEpoch;
import io.collectives.testkit.TcpProxy;
import io.netty.buffer.ByteBuf;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Ranks of the job are admitted to a transport, and others are refused. */
@Timeout(60)
class TcpSecurityTest {
  /** An address of the documentation, which no host has. */
  private static final String ELSEWHERE = "192.0.2.1";

  private static final JobSecret SECRET = JobSecret.of("what the ranks know");
  private static final Security SECRETIVE = Security.none().withSecret(SECRET);
  private static final Handshake.Terms TERMS = new Handshake.Terms(true, false, false);

  @Test
  void listensElsewhereOnlyWithASecretOrIfToldThatItIsInsecure() {
    TcpTransportProvider provider = new TcpTransportProvider();
    JobSettings settings = Ranks.settings(1).withListen(ELSEWHERE, 0);
    assertContains(
        assertThrows(JoinException.class, () -> provider.listen(settings)),
        ELSEWHERE,
        "COLLECTIVES_SECRET_FILE",
        "COLLECTIVES_INSECURE_ANYONE_MAY_JOIN=true");
    for (Security allowed : List.of(SECRETIVE, Security.none().insecureAnyoneMayJoin())) {
      assertContains(
          assertThrows(JoinException.class, () -> provider.listen(settings.withSecurity(allowed))),
          "cannot listen at " + ELSEWHERE);
    }
  }

  @Test
  void admitsWhoKnowsTheSecret() {
    try (Ranks ranks = open(SECRETIVE, SECRETIVE)) {
      ranks.exchange(0, 1);
      ranks.exchange(1, 0);
    }
  }

  @Test
  void namesADifferenceOnBothSides() {
    Security other = Security.none().withSecret(JobSecret.of("what others know of"));
    assertRefused(SECRETIVE, other, "job secrets are not the same", "job secrets are not the same");
    assertRefused(
        SECRETIVE,
        Security.none(),
        "no job secret there, a job secret here",
        "a job secret there, no job secret here");
    assertRefused(
        Security.none(),
        Security.none().withChecksums(true),
        "checksums of payloads there, no checksums of payloads here",
        "no checksums of payloads there, checksums of payloads here");
  }

  private static void assertRefused(Security zero, Security one, String toZero, String toOne) {
    try (Ranks ranks = open(zero, one)) {
      ranks.get(0).transport.link(1);
      ranks.get(1).transport.link(0);
      ranks.pumpUntil(() -> ranks.get(0).losses == 1 && ranks.get(1).losses == 1);
      for (int rank = 0; rank < 2; rank++) {
        assertInstanceOf(ProtocolException.class, ranks.get(rank).cause);
        String message = ranks.get(rank).message();
        assertTrue(message.contains(rank == 0 ? toZero : toOne), message);
        assertTrue(message.contains("refused rank " + rank), message);
      }
    }
  }

  @Test
  void aReplayedHelloProvesNothing() throws Exception {
    try (Ranks ranks = open(SECRETIVE, SECRETIVE);
        Socket first = ranks.connect(1);
        Socket second = ranks.connect(1)) {
      Handshake hello = hello(ranks, 0, 1, 17);
      byte[] proof =
          new Proof(SECRET, "default", hello, ask(ranks, first, hello)).bytes(Proof.Side.CONNECTS);
      ask(ranks, second, hello);
      second.getOutputStream().write(proof);
      Handshake refusal = handshake(ranks.read(second, 1000));
      assertEquals(Handshake.Objection.PROOF, refusal.objection());
      // Where it belongs it is right.
      first.getOutputStream().write(proof);
      assertEquals(Proof.LENGTH, ranks.read(first, Proof.LENGTH).length);
      assertEquals(0, ranks.get(1).transport.unadmittedCount());
    }
  }

  @Test
  void everyByteOfAProofCounts() throws Exception {
    try (Ranks ranks = open(SECRETIVE, SECRETIVE)) {
      for (int at : new int[] {8, 20, 39}) {
        try (Socket socket = ranks.connect(1)) {
          Handshake hello = hello(ranks, 0, 1, 5);
          byte[] proof =
              new Proof(SECRET, "default", hello, ask(ranks, socket, hello))
                  .bytes(Proof.Side.CONNECTS);
          proof[at] ^= 1;
          socket.getOutputStream().write(proof);
          assertEquals(Handshake.Objection.PROOF, handshake(ranks.read(socket, 1000)).objection());
        }
      }
      ranks.exchange(0, 1);
    }
  }

  @Test
  void proofsAreOfOneJobAndOneSide() {
    Handshake hello = hello(null, 0, 1, 5);
    Handshake answer = hello(null, 1, 0, 6);
    ByteBuffer proof =
        ByteBuffer.wrap(new Proof(SECRET, "a", hello, answer).bytes(Proof.Side.CONNECTS))
            .order(ByteOrder.LITTLE_ENDIAN);
    assertTrue(new Proof(SECRET, "a", hello, answer).isRight(Proof.Side.CONNECTS, proof, 0));
    assertFalse(new Proof(SECRET, "a", hello, answer).isRight(Proof.Side.ACCEPTS, proof, 0));
    assertFalse(new Proof(SECRET, "b", hello, answer).isRight(Proof.Side.CONNECTS, proof, 0));
    assertFalse(new Proof(SECRET, "a", answer, hello).isRight(Proof.Side.CONNECTS, proof, 0));
    for (Handshake other :
        List.of(
            hello(null, 2, 1, 5),
            hello(null, 0, 2, 5),
            hello(null, 0, 1, 7),
            new Handshake(
                2,
                hello.kind(),
                null,
                hello.epoch(),
                new Handshake.Ends(3, 0, 1),
                TERMS,
                hello.nonce()),
            new Handshake(
                1,
                hello.kind(),
                null,
                hello.epoch(),
                new Handshake.Ends(4, 0, 1),
                TERMS,
                hello.nonce()),
            new Handshake(
                1,
                hello.kind(),
                null,
                new JobEpoch(1, 3),
                new Handshake.Ends(3, 0, 1),
                TERMS,
                hello.nonce()))) {
      assertFalse(
          new Proof(SECRET, "a", other, answer).isRight(Proof.Side.CONNECTS, proof, 0),
          other + " " + other.nonce());
    }
  }

  /**
   * Rank 1 connects to somebody who, in the name of rank 0, lets rank 1 itself answer its
   * challenges.
   */
  @Test
  void aReflectedChallengeProvesNothing() throws Exception {
    try (ServerSocket zero = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"));
        Ranks ranks =
            Ranks.open(
                own -> List.of("127.0.0.1:" + zero.getLocalPort(), own.get(0)),
                Ranks.settings(1).withSecurity(SECRETIVE))) {
      ranks.get(0).transport.link(0);
      zero.setSoTimeout(1);
      try (Socket accepted = accept(ranks, zero);
          Socket connected = ranks.connect(0)) {
        Handshake hello = handshake(ranks.read(accepted, Handshake.LENGTH));
        Handshake answer = hello(ranks, 0, 1, 99);
        accepted.getOutputStream().write(answer.bytes().array());
        byte[] proof = ranks.read(accepted, Proof.LENGTH);
        assertArrayEquals(
            new Proof(SECRET, "default", hello, answer).bytes(Proof.Side.CONNECTS), proof);
        ask(ranks, connected, answer);
        connected.getOutputStream().write(proof);
        assertEquals(Handshake.Objection.PROOF, handshake(ranks.read(connected, 1000)).objection());
        accepted.getOutputStream().write(proof);
        ranks.pumpUntil(() -> ranks.get(0).losses == 1);
        String message = ranks.get(0).message();
        assertTrue(message.contains("does not know rank 1's job secret"), message);
      }
    }
  }

  @Test
  void whatTheOneWhoAcceptsWouldProveIsNoProofOfTheOneWhoConnects() throws Exception {
    try (Ranks ranks = open(SECRETIVE, SECRETIVE);
        Socket socket = ranks.connect(1)) {
      Handshake hello = hello(ranks, 0, 1, 3);
      Proof proof = new Proof(SECRET, "default", hello, ask(ranks, socket, hello));
      socket.getOutputStream().write(proof.bytes(Proof.Side.ACCEPTS));
      assertEquals(Handshake.Objection.PROOF, handshake(ranks.read(socket, 1000)).objection());
    }
  }

  @Test
  void nothingButAProofFollowsAChallenge() throws Exception {
    try (Ranks ranks = open(SECRETIVE, SECRETIVE)) {
      for (byte[] bytes :
          List.of(
              hello(ranks, 0, 1, 1).bytes().array(),
              new byte[Proof.LENGTH],
              "x".repeat(1000).getBytes(StandardCharsets.US_ASCII))) {
        try (Socket socket = ranks.connect(1)) {
          ask(ranks, socket, hello(ranks, 0, 1, 1));
          socket.getOutputStream().write(bytes);
          assertEquals(0, ranks.read(socket, 1000).length);
        }
      }
      ranks.pumpUntil(() -> ranks.get(1).transport.unadmittedCount() == 0);
      ranks.exchange(0, 1);
    }
  }

  @Test
  void whoIsAskedForAProofAndStaysSilentIsClosedAfterAWhile() throws Exception {
    try (Ranks ranks = open(SECRETIVE, SECRETIVE);
        Socket socket = ranks.connect(1)) {
      ask(ranks, socket, hello(ranks, 0, 1, 8));
      assertEquals(1, ranks.get(1).transport.unadmittedCount());
      assertEquals(0, ranks.read(socket, 1).length);
      assertEquals(0, ranks.get(1).transport.unadmittedCount());
    }
  }

  @Test
  void noMoreIsReadFromAStrangerThanItMaySay() {
    try (Ranks ranks = open(SECRETIVE, SECRETIVE)) {
      TcpTransport transport = ranks.get(1).transport;
      TcpConnection connection = new TcpConnection(transport, new NioSocketChannel(), null, null);
      ByteBuf room = connection.newHandle().allocate(transport.allocator());
      assertEquals(Handshake.LENGTH, room.maxWritableBytes());
      room.release();
      TcpConnection peer = new TcpConnection(transport, new NioSocketChannel(), null, null);
      peer.admit((TcpLink) transport.link(0));
      room = peer.newHandle().allocate(transport.allocator());
      assertEquals(TcpTransport.RECEIVE_LENGTH, room.maxWritableBytes());
      room.release();
    }
  }

  @Test
  void aDamagedByteOfAPayloadLosesTheLink() throws Exception {
    Security checked = Security.none().withChecksums(true);
    for (int at : new int[] {0, 7, 1600, Ranks.Rank.CONTENT.length - 1}) {
      TcpProxy[] proxy = new TcpProxy[1];
      try (Ranks ranks =
          Ranks.open(
              own -> {
                proxy[0] =
                    new TcpProxy(
                        own.get(1),
                        flip(
                            Handshake.LENGTH
                                + 2L * FrameCodec.HEADER_LENGTH
                                + Ranks.Rank.CONTENT.length
                                + at));
                return List.of(own.get(0), proxy[0].address());
              },
              Ranks.settings(0).withSecurity(checked),
              Ranks.settings(1).withSecurity(checked))) {
        ranks.exchange(0, 1);
        assertTrue(ranks.get(0).transport.link(1).trySend(ranks.get(0).header(), ranks.get(0)));
        ranks.pumpUntil(() -> ranks.get(1).losses == 1);
        assertInstanceOf(ProtocolException.class, ranks.get(1).cause);
        String message = ranks.get(1).message();
        assertTrue(message.contains("checksum") && message.contains("rank 0 to rank 1"), message);
        assertEquals(1, ranks.get(1).frames, "the damaged one was never complete");
        ranks.pumpUntil(() -> ranks.get(0).losses == 1);
      } finally {
        proxy[0].close();
      }
    }
  }

  private static TcpProxy.Tap flip(long position) {
    return (bytes, length, at) -> {
      if (position >= at && position < at + length) {
        bytes[(int) (position - at)] ^= 0x10;
      }
    };
  }

  @Test
  void withoutTlsPayloadsPassInClear() throws Exception {
    assertTrue(passed(SECRETIVE).contains("easily found"));
  }

  /** Returns what passes between two ranks that exchange a frame each. */
  static String passed(Security security) throws IOException {
    ByteArrayOutputStream seen = new ByteArrayOutputStream();
    TcpProxy[] proxy = new TcpProxy[1];
    try (Ranks ranks =
        Ranks.open(
            own -> {
              proxy[0] =
                  new TcpProxy(own.get(1), (bytes, length, at) -> seen.write(bytes, 0, length));
              return List.of(own.get(0), proxy[0].address());
            },
            Ranks.settings(0).withSecurity(security),
            Ranks.settings(1).withSecurity(security))) {
      ranks.exchange(0, 1);
      ranks.exchange(1, 0);
    } finally {
      proxy[0].close();
    }
    return seen.toString(StandardCharsets.ISO_8859_1);
  }

  private static Ranks open(Security zero, Security one) {
    return Ranks.open(Ranks.settings(0).withSecurity(zero), Ranks.settings(1).withSecurity(one));
  }

  private static Handshake hello(@Nullable Ranks ranks, int from, int to, long nonce) {
    return Handshake.of(
            Handshake.Kind.HELLO,
            ranks == null ? new JobEpoch(1, 2) : ranks.get(0).transport.epoch(),
            ranks == null ? 3 : 2,
            from,
            to,
            TERMS)
        .withNonce(new Handshake.Nonce(nonce, ~nonce));
  }

  /** Says HELLO; returns the challenge. */
  private static Handshake ask(Ranks ranks, Socket socket, Handshake hello) throws IOException {
    socket.getOutputStream().write(hello.bytes().array());
    return handshake(ranks.read(socket, Handshake.LENGTH));
  }

  private static Handshake handshake(byte[] bytes) {
    assertEquals(Handshake.LENGTH, bytes.length);
    return Handshake.read(ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN), 0);
  }

  static Socket accept(Ranks ranks, ServerSocket server) throws IOException {
    while (true) {
      ranks.pump();
      try {
        Socket socket = server.accept();
        socket.setSoTimeout(1);
        return socket;
      } catch (SocketTimeoutException e) {
        // Not yet.
      }
    }
  }

  static void assertContains(Exception e, String... parts) {
    for (String part : parts) {
      assertTrue(String.valueOf(e.getMessage()).contains(part), part + " in: " + e.getMessage());
    }
  }
}
