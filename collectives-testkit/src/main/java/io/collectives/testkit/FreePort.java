package io.collectives.testkit;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/** A TCP port for a test to listen on, soon. */
public final class FreePort {
  private static final int LEAST = 15_000;
  private static final int BOUND = 30_000;
  private static final int TRIES = 1_000;

  private FreePort() {}

  /** Finds a port of 127.0.0.1 that nobody uses now. */
  public static int find() throws IOException {
    return find("127.0.0.1");
  }

  /**
   * Draws a port of an address until it is one that nobody uses now. It lies below those that
   * systems give to outgoing connections, any of which could take it before the test does.
   *
   * @throws IOException if none of many is free, or the address is not one of this host
   */
  public static int find(String address) throws IOException {
    IOException last = null;
    for (int i = 0; i < TRIES; i++) {
      int port = ThreadLocalRandom.current().nextInt(LEAST, BOUND);
      try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getByName(address))) {
        return socket.getLocalPort();
      } catch (IOException e) {
        last = e;
      }
    }
    throw new IOException("none of " + TRIES + " ports of " + address + " is free", last);
  }
}
