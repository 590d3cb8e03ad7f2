package io.collectives.bench.process;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;

/** A TCP port of the loopback interface that nobody uses now. */
public final class FreePort {
  private FreePort() {}

  /**
   * Asks the system for a port and gives it back at once. Another process may take it before it is
   * used; the system hands out the others first, so that this is rare.
   */
  public static int find() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
      return socket.getLocalPort();
    }
  }
}
