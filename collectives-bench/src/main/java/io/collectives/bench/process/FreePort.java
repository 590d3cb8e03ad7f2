package io.collectives.bench.process;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/** A TCP port of the loopback interface that nobody uses now. */
public final class FreePort {
  private static final int LEAST = 15_000;
  private static final int BOUND = 30_000;
  private static final int TRIES = 1_000;

  private FreePort() {}

  /**
   * Draws a port until it finds one that is free. It lies below those that systems give to outgoing
   * connections, any of which could take it before it is used.
   *
   * @throws IOException if none of many is free
   */
  public static int find() throws IOException {
    IOException last = null;
    for (int i = 0; i < TRIES; i++) {
      int port = ThreadLocalRandom.current().nextInt(LEAST, BOUND);
      try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getByName("127.0.0.1"))) {
        return socket.getLocalPort();
      } catch (IOException e) {
        last = e;
      }
    }
    throw new IOException(
        "none of " + TRIES + " ports from " + LEAST + " to " + (BOUND - 1) + " is free", last);
  }
}
