package io.collectives.netty;

import io.collectives.JobSecret;
import io.collectives.ProtocolException;
import io.collectives.Security;
import io.collectives.TlsFiles;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Arrays;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;

/** Asks a rank for its status at the port where it listens for its peers; see {@link TcpStatus}. */
public final class StatusClient {
  private final Socket socket;
  private final Security security;
  private final long end;

  private StatusClient(Socket socket, Security security, long end) {
    this.socket = socket;
    this.security = security;
    this.end = end;
  }

  /**
   * Asks.
   *
   * @param security the secret and the certificate of the job, as its ranks have them
   * @param request one line, without its end
   * @param limit the time for all of it
   * @param longest the most bytes of an answer
   * @throws SocketTimeoutException if it takes longer
   * @throws java.net.ConnectException if nobody listens there
   * @throws IOException if the rank refuses, or is none; the message says why, and what to do
   */
  public static String ask(
      InetSocketAddress rank, Security security, String request, Duration limit, int longest)
      throws IOException {
    long end = System.nanoTime() + limit.toNanos();
    try (Socket plain = new Socket()) {
      plain.connect(rank, (int) limit.toMillis());
      TlsFiles files = security.tls();
      if (files == null) {
        return new StatusClient(plain, security, end).ask(request, longest);
      }
      plain.setSoTimeout((int) limit.toMillis());
      try (Socket encrypted =
          Tls.asking(files)
              .getSocketFactory()
              .createSocket(plain, rank.getHostString(), rank.getPort(), true)) {
        ((SSLSocket) encrypted).setEnabledProtocols(new String[] {Tls.VERSION});
        ((SSLSocket) encrypted).startHandshake();
        return new StatusClient(encrypted, security, end).ask(request, longest);
      } catch (SSLException e) {
        throw new IOException(
            "TLS with it fails ("
                + e.getMessage()
                + "): COLLECTIVES_TLS_CERTIFICATE, _KEY and _TRUST must name files as the ranks of"
                + " the job have them, or be unset if it uses no TLS",
            e);
      }
    }
  }

  private String ask(String request, int longest) throws IOException {
    JobSecret secret = security.secret();
    Handshake.Terms terms =
        new Handshake.Terms(secret != null, security.checksums(), security.tls() != null);
    Handshake mine = TcpStatus.message(terms, new SecureRandom());
    write(mine.bytes().array());
    Handshake theirs = handshake(read(Handshake.LENGTH));
    if (secret != null && theirs.terms().secret()) {
      Proof proof = new Proof(secret, TcpStatus.NO_JOB, mine, theirs);
      write(proof.bytes(Proof.Side.CONNECTS));
      ByteBuffer shown = read(Proof.LENGTH);
      if (shown.getInt(0) == Handshake.MAGIC) {
        handshake(shown);
      }
      if (!isRight(proof, shown)) {
        throw new IOException("it does not know the job secret, so it is no rank of this job");
      }
    } else if (secret != null) {
      throw new IOException("it has no job secret, and one is set here: unset COLLECTIVES_SECRET");
    }
    byte[] line = (request + "\n").getBytes(StandardCharsets.UTF_8);
    if (line.length > TcpStatus.REQUEST_LENGTH) {
      throw new IOException("a request of more than " + TcpStatus.REQUEST_LENGTH + " bytes");
    }
    write(Arrays.copyOf(line, TcpStatus.REQUEST_LENGTH));
    return answer(longest);
  }

  private static boolean isRight(Proof proof, ByteBuffer shown) {
    try {
      return proof.isRight(Proof.Side.ACCEPTS, shown, 0);
    } catch (ProtocolException e) {
      return false;
    }
  }

  private void write(byte[] bytes) throws IOException {
    socket.getOutputStream().write(bytes);
    socket.getOutputStream().flush();
  }

  private ByteBuffer read(int length) throws IOException {
    byte[] bytes = new byte[length];
    for (int at = 0; at < length; ) {
      int count = in().read(bytes, at, length - at);
      if (count < 0) {
        throw new EOFException(
            "it closes the connection: it is no rank of a job, or was told to answer nobody"
                + " (COLLECTIVES_STATUS=off)");
      }
      at += count;
    }
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  private String answer(int longest) throws IOException {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    byte[] piece = new byte[16 << 10];
    for (int count = in().read(piece); count >= 0; count = in().read(piece)) {
      all.write(piece, 0, count);
      if (all.size() > longest) {
        throw new IOException("its answer is longer than " + longest + " bytes");
      }
    }
    return all.toString(StandardCharsets.UTF_8);
  }

  private InputStream in() throws IOException {
    long millis = (end - System.nanoTime()) / 1_000_000;
    if (millis <= 0) {
      throw new SocketTimeoutException("no answer");
    }
    socket.setSoTimeout((int) millis);
    return socket.getInputStream();
  }

  private static Handshake handshake(ByteBuffer bytes) throws IOException {
    Handshake message;
    try {
      message = Handshake.read(bytes, 0);
    } catch (ProtocolException e) {
      throw new IOException("what listens there is no rank: " + e.getMessage(), e);
    }
    Handshake.Objection objection = message.objection();
    if (objection == null) {
      return message;
    }
    throw new IOException(
        "it refuses: "
            + switch (objection) {
              case SECRET ->
                  message.terms().secret()
                      ? "it has a job secret; set COLLECTIVES_SECRET_FILE as for its ranks"
                      : "it has no job secret, so it answers only processes of its own host";
              case PROOF -> "the job secret here is not that of its job";
              case TLS ->
                  "it speaks TLS; set COLLECTIVES_TLS_CERTIFICATE, _KEY and _TRUST as for its ranks";
              case CERTIFICATE -> "the certificate here is not one of a rank of its job";
              default -> "it speaks another version of the protocol (" + objection + ")";
            });
  }
}
