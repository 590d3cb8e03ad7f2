package io.collectives.netty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.JobSecret;
import io.collectives.JobSettings;
import io.collectives.JoinException;
import io.collectives.ProtocolException;
import io.collectives.Security;
import io.collectives.TlsFiles;
import io.collectives.testkit.Certificates;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.JdkSslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Only peers with a certificate for it can speak TLS with a rank. */
@Timeout(60)
class TcpTlsTest {
  private static @TempDir Path ours;
  private static @TempDir Path theirs;
  private static Certificates authority;
  private static TlsFiles both;
  private static TlsFiles zeroOnly;
  private static TlsFiles oneOfAnotherJob;
  private static TlsFiles expired;
  private static TlsFiles foreign;

  @BeforeAll
  @Timeout(240) // Each certificate takes several commands; on a busy machine a minute and more.
  static void certify() {
    authority = new Certificates(ours);
    both = authority.certify(identity(0), identity(1));
    zeroOnly = authority.certify(identity(0));
    oneOfAnotherJob = authority.certify(TlsFiles.identity("other", 1));
    expired = authority.certifyExpired(identity(0), identity(1));
    foreign = new Certificates(theirs).certify(identity(0), identity(1));
  }

  private static String identity(int rank) {
    return TlsFiles.identity("default", rank);
  }

  @Test
  void ranksWithCertificatesTalkAndNobodyUnderstandsThem() throws Exception {
    assertFalse(TcpSecurityTest.passed(tls(both)).contains("easily found"));
    assertFalse(
        TcpSecurityTest.passed(tls(both).withSecret(JobSecret.of("what the ranks know")))
            .contains("easily found"));
  }

  @Test
  void aRanksOwnFilesAreCheckedBeforeItListens() throws Exception {
    assertNotListening(zeroOnly, "[" + identity(0) + "]", "not for " + identity(1));
    assertNotListening(authority.certify(), "is for []", identity(1));
    assertNotListening(expired, "NotAfter");
    Path open = Files.copy(both.key(), ours.resolve("open.key"));
    Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rw-r--r--"));
    assertNotListening(
        new TlsFiles(both.certificate(), open, both.trust()), "rw-r--r--", open.toString());
    assertNotListening(
        new TlsFiles(both.certificate(), both.key(), ours.resolve("none.pem")), "none.pem");
    assertNotListening(new TlsFiles(both.key(), both.key(), both.trust()), "cannot use TLS", "PEM");
    assertNotListening(new TlsFiles(both.certificate(), zeroOnly.trust(), both.trust()), "");
  }

  private static void assertNotListening(TlsFiles files, String... facts) {
    JobSettings settings = Ranks.settings(1).withSecurity(tls(files));
    TcpSecurityTest.assertContains(
        assertThrows(
            JoinException.class, () -> new TcpTransportProvider().listen(settings).close()),
        facts);
  }

  @Test
  void aForeignAuthorityIsNotTrustedByEitherSide() {
    assertRefused(tls(both), tls(foreign), "do not agree on TLS", "do not agree on TLS");
  }

  @Test
  void allRanksOrNoneUseTls() {
    assertRefused(tls(both), Security.none(), "do not agree on TLS", "TLS there, no TLS here");
  }

  private static void assertRefused(Security zero, Security one, String toZero, String toOne) {
    try (Ranks ranks =
        Ranks.open(Ranks.settings(0).withSecurity(zero), Ranks.settings(1).withSecurity(one))) {
      ranks.get(0).transport.link(1);
      ranks.get(1).transport.link(0);
      ranks.pumpUntil(() -> ranks.get(0).losses == 1 && ranks.get(1).losses == 1);
      for (int rank = 0; rank < 2; rank++) {
        assertInstanceOf(ProtocolException.class, ranks.get(rank).cause);
        String message = ranks.get(rank).message();
        assertTrue(message.contains(rank == 0 ? toZero : toOne), message);
      }
    }
  }

