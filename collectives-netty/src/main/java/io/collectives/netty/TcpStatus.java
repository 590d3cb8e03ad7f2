package io.collectives.netty;

import io.collectives.JobSecret;
import io.collectives.spi.JobEpoch;
import io.collectives.spi.StatusRequests;
import io.netty.channel.Channel;
import io.netty.handler.ssl.SslHandler;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import org.jspecify.annotations.Nullable;

/**
 * Answers those who ask a rank for its status at its port.
 *
 * <pre>
 *   who asks                        the rank
 *   STATUS with a nonce        ──▶
 *                              ◀──  STATUS with another nonce, or REFUSAL
 *   proof, if there is a secret──▶
 *                              ◀──  proof
 *   request, padded            ──▶
 *                              ◀──  the answer as text, then the end
 * </pre>
 *
 * <p>Neither side tells epoch or size, and proofs are of no job: they cover the two messages, so
 * nothing that is said here admits anybody as a rank. Without a secret only loopback is answered.
 * With TLS the certificate must be that of some rank of the job. Such a connection is one of those
 * that are not admitted, with their limits of number and time; {@link #MOST} at a time are
 * answered.
 */
final class TcpStatus implements StatusRequests {
  /** The length of a request, of which the rest is zeros. */
  static final int REQUEST_LENGTH = 4 * Handshake.LENGTH;

  /** The name of no job. */
  static final String NO_JOB = "";

  private static final int MOST = 4;
  private static final JobEpoch NO_EPOCH = new JobEpoch(0, 0);

  private final TcpTransport transport;
  private final SecureRandom random;
  private volatile @Nullable Answers answers;
  private int answering;

  TcpStatus(TcpTransport transport, SecureRandom random) {
    this.transport = transport;
    this.random = random;
  }

  @Override
  public void answerBy(Answers to) {
    answers = to;
  }

  /** Returns the message that begins or answers a request. */
  static Handshake message(Handshake.Terms terms, SecureRandom random) {
    return Handshake.of(Handshake.Kind.STATUS, NO_EPOCH, 0, -1, -1, terms)
        .withNonce(Handshake.Nonce.draw(random));
  }

  /** Lets somebody go on who wants to ask, challenges or refuses it. */
  void asked(TcpConnection connection, Handshake theirs) {
    Handshake mine = message(transport.terms(), random);
    JobSecret secret = transport.secret();
    Handshake.Objection objection = objection(connection, theirs, mine);
    if (answers == null || answering >= MOST) {
      connection.close();
    } else if (objection != null) {
      refuse(connection, mine, objection);
    } else if (secret != null) {
      connection.challenge(theirs, mine, new Proof(secret, NO_JOB, theirs, mine));
    } else {
      connection.write(mine);
      connection.awaitRequest();
    }
  }

  private Handshake.@Nullable Objection objection(
      TcpConnection connection, Handshake theirs, Handshake mine) {
    if (theirs.version() != mine.version()) {
      return Handshake.Objection.VERSION;
    }
    if (mine.terms().secret() ? !theirs.terms().secret() : !isLoopback(connection.channel())) {
      return Handshake.Objection.SECRET;
    }
    Tls tls = transport.tls();
    SslHandler handler = connection.tls();
    return tls == null || handler != null && tls.isOfTheJob(handler)
        ? null
        : Handshake.Objection.CERTIFICATE;
  }

  private static boolean isLoopback(Channel channel) {
    return channel.remoteAddress() instanceof InetSocketAddress from
        && from.getAddress().isLoopbackAddress();
  }

  /** Refuses somebody whose proof is wrong. */
  void notProved(TcpConnection connection) {
    refuse(connection, message(transport.terms(), random), Handshake.Objection.PROOF);
  }

  private void refuse(TcpConnection connection, Handshake mine, Handshake.Objection why) {
    transport.warn(
        "rank {} told {} nothing of its status: {}",
        transport.rank(),
        transport.kind().origin(connection.channel()),
        why);
    connection.refuse(mine.refuse(why));
  }

  /** Answers a request. */
  void requested(TcpConnection connection, ByteBuffer request) {
    Answers to = answers;
    if (to == null || answering >= MOST) {
      connection.close();
      return;
    }
    answering++;
    connection.channel().closeFuture().addListener(future -> answering--);
    String line = StandardCharsets.UTF_8.decode(request).toString();
    int end = line.indexOf('\n');
    to.answer(
        end < 0 ? line : line.substring(0, end),
        text ->
            transport
                .loop()
                .execute(() -> connection.reply(text.getBytes(StandardCharsets.UTF_8))));
  }
}
