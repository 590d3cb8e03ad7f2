package io.collectives.bench.chaos;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.SplittableRandom;

/** The kinds of unauthenticated peers: processes outside of a job that connect to its ranks. */
enum Intruder {
  /** No message: a scan of ports. */
  SCAN,
  /** The request of a browser. */
  HTTP,
  /** The beginning of a TLS client. */
  TLS,
  /** Bytes by chance. */
  NOISE,
  /** Lengths as long as can be, in the words of this library. */
  OVERSIZE,
  /**
   * The messages that a rank of the job has sent to this one before, up to the proof, for which the
   * intruder lacks the secret.
   */
  REPLAY,
  /** The messages of {@link #REPLAY}, one byte a second. */
  SLOW;

  private static final int ANSWER_MILLIS = 15_000;
  private static final int MOST_NOISE = 3_000;
  private static final int LONGEST_ANSWER = 1_000;

  private static final String REQUEST =
      "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\nUser-Agent: scan\r\n\r\n";

  /** The head of a record, and of a client's hello in it. */
  private static final byte[] TLS_HEAD = {22, 3, 1, 2, 0, 1, 0, 1, (byte) 252, 3, 3};

  private static final int TLS_LENGTH = 517;

  /** The first bytes of a message to the rendezvous. */
  private static final byte[] RENDEZVOUS = "JCRV".getBytes(StandardCharsets.US_ASCII);

  /**
   * A process that listens on loopback.
   *
   * @param hello the bytes that a rank of the same job has sent to it
   */
  record Victim(int port, byte[] hello) {}

  /** Connects. */
  static Socket connect(Victim victim) throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), victim.port());
    socket.setSoTimeout(ANSWER_MILLIS);
    socket.setTcpNoDelay(true);
    return socket;
  }

  /**
   * Sends all messages and waits until the other side closes the connection; {@link #SLOW} sends
   * nothing here.
   *
   * @throws IOException if the other side closes the connection before all is sent
   */
  void talk(Socket socket, Victim victim, SplittableRandom random) throws IOException {
    OutputStream out = socket.getOutputStream();
    InputStream in = socket.getInputStream();
    byte[] noise = new byte[1 + random.nextInt(MOST_NOISE)];
    random.nextBytes(noise);
    byte[] hello = victim.hello().clone();
    switch (this) {
      case SCAN, SLOW -> {
        return;
      }
      case HTTP -> out.write(REQUEST.getBytes(StandardCharsets.US_ASCII));
      case TLS -> {
        byte[] bytes = Arrays.copyOf(noise, TLS_LENGTH);
        System.arraycopy(TLS_HEAD, 0, bytes, 0, TLS_HEAD.length);
        out.write(bytes);
      }
      case NOISE -> out.write(noise);
      case OVERSIZE -> {
        // Half of them begin as a message to the rendezvous, half as one to a rank.
        if (random.nextBoolean()) {
          System.arraycopy(RENDEZVOUS, 0, hello, 0, RENDEZVOUS.length);
        }
        Arrays.fill(hello, RENDEZVOUS.length, hello.length, (byte) 0xff);
        out.write(hello);
      }
      case REPLAY -> {
        out.write(hello);
        in.readNBytes(hello.length); // Theirs, with which the proof would begin.
        out.write(hello);
      }
    }
    socket.shutdownOutput();
    in.readNBytes(LONGEST_ANSWER);
  }
}