  @Test
  void whoConnectsIsTheRankInTheCertificate() throws Exception {
    try (Ranks ranks = twoRanks()) {
      assertEquals(Handshake.Objection.CERTIFICATE, answer(ranks, authority.certify()).objection());
      assertEquals(
          Handshake.Objection.CERTIFICATE,
          answer(ranks, authority.certify(identity(1))).objection());
      assertEquals(Handshake.Objection.CERTIFICATE, answer(ranks, oneOfAnotherJob).objection());
      assertEquals(Handshake.Kind.HELLO, answer(ranks, zeroOnly).kind());
    }
  }

  @Test
  void whoHasNoCertificateOrABadOneDoesNotComeIn() throws Exception {
    try (Ranks ranks = twoRanks()) {
      assertThrows(IOException.class, () -> answer(ranks, expired));
      assertThrows(IOException.class, () -> answer(ranks, authority.trusting(foreign)));
      assertThrows(IOException.class, () -> answer(ranks, null));
      ranks.pumpUntil(() -> ranks.get(1).transport.unadmittedCount() == 0);
      ranks.exchange(0, 1);
    }
  }

  private static Ranks twoRanks() {
    return Ranks.open(
        Ranks.settings(0).withSecurity(tls(both)), Ranks.settings(1).withSecurity(tls(both)));
  }

  /** Returns what rank 1 answers to a HELLO from rank 0, said by somebody with these files. */
  private static Handshake answer(Ranks ranks, @Nullable TlsFiles files) throws Exception {
    try (SSLSocket socket = (SSLSocket) client(files).getSocketFactory().createSocket()) {
      String address = ranks.get(1).transport.address(1);
      socket.connect(HostPort.parse(address));
      Thread connecting = new Thread(() -> startHandshake(socket), "tls-client");
      connecting.start();
      while (connecting.isAlive()) {
        ranks.pump();
      }
      Handshake hello =
          Handshake.of(
              Handshake.Kind.HELLO,
              ranks.get(1).transport.epoch(),
              2,
              0,
              1,
              new Handshake.Terms(false, false, true));
      socket.getOutputStream().write(hello.bytes().array());
      socket.setSoTimeout(1);
      byte[] answer = ranks.read(socket, Handshake.LENGTH);
      if (answer.length == 0) {
        throw new IOException("no answer");
      }
      return Handshake.read(ByteBuffer.wrap(answer).order(ByteOrder.LITTLE_ENDIAN), 0);
    }
  }

  private static void startHandshake(SSLSocket socket) {
    try {
      socket.startHandshake();
    } catch (IOException e) {
      // Found out by writing.
    }
  }

  private static SSLContext client(@Nullable TlsFiles files) throws Exception {
    SslContextBuilder builder =
        SslContextBuilder.forClient()
            .sslProvider(SslProvider.JDK)
            .endpointIdentificationAlgorithm(null)
            .trustManager(both.trust().toFile());
    if (files != null) {
      builder.keyManager(files.certificate().toFile(), files.key().toFile());
    }
    return ((JdkSslContext) builder.build()).context();
  }

  @Test
  void whoListensIsTheRankInTheCertificate() throws Exception {
    // Rank 1 is told that rank 0 is where somebody listens who is certified, but not as rank 0.
    TlsFiles[] wrong = {authority.certify(identity(1)), oneOfAnotherJob, expired};
    for (TlsFiles files : wrong) {
      try (ServerSocket zero = server(files);
          Ranks ranks =
              Ranks.open(
                  own -> List.of("127.0.0.1:" + zero.getLocalPort(), own.get(0)),
                  Ranks.settings(1).withSecurity(tls(both)))) {
        Thread listening = new Thread(() -> acceptOne(zero), "tls-server");
        listening.start();
        ranks.get(0).transport.link(0);
        ranks.pumpUntil(() -> ranks.get(0).losses == 1);
        assertInstanceOf(ProtocolException.class, ranks.get(0).cause);
        String message = ranks.get(0).message();
        assertTrue(
            message.contains(files == expired ? "do not agree on TLS" : "not for that rank"),
            message);
      }
    }
  }

