package io.collectives.netty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.collectives.JobSecret;
import io.collectives.Security;
import io.collectives.TlsFiles;
import io.collectives.spi.StatusRequests;
import io.collectives.testkit.Certificates;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Only those learn a rank's status at its port who know the secret and have a certificate. */
@Timeout(240)
class TcpStatusTest {
  private static final Security SECRETIVE =
      Security.none().withSecret(JobSecret.of("what the ranks know"));
  private static final Security GUESSING =
      Security.none().withSecret(JobSecret.of("what others have guessed"));

  private static Ranks open(Security security) {
    Ranks ranks =
        Ranks.open(
            Ranks.settings(0).withSecurity(security), Ranks.settings(1).withSecurity(security));
    Objects.requireNonNull(ranks.get(0).transport.capability(StatusRequests.class))
        .answerBy((request, reply) -> reply.accept("an answer to " + request));
    return ranks;
  }

  private static InetSocketAddress address(Ranks ranks, int rank) throws IOException {
    return HostPort.parse(ranks.get(rank).transport.address(rank));
  }

  private static String ask(Ranks ranks, int rank, Security security) throws IOException {
    InetSocketAddress address = address(ranks, rank);
    CompletableFuture<String> answer =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                return StatusClient.ask(address, security, "status", Duration.ofSeconds(20), 999);
              } catch (IOException e) {
                throw new CompletionException(e);
              }
            });
    ranks.pumpUntil(answer::isDone);
    try {
      return answer.join();
    } catch (CompletionException e) {
      throw (IOException) e.getCause();
    }
  }

  private static void assertRefused(String why, Ranks ranks, Security security) {
    IOException e = assertThrows(IOException.class, () -> ask(ranks, 0, security));
    assertTrue(String.valueOf(e.getMessage()).contains(why), e.toString());
  }

  @Test
  void withoutASecretLoopbackIsAnswered() throws Exception {
    try (Ranks ranks = open(Security.none())) {
      assertEquals("an answer to status", ask(ranks, 0, Security.none()));
      assertRefused("it has no job secret, and one is set here", ranks, SECRETIVE);
      IOException e = assertThrows(IOException.class, () -> ask(ranks, 1, Security.none()));
      assertTrue(e.getMessage().contains("COLLECTIVES_STATUS=off"), e.getMessage());
      ranks.exchange(0, 1);
    }
  }

  @Test
  void withASecretWhoKnowsItIsAnswered() throws Exception {
    try (Ranks ranks = open(SECRETIVE)) {
      assertEquals("an answer to status", ask(ranks, 0, SECRETIVE));
      assertRefused("the job secret here is not that of its job", ranks, GUESSING);
      assertRefused("it has a job secret", ranks, Security.none());
      ranks.exchange(0, 1);
      assertEquals("an answer to status", ask(ranks, 0, SECRETIVE));
    }
  }

  /** Without a proof nothing is asked. */
  @Test
  void aRequestOutOfTurnIsNotHeard() throws Exception {
    try (Ranks ranks = open(SECRETIVE);
        Socket socket = ranks.connect(0)) {
      Handshake hello =
          TcpStatus.message(new Handshake.Terms(true, false, false), new SecureRandom());
      socket.getOutputStream().write(hello.bytes().array());
      assertEquals(Handshake.LENGTH, ranks.read(socket, Handshake.LENGTH).length);
      socket.getOutputStream().write(new byte[TcpStatus.REQUEST_LENGTH]);
      ranks.pumpUntil(() -> ranks.get(0).transport.unadmittedCount() == 0);
      ranks.exchange(0, 1);
    }
  }

  @Test
  void withTlsACertificateOfTheJobIsNeeded(@TempDir Path ours, @TempDir Path theirs)
      throws Exception {
    Certificates authority = new Certificates(ours);
    TlsFiles both =
        authority.certify(TlsFiles.identity("default", 0), TlsFiles.identity("default", 1));
    TlsFiles ofAnotherJob = authority.certify(TlsFiles.identity("other", 0));
    TlsFiles foreign = new Certificates(theirs).certify(TlsFiles.identity("default", 0));
    try (Ranks ranks = open(SECRETIVE.withTls(both))) {
      assertEquals("an answer to status", ask(ranks, 0, SECRETIVE.withTls(both)));
      assertRefused(
          "the certificate here is not one of a rank", ranks, SECRETIVE.withTls(ofAnotherJob));
      assertRefused("TLS with it fails", ranks, SECRETIVE.withTls(foreign));
      assertRefused("it speaks TLS", ranks, SECRETIVE);
    }
  }
}