  @Test
  void triesAgainWhenAHandshakeIsCutOff() throws Exception {
    try (ServerSocket zero = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"));
        Ranks ranks =
            Ranks.open(
                own -> List.of("127.0.0.1:" + zero.getLocalPort(), own.get(0)),
                Ranks.settings(1).withSecurity(tls(both)))) {
      ranks.get(0).transport.link(0);
      zero.setSoTimeout(1);
      for (int i = 0; i < 3; i++) {
        TcpSecurityTest.accept(ranks, zero).close();
      }
      assertEquals(0, ranks.get(0).losses);
    }
  }

  /**
   * A peer that dies in the handshake is gone; it has not said that it wants other certificates.
   */
  @Test
  void aConnectionThatEndsInTheHandshakeIsNoRefusal() {
    for (IOException end :
        List.of(new ClosedChannelException(), new IOException("Connection reset by peer"))) {
      Throwable write = new SSLException("failure when writing TLS control frames", end);
      assertNull(Tls.refusal(write), write.toString());
    }
    SSLException alert = new SSLHandshakeException("certificate_unknown");
    assertSame(alert, Tls.refusal(new DecoderException(alert)));
    SSLException about = new SSLException("no trust", alert);
    assertSame(about, Tls.refusal(about));
  }

  private static ServerSocket server(TlsFiles files) throws Exception {
    JdkSslContext context =
        (JdkSslContext)
            SslContextBuilder.forServer(files.certificate().toFile(), files.key().toFile())
                .sslProvider(SslProvider.JDK)
                .trustManager(both.trust().toFile())
                .clientAuth(ClientAuth.REQUIRE)
                .build();
    return context
        .context()
        .getServerSocketFactory()
        .createServerSocket(0, 1, InetAddress.getByName("127.0.0.1"));
  }

  private static void acceptOne(ServerSocket server) {
    try (Socket socket = server.accept()) {
      assertEquals(-1, socket.getInputStream().read(), "nothing is said to the wrong one");
    } catch (IOException e) {
      // It was not liked.
    }
  }

  @Test
  void anUnauthenticatedPeerMaySendNoMoreThanAHandshakeNeeds() throws Exception {
    // The beginning of a handshake message of 30,000 bytes, in records of one byte each.
    byte[] message = {1, 0, 0x75, 0x30};
    byte[] endless = new byte[Tls.UNADMITTED_LENGTH / 6 * 6 + 6 * 20];
    for (int at = 0; at < endless.length; at += 6) {
      endless[at] = 22;
      endless[at + 1] = 3;
      endless[at + 2] = 1;
      endless[at + 4] = 1;
      endless[at + 5] = at / 6 < message.length ? message[at / 6] : 0;
    }
    try (Ranks ranks = twoRanks();
        Socket socket = ranks.connect(1)) {
      TcpTransport transport = ranks.get(1).transport;
      socket.getOutputStream().write(endless, 0, Tls.UNADMITTED_LENGTH - 6);
      pumpMuch(ranks, transport, Integer.MAX_VALUE);
      assertEquals(1, transport.unadmittedCount(), "it might still become a handshake");
      long held = transport.directMemoryLength() - TcpTransport.RECEIVE_LENGTH;
      assertTrue(held <= 2 * Tls.UNADMITTED_LENGTH, held + " bytes for an unauthenticated peer");
      socket
          .getOutputStream()
          .write(endless, Tls.UNADMITTED_LENGTH - 6, endless.length - Tls.UNADMITTED_LENGTH + 6);
      pumpMuch(ranks, transport, 0);
      assertEquals(0, transport.unadmittedCount(), "long before its time is over");
      assertEquals(TcpTransport.RECEIVE_LENGTH, transport.directMemoryLength());
      ranks.exchange(0, 1);
    }
  }

  /**
   * Polls often enough for all that has been sent, unless so few unadmitted connections are left
   * before.
   */
  private static void pumpMuch(Ranks ranks, TcpTransport transport, int most) {
    for (int i = 0; i < 10_000 && (i < 1_000 || transport.unadmittedCount() > most); i++) {
      ranks.pump();
    }
  }

  private static Security tls(TlsFiles files) {
    return Security.none().withTls(files);
  }
}
